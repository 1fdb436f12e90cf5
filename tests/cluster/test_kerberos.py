"""Logins with Kerberos on a real broker, whose tickets come from a real KDC."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.kdc import Kdc, python_package
from sandbox.kerberos import HOST, kerberos_settings
from tests.cluster.beans import logins
from tests.cluster.sidecar import INTERVAL, ROOT, SLOW_MACHINE, Sidecar, configuration
from tests.support.processes import run

pytestmark = [pytest.mark.cluster, pytest.mark.full_logins]

SESSION = 8 * INTERVAL
"""Seconds that a session lasts."""


@pytest.fixture(scope="module")
def kdc(no_process_left: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with Kdc(tmp_path_factory.mktemp("kdc")) as made:
        made.add("monitor")
        yield made


@pytest.fixture(scope="module")
def cluster(kdc: Kdc) -> Iterator[Cluster]:
    settings = kerberos_settings(kdc, kdc.directory / "kafka.keytab", SESSION)
    with Cluster(ClusterSettings(brokers=1, jmx_password=True, tiered=False, **settings)) as made:
        made.admin.create_topic("secured", partitions=2)
        yield made


def with_tickets(cluster: Cluster, keytab: Path, **more: str) -> dict[str, Any]:
    made = configuration(cluster, "monitor")
    del made["jmx"]  # it has a login of its own
    kept = {name: value for name, value in made["kafka"].items() if not name.startswith("sasl.")}
    servers = made["kafka"]["bootstrap.servers"].replace("127.0.0.1", HOST)
    kerberos = {"sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}
    own = {"sasl.kerberos.keytab": str(keytab), "sasl.kerberos.principal": "monitor"}
    made["kafka"] = {**kept, "bootstrap.servers": servers, **kerberos, **own, **more}
    return made


def environment(kdc: Kdc) -> dict[str, str]:
    path = os.pathsep.join(map(os.fspath, (ROOT / "exporter", python_package())))
    return {**kdc.environment, "PYTHONPATH": path}


def wrong(kdc: Kdc, config: dict[str, Any], folder: Path) -> dict[str, str]:
    """What `kafka-warden check` finds wrong: code to message and fix."""
    file = folder / "check.yml"
    file.write_text(yaml.safe_dump(config))
    command = (sys.executable, "-m", "kafka_warden.cli", "check", "--config", file, "--json")
    done = run(*command, env={**os.environ, **environment(kdc)}, timeout=4 * SLOW_MACHINE)
    found = json.loads(done.stdout)["checks"]
    print(*found, sep="\n")
    return {each["code"]: f"{each['message']} -> {each['fix']}" for each in found if each["result"] == "error"}


def test_tickets_log_in_and_sessions_are_renewed(kdc: Kdc, cluster: Cluster, tmp_path: Path) -> None:
    keytab = kdc.write_keytab("monitor", tmp_path / "keytab")
    right = kdc.write_keytab("monitor", tmp_path / "right")
    with Sidecar(with_tickets(cluster, keytab), tmp_path, environment=environment(kdc), ready=False) as sidecar:
        wait_for(lambda: sidecar.scrape().errors("metadata").get("auth", 0) >= 3, SLOW_MACHINE, "the key is refused")
        assert "the KDC refuses monitor (Preauthentication failed)" in sidecar.log
        right.replace(keytab)
        sidecar.wait_ready()
        sidecar.wait(lambda page: not page.down(), what="all sources answer")
        renewed, refused = logins(cluster, "successful-reauthentication"), logins(cluster, "failed-authentication")
        began = time.monotonic()
        for page in sidecar.pages(4 * SESSION + SLOW_MACHINE):
            assert page.down() == set()
            if time.monotonic() > began + 4 * SESSION:
                break
        assert logins(cluster, "successful-reauthentication") >= renewed + 3
        assert logins(cluster, "failed-authentication") == refused == 0


def test_check_names_what_is_wrong(kdc: Kdc, cluster: Cluster, tmp_path: Path) -> None:
    keytab = kdc.write_keytab("monitor", tmp_path / "keytab")
    config = with_tickets(cluster, keytab)
    assert wrong(kdc, config, tmp_path) == {}
    config["kafka"]["sasl.kerberos.principal"] = "other"
    assert "keytab has no key of other" in wrong(kdc, config, tmp_path)["KW-LOGIN"]
    config["kafka"]["sasl.kerberos.principal"] = "monitor"
    config["kafka"]["sasl.kerberos.service.name"] = "wrong"
    assert f"Server wrong/{HOST}@" in wrong(kdc, config, tmp_path)["KW-LOGIN"]
    config["kafka"]["sasl.kerberos.service.name"] = "kafka"
    kdc.write_keytab("monitor", tmp_path / "newer")
    assert "Preauthentication failed" in wrong(kdc, config, tmp_path)["KW-LOGIN"]
    keytab.unlink()
    assert "cannot read" in wrong(kdc, config, tmp_path)["KW-CONFIG"]
    (tmp_path / "newer").replace(keytab)
    kdc.pause()
    try:
        assert "no ticket from the KDC in time" in wrong(kdc, config, tmp_path)["KW-TOKEN"]
    finally:
        kdc.resume()
