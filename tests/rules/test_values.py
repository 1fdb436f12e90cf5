"""The file with what an operator changes of the rules is read strictly."""

from pathlib import Path

import pytest

from kafka_warden.errors import ConfigError
from kafka_warden.rules.render import DEFAULTS, LinkPrefixes, Values
from kafka_warden.rules.values import KEYS, read

REFUSED = [
    ("intervall: 15s", "intervall: unknown key; did you mean interval?"),
    ("interval: 15", "interval: expected a duration in whole numbers with units, such as 15s, got '15'"),
    ("interval: 1.5m", "interval: expected a duration in whole numbers with units, such as 15s, got '1.5m'"),
    ("interval: 0s", "interval: expected a duration in whole numbers with units, such as 15s, got '0s'"),
    ("interval: 2m", "interval: expected 1m or less, got '2m'"),
    ("scrapeInterval: 61s", "scrapeInterval: expected 1m or less, got '61s'"),
    ("thresholds: 5", "thresholds: expected keys and values, got '5'"),
    ("thresholds: {disk_ful: 0.9}", "thresholds.disk_ful: unknown threshold; did you mean disk_full?"),
    ("thresholds: {disk_full: 95}", "thresholds.disk_full: expected a share above 0 and up to 1, such as 0.9"),
    ("thresholds: {disk_full: 95%}", "thresholds.disk_full: expected a share above 0 and up to 1, such as 0.9"),
    ("thresholds: {disk_full: 0}", "thresholds.disk_full: expected a share above 0 and up to 1, such as 0.9"),
    ("thresholds: {offline_for: 120}", "thresholds.offline_for: expected a duration in whole numbers with units"),
    ("thresholds: {offline_for: 30s1m}", "thresholds.offline_for: expected a duration in whole numbers"),
    (
        "thresholds: {page_age: 2m}",
        "thresholds.page_age: expected a number above 0, seconds, without a unit, such as 120, got '2m'",
    ),
    (
        "thresholds: {copy_overdue: 1GB}",
        "thresholds.copy_overdue: expected a number above 0, bytes, without a unit, such as 1073741824, got '1GB'",
    ),
    ("thresholds: {errors_rate: -1}", "thresholds.errors_rate: expected a number above 0, per second"),
    (
        "thresholds: {offline_for: }",
        "thresholds.offline_for: expected a duration in whole numbers with units, such",
    ),
    ("thresholds: {disk_recent_seconds: 3600}", "thresholds.disk_recent_seconds: it is computed; set disk_recent"),
    ("thresholds: {bridged_age: 300}", "thresholds.bridged_age: it is computed; set page_age or answered"),
    ("pollInterval: 45s", "thresholds.outage_for: expected 45s or more: one failed poll is shown for so long"),
    (
        "pollInterval: 2m\nthresholds: {outage_for: 2m, under_min_isr_for: 2m}",
        "thresholds.offline_for: expected 120s or more: one failed poll",
    ),
    ("thresholds: {disk_full: 0.98}", "thresholds.disk_full: expected less than disk_critical"),
    (
        "severity: {KafkaReplicaOutOfSync: info}",
        "severity.KafkaReplicaOutOfSync: unknown alert; did you mean Kafka",
    ),
    (
        "severity: {KafkaLogDirOffline: page}",
        "severity.KafkaLogDirOffline: expected one of info, warning, critical",
    ),
    (
        "severity: {KafkaLogDirFilling: info}",
        (
            "severity.KafkaLogDirFilling: it has the severities warning and critical; disabled takes "
            "KafkaLogDirFilling/critical"
        ),
    ),
    ("disabled: KafkaWardenDown", "disabled: expected a list of alerts, such as [KafkaWardenHistoryLost]"),
    ("disabled: [KafkaWardenDwn]", "disabled: unknown alert KafkaWardenDwn; did you mean KafkaWardenDown?"),
    ("disabled: [KafkaWardenDown/info]", "disabled: unknown alert KafkaWardenDown/info"),
    ("disabled: [[KafkaWardenDown]]", "disabled: unknown alert ['KafkaWardenDown']"),
    ("alertLabels: [team]", "alertLabels: expected names and values, such as {team: kafka}, got ['team']"),
    ("alertLabels: {my-team: a}", "alertLabels.my-team: expected the name of a label, such as team, got 'my-team'"),
    (
        "clusterLabel: kafka\nalertLabels: {kafka: a}",
        "alertLabels.kafka: clusterLabel has this name; take another one",
    ),
    ("alertLabels: {broker: a}", "alertLabels.broker: the rules or Prometheus use this label"),
    ("alertLabels: {severity: a}", "alertLabels.severity: the rules or Prometheus use this label"),
    ("alertLabels: {team: }", "alertLabels.team: expected text"),
    ("alertLabels: {team: '{{x}}'}", "alertLabels.team: {{...}} is not replaced here"),
    ("clusterLabel: topic", "clusterLabel: the rules or Prometheus use this label; take another name"),
    ("clusterLabel: __name__", "clusterLabel: expected the name of a label"),
    ("links: {runbook: a}", "links.runbook: unknown key; did you mean runbooks?"),
    ("links: {grafana: grafana.example}", "links.grafana: expected an address, such as https://wiki.example/"),
    ("watchdog: yes", "watchdog: expected true or false, got 'yes'"),
]
"""What cannot be used, and the beginning of what the command says about it."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "values.yml"


def test_every_key_is_read(file: Path) -> None:
    file.write_text(
        """
        interval: 30s
        scrapeInterval: 1m
        pollInterval: 10s
        thresholds: {disk_full: 0.95, offline_for: 1h30m, copy_overdue: 2000000000, allowed_slack: 1.5}
        severity: {KafkaReplicasOutOfSync: info}
        disabled: [KafkaWardenHistoryLost, KafkaLogDirFilling/critical]
        alertLabels: {team: "0123"}
        clusterLabel: kafka_cluster
        links: {runbooks: https://wiki.example/kafka-warden, grafana: https://grafana.example/}
        watchdog: true
        """
    )
    assert read(file) == Values(
        interval="30s",
        scrape_interval="1m",
        poll_interval="10s",
        thresholds={"disk_full": "0.95", "offline_for": "1h30m", "copy_overdue": "2000000000", "allowed_slack": "1.5"},
        severity={"KafkaReplicasOutOfSync": "info"},
        disabled=frozenset({"KafkaWardenHistoryLost", "KafkaLogDirFilling/critical"}),
        alert_labels={"team": "0123"},
        cluster_label="kafka_cluster",
        links=LinkPrefixes("https://wiki.example/kafka-warden/", "https://grafana.example"),
        watchdog=True,
    )


@pytest.mark.parametrize("text", ["", *(f"{key}:\n" for key in KEYS)])
def test_what_is_not_set_stays(file: Path, text: str) -> None:
    file.write_text(text)
    assert read(file) == DEFAULTS


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_cannot_be_used_is_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        read(file)
    assert str(refused.value).startswith(f"{file}: {message}")


def test_related_thresholds_change_together(file: Path) -> None:
    changed = {"disk_full": "0.98", "disk_critical": "0.99"}
    file.write_text(f"thresholds: {changed}")
    assert read(file).thresholds == changed
