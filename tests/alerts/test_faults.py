"""Alerts from real faults: a real cluster, the sidecar, a real Prometheus, a real Alertmanager."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from sandbox.monitoring import ALERTS, Alert, Alertmanager, Prometheus
from sandbox.monitoring_rules import shorten_files
from sandbox.monitoring_sidecar import Sidecar

POLLING = {"poll": {"interval": "2s", "deadline": "1500ms"}}

DOWN, JMX = "KafkaWardenBrokerUnreachable", "KafkaWardenJmxUnreachable"
OUT, UNDER = "KafkaReplicaOutOfSyncTooLong", "KafkaPartitionUnderReplicated"


def named(alertmanager: Alertmanager, name: str) -> Alert | None:
    """The alert with this name, when Alertmanager has it."""
    return next((alert for alert in alertmanager.alerts() if alert.name == name), None)


def loud(alertmanager: Alertmanager) -> set[str]:
    """The alerts that would be sent."""
    return {alert.name for alert in alertmanager.alerts() if not alert.inhibited_by}


@pytest.mark.cluster
def test_a_dead_follower_pages_and_resolves(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """A broker that dies is one page, its replica another that it keeps quiet; both end once it is in sync again."""
    cluster = make_cluster(tiered=False)
    cluster.admin.create_topic("orders", assignment={0: [1, 2]})
    cluster.load.produce("orders", records=1000)
    rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), tmp_path / "rules", scale=1 / 100, floor=10.0)
    with (
        Sidecar(tmp_path / "sidecar", cluster, POLLING) as sidecar,
        Alertmanager(tmp_path / "alertmanager") as alertmanager,
        Prometheus(tmp_path / "prometheus", [sidecar.address], rules, alertmanager.address),
    ):
        cluster.kill(2)
        fired = wait_for(lambda: named(alertmanager, OUT), 120, "the alert reaches Alertmanager", interval=0.5)
        assert fired is not None
        assert fired.labels == {
            "alertname": OUT,
            "severity": "warning",
            "topic": "orders",
            "partition": "0",
            "broker": "2",
        }
        assert fired.annotations["description"].startswith(
            "Topic orders partition 0: the replica on broker 2 has been missing from the ISR for "
        )
        wait_for(
            lambda: loud(alertmanager) == {DOWN}, 120, "the broker that is down keeps the rest quiet", interval=0.5
        )
        assert {alert.name for alert in alertmanager.alerts()} <= {DOWN, JMX, OUT, UNDER}
        cluster.start(2)
        cluster.wait_ready(2)
        wait_for(lambda: not alertmanager.alerts(), 120, "the alert resolves", interval=0.5)
