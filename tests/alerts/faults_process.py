"""A sidecar whose certificate, configuration, descriptors, logins or own password need an operator."""

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import bcrypt
import yaml

from sandbox import wait_for
from sandbox.certificates import Authority
from sandbox.passwords import write_secret
from tests.alerts.fault import fault
from tests.alerts.stage import CLUSTER, Fired, Stage, Watcher, fired

HARMLESS: Final = {"http_server_config": {"headers": {"X-Frame-Options": "deny"}}}
SCRAPER: Final = {"username": "prometheus", "password": "right"}


@fault("configuration-refused", "The configuration and the web configuration are replaced by broken files")
def configuration_refused(stage: Stage) -> Iterator[set[Fired]]:
    """Both stay in force as they were."""
    web, config = _web_file(stage, HARMLESS), stage.sidecar.directory / "kafka-warden.yml"
    web.write_text("http_server_config: [")
    config.write_text("poll: {interval: never}")
    stage.sidecar.reload()
    for expression in ("kafka_warden_web_config_in_use", "kafka_warden_config_last_reload_successful"):
        wait_for(partial(stage.value, f"{expression} == bool 0"), 60, f"{expression} is 0")
    yield {fired("KafkaWardenConfigurationNotUsed")}
    stage.restart_sidecar(web={"config_file": None})


@fault("certificate-expires", "The sidecar serves a certificate that expires in an hour")
def certificate_expires(stage: Stage) -> Iterator[set[Fired]]:
    """Prometheus logs in over TLS."""
    pair = Authority(stage.sidecar.directory, "authority").issue("web", lifetime=timedelta(hours=1))
    hashed = bcrypt.hashpw(SCRAPER["password"].encode(), bcrypt.gensalt(4)).decode()
    tls = {"cert_file": str(pair.certificate), "key_file": str(pair.key)}
    stage.prometheus.scrape(scheme="https", tls_config={"insecure_skip_verify": True}, basic_auth=SCRAPER)
    stage.sidecar.login = SCRAPER
    _web_file(stage, {"tls_server_config": tls, "basic_auth_users": {SCRAPER["username"]: hashed}})
    yield {fired("KafkaWardenCertificateExpiring", certificate="web")}
    stage.prometheus.scrape(scheme="http")
    stage.sidecar.login = None
    stage.restart_sidecar(web={"config_file": None})


@fault("login-refused", "The sidecar logs in at a listener that offers no login")
def login_refused(stage: Stage) -> Iterator[set[Fired]]:
    """As after a change of the listener."""
    login = _login(stage)
    stage.sidecar.restart(ready=False, kafka=login)
    refused = 'sum(kafka_warden_source_errors_total{source="metadata",reason="auth"}) > 0'
    wait_for(lambda: stage.value(refused), 60, "the login is refused")
    yield {fired("KafkaWardenBlind")}
    stage.restart_sidecar(kafka=dict.fromkeys(login))


@fault("second-refused", "A second sidecar logs in at a listener that offers no login")
def second_refused(stage: Stage) -> Iterator[set[Fired]]:
    """The first one has data."""
    yield from second_sidecar(stage, _login(stage))


def second_sidecar(stage: Stage, login: Mapping[str, str]) -> Iterator[set[Fired]]:
    """Run another sidecar, whose login is refused."""
    labels, folder = {"cluster": CLUSTER}, stage.sidecar.directory.with_name("second")
    with Watcher(folder, stage.cluster, stage.pace.sections) as second:
        second.restart(ready=False, kafka=login)
        targets = [stage.sidecar.address, second.address]
        stage.prometheus.scrape(static_configs=[{"targets": targets, "labels": labels}])
        yield {fired("KafkaWardenAccessRefused")}
        stage.prometheus.scrape(static_configs=[{"targets": targets[:1], "labels": labels}])


def _login(stage: Stage) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "monitor",
        "sasl.password.file": os.fspath(write_secret(stage.sidecar.directory / "password", "any")),
    }


def _web_file(stage: Stage, content: object) -> Path:
    """Restart the sidecar with this web configuration."""
    file = stage.sidecar.directory / "web.yml"
    file.write_text(yaml.safe_dump(content))
    file.chmod(0o600)
    stage.restart_sidecar(web={"config_file": str(file)})
    return file
