"""Prometheus and Alertmanager of the sandbox: real, on loopback, and gone afterwards."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox import SandboxError, wait_for
from sandbox.jars import CACHE_VARIABLE
from sandbox.monitoring import ALERTS, Alert, Alertmanager, Prometheus
from sandbox.monitoring_rules import shorten_files
from sandbox.monitoring_tools import tools
from tests.sandbox.conftest import Page


def test_an_alert_reaches_alertmanager_and_resolves(page: Page, tmp_path: Path) -> None:
    """A stuck move on two pages is one alert in Alertmanager, and none once it goes on."""
    rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), tmp_path / "rules", scale=1 / 300, floor=2.0)
    second = page.address.replace("127.0.0.1", "localhost")
    with (
        Alertmanager(tmp_path / "alertmanager") as alertmanager,
        Prometheus(
            tmp_path / "prometheus",
            [page.address, second],
            rules,
            alertmanager.address,
            scrape_interval=0.5,
            target_labels={"cluster": "sandbox"},
        ) as prometheus,
    ):

        def stuck(alerts: Sequence[Alert]) -> list[Alert]:
            # Prometheus knows no target for some seconds, which is an alert at this scale.
            return [alert for alert in alerts if alert.name != "KafkaWardenBlind"]

        wait_for(lambda: stuck(alertmanager.alerts()), 60, "the alert reaches Alertmanager", interval=0.5)
        (alert,) = stuck(alertmanager.alerts())
        assert len(prometheus.query("kafka_warden_reassignment_stuck")) == 2
        assert alert.labels == {
            "alertname": "KafkaReassignmentStuck",
            "severity": "warning",
            "exporter": "kafka-warden",
            "cluster": "sandbox",
            "broker": "2",
        }
        assert "Producers write more than the throttle lets through." in alert.annotations["description"]
        assert [known.state for known in stuck(prometheus.alerts())] == ["firing"]
        page.stuck = False
        wait_for(lambda: not stuck(alertmanager.alerts()), 60, "the alert resolves", interval=0.5)


def test_programs_end_with_their_block(tmp_path: Path) -> None:
    prometheus = Prometheus(tmp_path, [])
    with suppress(KeyError), prometheus:
        pid = prometheus.pid
        raise KeyError
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(OSError, match="refused"):
        prometheus.request("GET", "/-/ready")


def test_rules_that_do_not_load_are_said_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken.rules.yml"
    broken.write_text("groups: [{name: x, rules: [{alert: X, expr: 'sum('}]}]")
    with pytest.raises(SandboxError, match=r"prometheus ended by itself:(.|\n)*broken\.rules\.yml"):
        Prometheus(tmp_path / "prometheus", [], [broken]).__enter__()


def test_missing_apt_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"apt-get is missing.*promtool.*amtool on the PATH"):
        tools()


def test_programs_on_the_path_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tools()
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("prometheus", "promtool", "alertmanager", "amtool"):
        (directory / name).symlink_to(getattr(real, name))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(directory))
    assert tools().promtool == directory / "promtool"
    (directory / "promtool").unlink()
    (directory / "promtool").write_text("#!/bin/sh\necho 'promtool, version 2.31.1'\n")
    (directory / "promtool").chmod(0o755)
    with pytest.raises(SandboxError, match=r"2\.42 or newer"):
        tools()
