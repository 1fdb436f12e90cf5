"""What `run` connects: the figures that the parts of the sidecar count, by the names of the catalogue."""

from types import SimpleNamespace
from typing import Any

from kafka_warden.catalogue import SELF_METRICS
from kafka_warden.clients.kafka.tls import TlsClient, TlsFiles
from kafka_warden.exposition import PageHolder
from kafka_warden.lifecycle import Health
from kafka_warden.parts import figures
from kafka_warden.settings.strict import Address
from kafka_warden.web.server import WebServer, WebSettings
from sandbox.certificates import Authority


def test_figures_are_families_of_the_catalogue(tmp_path: Any) -> None:
    pair = Authority(tmp_path, "authority").issue("client")
    tls = TlsClient(TlsFiles(certificate=pair.certificate, key=pair.key))
    config: Any = SimpleNamespace(
        jmx=SimpleNamespace(tls=SimpleNamespace(cert_file=pair.certificate)),
        kafka=SimpleNamespace(settings=SimpleNamespace(tls=tls)),
        web=SimpleNamespace(config_file=None),
    )
    server = WebServer(WebSettings(Address("127.0.0.1", 0)), PageHolder(), health=Health)
    reloader: Any = SimpleNamespace(config=config, problem="a", in_force_since=7.0)
    found = figures(reloader, server)
    labels = {metric.name: len(metric.labels) for metric in SELF_METRICS}
    assert {name: {len(key) for key in samples} for name, samples in found.items()} == {
        name: {labels[name]} for name in found
    }
    assert found["web_config_in_use"] == {(): None}
    assert found["config_last_reload_successful"] == {(): False}
    for name in ("certificate_expiry_timestamp_seconds", "certificate_lifetime_seconds"):
        assert found[name]["kafka_client",] == found[name]["jmx_client",]
        assert found[name]["jmx_client",]
