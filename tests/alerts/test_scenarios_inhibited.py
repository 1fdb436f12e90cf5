"""No alert hides an independent fault of the same cluster: on a real Alertmanager, without Kafka."""

from pathlib import Path
from typing import Final

from sandbox import wait_for
from sandbox.monitoring import Alertmanager

Labels = dict[str, str]
STUCK: Final[Labels] = {"alertname": "KafkaReassignmentStuck", "severity": "warning", "broker": "3"}
TOO_LOW: Final[Labels] = {"alertname": "KafkaThrottleTooLow", "severity": "warning", "broker": "3", "side": "follower"}
COPIES: Final[Labels] = {"alertname": "KafkaRemoteCopyHeldBack", "severity": "warning"}
OFFLINE: Final[Labels] = {"alertname": "KafkaPartitionOffline", "severity": "critical"}
FILLING: Final[Labels] = {"alertname": "KafkaLogDirFilling", "broker": "2", "log_dir": "/data/a"}
BLIND: Final[Labels] = {"alertname": "KafkaWardenBlind"}
DOWN: Final[Labels] = {"alertname": "KafkaWardenDown", "severity": "warning"}
AT_MIN_ISR: Final[Labels] = {"alertname": "KafkaPartitionAtMinIsr"}
UNREACHABLE: Final[Labels] = {
    "alertname": "KafkaBrokerUnreachable",
    "severity": "warning",
    "broker": "2",
    "explained": "no",
}
CLUSTER: Final[Labels] = {"alertname": "KafkaClusterUnreachable", "severity": "critical"}

INHIBITED: Final[dict[str, tuple[Labels, Labels]]] = {
    "a stuck move explains the throttle of its broker": (STUCK, TOO_LOW | {"explained": "yes"}),
    "a page explains the warning of the same directory": (
        FILLING | {"severity": "critical"},
        FILLING | {"severity": "warning"},
    ),
    "a cluster without data explains that its exporter is down": (
        BLIND | {"severity": "critical", "data": "none"},
        DOWN,
    ),
    "a dead broker explains the missing copies": (UNREACHABLE, AT_MIN_ISR | {"severity": "warning"}),
    "a cluster that is down explains that nothing is known": (
        CLUSTER,
        BLIND | {"severity": "critical", "data": "none"},
    ),
}
SENT: Final[dict[str, tuple[Labels, Labels]]] = {
    "a stuck move, and a throttle between directories of another broker": (
        STUCK,
        TOO_LOW | {"broker": "7", "side": "log_dirs"},
    ),
    "throttles of two brokers": (TOO_LOW, TOO_LOW | {"broker": "9", "side": "leader"}),
    "a quota of one broker, and a topic that falls behind": (
        COPIES | {"broker": "2", "cause": "quota"},
        COPIES | {"topic": "orders", "cause": "lag"},
    ),
    "an outage, and one that is added to it": (OFFLINE, OFFLINE | {"tier": "more"}),
    "a page and the warning of another directory": (
        FILLING | {"severity": "critical"},
        FILLING | {"severity": "warning", "log_dir": "/data/b"},
    ),
    "missing data of one kind, and an exporter that is down": (BLIND | {"severity": "warning", "data": "some"}, DOWN),
    "an exporter that is down, and an outage": (DOWN, OFFLINE),
    "a dead broker, and missing copies for hours": (UNREACHABLE, AT_MIN_ISR | {"severity": "critical"}),
    "a cluster that is down, and its partitions once it is back": (CLUSTER, OFFLINE),
    "two directories of one broker": (
        FILLING | {"severity": "critical"},
        FILLING | {"severity": "critical", "log_dir": "/data/b"},
    ),
}


def test_only_what_is_explained_is_inhibited(tmp_path: Path) -> None:
    pairs = list({**INHIBITED, **SENT}.items())
    posted = [alert | {"cluster": what, "exporter": "kafka-warden"} for what, pair in pairs for alert in pair]
    with Alertmanager(tmp_path) as alertmanager:
        alertmanager.post(posted)
        wait_for(lambda: len(alertmanager.alerts()) == len(posted), 30, "all alerts are there", interval=0.2)
        inhibited = {alert.labels["cluster"] for alert in alertmanager.alerts() if alert.inhibited_by}
    assert inhibited == set(INHIBITED), (inhibited - set(INHIBITED), set(INHIBITED) - inhibited)
