"""The webhook that counts notifications: on a real Alertmanager, without Kafka."""

from pathlib import Path

from sandbox import wait_for
from sandbox.monitoring import Alertmanager
from tests.alerts.notified import Webhook


def test_what_is_explained_is_not_sent(tmp_path: Path) -> None:
    ours = {"cluster": "prod", "exporter": "kafka-warden"}
    critical = {"alertname": "KafkaClusterUnreachable", "severity": "critical", **ours}
    explained = {"alertname": "KafkaThrottleTooLow", "severity": "warning", **ours}
    later = {"alertname": "Two", "severity": "warning", **ours}
    with Webhook() as webhook:
        config = webhook.config(tmp_path / "alertmanager.yml", scale=0.001, floor=0.5)
        with Alertmanager(tmp_path / "alertmanager", config) as alertmanager:
            alertmanager.post([critical, explained])
            wait_for(lambda: webhook.received, 30, "the first is sent")
            alertmanager.post([later])
            wait_for(lambda: webhook.received[1:], 30, "the second is sent")
    assert [(each.receiver, each.name) for each in webhook.received] == [
        ("kafka-pager", "KafkaClusterUnreachable"),
        ("kafka-on-call", "Two"),
    ]
    assert webhook.received[0].labels == (critical,)
