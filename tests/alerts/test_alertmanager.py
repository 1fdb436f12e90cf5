"""Routes, mute times and inhibitions of alerts: on a real Alertmanager, without Kafka."""

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from sandbox import wait_for
from sandbox.monitoring import ALERTS, Alertmanager
from sandbox.monitoring_tools import tools
from tests.support.processes import checked
from tests.support.rules import alerting_rules

CONFIG = ALERTS / "alertmanager.yml"
NIGHTLY = {"KafkaThrottleLeftBehind"}
"""Warnings that wait for the morning."""


SEVERITIES = {rule["alert"]: rule["labels"]["severity"] for rule in alerting_rules()}


def labels_of_alerts() -> dict[str, set[str]]:
    """Which labels each alert has, as its promtool tests show."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted((ALERTS / "tests").glob("*.test.yml")):
        for block in yaml.safe_load(file.read_text())["tests"]:
            for case in block.get("alert_rule_test", ()):
                for alert in case.get("exp_alerts") or ():
                    found[case["alertname"]] |= set(alert["exp_labels"]) | {"alertname", "cluster"}
    return found


def named(matchers: list[str]) -> set[str]:
    """The alerts that a rule's matchers name; none where they go by severity."""
    found: set[str] = set()
    for matcher in matchers:
        if match := re.fullmatch(r'alertname =(~?) "(.+)"', matcher):
            for part in match[2].split("|") if match[1] else [match[2]]:
                alerts = {name for name in SEVERITIES if re.fullmatch(part, name)}
                assert alerts, f"no alert is called {part}"
                found |= alerts
    return found


def test_inhibitions_name_alerts_and_labels_that_exist() -> None:
    """Every alert that is named exists, and has every label that source and target must have alike.

    A label that neither has is alike: it would keep every target in all clusters quiet.
    """
    labels = labels_of_alerts()
    for rule in yaml.safe_load(CONFIG.read_text())["inhibit_rules"]:
        assert "cluster" in rule["equal"]
        for alert in named(rule["source_matchers"]) | named(rule["target_matchers"]):
            assert set(rule["equal"]) <= labels[alert], (alert, rule)


@pytest.mark.parametrize("alert", sorted(SEVERITIES))
def test_alert_goes_to_the_receiver_of_its_severity(alert: str) -> None:
    """What is critical pages, warnings go to who is on call, the rest is for information."""
    labels = [f"alertname={alert}", f"severity={SEVERITIES[alert]}", "cluster=prod"]
    printed = checked(tools().amtool, "config", "routes", "test", f"--config.file={CONFIG}", *labels)
    receivers = {"critical": "kafka-pager", "warning": "kafka-on-call", "info": "kafka-info"}
    assert printed.strip() == receivers[SEVERITIES[alert]]


def test_only_what_can_wait_is_muted_at_night() -> None:
    """A throttle that was left behind and what is for information wait for the morning, nothing else does."""
    muted = [route for route in yaml.safe_load(CONFIG.read_text())["route"]["routes"] if "mute_time_intervals" in route]
    assert [route["matchers"] for route in muted] == [
        [f'alertname = "{name}"' for name in sorted(NIGHTLY)],
        ['severity = "info"'],
    ]
    assert {alert for alert, severity in SEVERITIES.items() if severity == "critical"} == {
        "KafkaClusterUnreachable",
        "KafkaNoActiveController",
        "KafkaPartitionOffline",
        "KafkaPartitionUnderMinIsr",
    }


BROKER = {"broker": "2"}
EXPLAINED = {**BROKER, "explained": "yes"}
LOG_DIR = {**BROKER, "log_dir": "/data/b"}
FOLLOWER = {"side": "follower"}
CASES: list[tuple[str, dict[str, str], str, dict[str, str], bool]] = [
    # the worst explains all that is in the cluster, and not what is about the sidecar's process
    ("KafkaClusterUnreachable", {}, "KafkaBrokerUnreachable", BROKER, True),
    ("KafkaClusterUnreachable", {}, "KafkaNoActiveController", {}, True),
    ("KafkaClusterUnreachable", {}, "KafkaPartitionOffline", {}, False),
    ("KafkaClusterUnreachable", {}, "KafkaPartitionUnderMinIsr", {}, False),
    ("KafkaClusterUnreachable", {}, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaClusterUnreachable", {}, "KafkaRemoteStorageErrors", BROKER, True),
    ("KafkaClusterUnreachable", {}, "KafkaControllerMutationThrottled", {"user": "a"}, True),
    ("KafkaClusterUnreachable", {}, "KafkaWardenBlind", {}, True),
    ("KafkaClusterUnreachable", {}, "KafkaWardenPageStale", {}, True),
    ("KafkaClusterUnreachable", {}, "KafkaWardenHistoryLost", {"sink": "kafka"}, True),
    ("KafkaClusterUnreachable", {}, "KafkaWardenDown", {}, False),
    ("KafkaClusterUnreachable", {}, "KafkaWardenAccessRefused", {}, False),
    ("KafkaNoActiveController", {}, "KafkaBrokerUnreachable", BROKER, True),
    ("KafkaNoActiveController", {}, "KafkaBrokerFenced", BROKER, True),
    ("KafkaNoActiveController", {}, "KafkaBrokerMetadataStale", BROKER, True),
    ("KafkaNoActiveController", {}, "KafkaBrokerPartitionLimit", BROKER, False),
    ("KafkaNoActiveController", {}, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaNoActiveController", {}, "KafkaWardenBlind", {}, True),
    ("KafkaNoActiveController", {}, "KafkaPartitionOffline", {}, False),
    ("KafkaNoActiveController", {}, "KafkaLogDirOffline", LOG_DIR, False),
    ("KafkaWardenAccessRefused", {}, "KafkaWardenBlind", {"data": "none"}, True),
    ("KafkaWardenAccessRefused", {}, "KafkaWardenBlind", {"data": "some"}, False),
    ("KafkaWardenAccessRefused", {}, "KafkaWardenPageStale", {}, True),
    ("KafkaWardenAccessRefused", {}, "KafkaBrokerUnreachable", BROKER, False),
    # a broker explains what is its own, and what is short of replicas or late anywhere
    ("KafkaBrokerUnreachable", BROKER, "KafkaReplicasOutOfSync", BROKER, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaReplicasOutOfSync", {"broker": "3"}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaThrottleBlocked", {"side": "leader", **BROKER}, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaRemoteFetchHeldBack", BROKER, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenJmxUnreachable", BROKER, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaReassignmentWillMissItsTime", {}, True),
    # a critical alert names the broker; alerts on missing data are not inhibited by a broker
    ("KafkaPartitionOffline", {}, "KafkaBrokerUnreachable", EXPLAINED, True),
    ("KafkaPartitionOffline", {}, "KafkaBrokerUnreachable", {**BROKER, "explained": "no"}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenBlind", {}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenDown", {}, False),
    ("KafkaPartitionOffline", {}, "KafkaReplicasOutOfSync", EXPLAINED, True),
    ("KafkaPartitionOffline", {}, "KafkaReplicasOutOfSync", {**BROKER, "explained": "no"}, False),
    ("KafkaPartitionUnderMinIsr", {}, "KafkaBrokerUnreachable", EXPLAINED, True),
    ("KafkaPartitionOffline", {}, "KafkaBrokerFenced", EXPLAINED, True),
    ("KafkaPartitionOffline", {}, "KafkaLogDirOffline", {**LOG_DIR, "explained": "yes"}, True),
    ("KafkaPartitionUnderMinIsr", {}, "KafkaLogDirOffline", {**LOG_DIR, "explained": "no"}, False),
    ("KafkaBrokerUnreachable", EXPLAINED, "KafkaReplicasOutOfSync", {**BROKER, "explained": "no"}, True),
    (
        "KafkaThrottleHoldsOriginals",
        {**FOLLOWER, **BROKER},
        "KafkaThrottleHoldsOriginals",
        {"side": "leader", "broker": "1"},
        True,
    ),
    ("KafkaThrottleLeftBehind", {**FOLLOWER, **BROKER}, "KafkaReplicasOutOfSync", BROKER, False),
    # a directory explains the replicas of its broker and the moves to it, not how bad it is, nor another broker
    ("KafkaLogDirOffline", LOG_DIR, "KafkaReplicasOutOfSync", BROKER, True),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaReplicasOutOfSync", {"broker": "3"}, False),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaPartitionOffline", {}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaLogDirOffline", LOG_DIR, False),
    # a move that is stuck is late, because of a throttle that it names
    ("KafkaReassignmentStuck", BROKER, "KafkaReplicasOutOfSync", BROKER, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaReplicasOutOfSync", {"broker": "3"}, False),
    ("KafkaReassignmentStuck", BROKER, "KafkaReassignmentWillMissItsTime", {}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleBelowInbound", {**FOLLOWER, **BROKER}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleBlocked", {**FOLLOWER, **BROKER}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleBelowInbound", {"side": "leader", **BROKER}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleBlocked", {"side": "leader", "broker": "1"}, True),
    # not what other replicas suffer from, nor advice
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleHoldsOriginals", {**FOLLOWER, **BROKER}, False),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleLopsided", {"side": "leader", **BROKER}, False),
    ("KafkaThrottleBelowInbound", {"side": "leader", **BROKER}, "KafkaReassignmentWillMissItsTime", {}, True),
    ("KafkaControllerMutationThrottled", {"user": "a"}, "KafkaControllerMutationTokensDraining", {"user": "a"}, True),
    ("KafkaControllerMutationThrottled", {"user": "a"}, "KafkaControllerMutationTokensDraining", {"user": "b"}, False),
    ("KafkaRemoteCopyHeldBack", BROKER, "KafkaRemoteCopyLagGrowing", {"topic": "orders"}, True),
    ("KafkaWardenBlind", {"data": "none"}, "KafkaWardenDown", {}, True),
    ("KafkaWardenBlind", {"data": "none"}, "KafkaWardenPageStale", {}, True),
    ("KafkaWardenBlind", {"data": "some"}, "KafkaWardenDown", {}, False),
    ("KafkaWardenBlind", {"data": "some"}, "KafkaWardenPageStale", {}, False),
    ("KafkaWardenBlind", {}, "KafkaWardenSeriesDropped", {}, True),
    # the topic of history is on the same brokers, the folder is not
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenHistoryLost", {"sink": "kafka"}, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenHistoryLost", {"sink": "parquet"}, False),
    ("KafkaPartitionUnderMinIsr", {}, "KafkaWardenHistoryLost", {"sink": "kafka"}, True),
    ("KafkaPartitionUnderMinIsr", {}, "KafkaWardenHistoryLost", {"sink": "parquet"}, False),
    ("KafkaWardenPageStale", {}, "KafkaWardenHistoryLost", {"sink": "parquet"}, False),
    ("KafkaWardenBlind", {}, "KafkaWardenHistoryLost", {"sink": "kafka"}, False),
]


def test_one_cause_is_one_page(tmp_path: Path) -> None:
    """An alert keeps quiet what it explains in its own cluster and nothing else; each case has a cluster of its own."""

    def alert(name: str, labels: dict[str, str], cluster: str) -> dict[str, str]:
        return {"alertname": name, "severity": SEVERITIES[name], "cluster": cluster, **labels}

    posted = []
    for number, (source, ours, target, theirs, _) in enumerate(CASES):
        posted += [alert(source, ours, f"case-{number}"), alert(target, theirs, f"case-{number}")]
        posted.append(alert(target, theirs, f"without-{number}"))
    with Alertmanager(tmp_path) as alertmanager:
        alertmanager.post(posted)
        wait_for(lambda: len(alertmanager.alerts()) == len(posted), 30, "all alerts are there", interval=0.2)
        quiet = {
            json.dumps([alert.name, alert.labels["cluster"]]) for alert in alertmanager.alerts() if alert.inhibited_by
        }
    expected = {json.dumps([case[2], f"case-{number}"]) for number, case in enumerate(CASES) if case[4]}
    assert sorted(quiet) == sorted(expected)


def test_example_for_slack_shows_a_client_id_as_text(tmp_path: Path) -> None:
    """Without its comment signs the file is valid, and Slack's markup in a description is escaped."""
    whole = tmp_path / "alertmanager.yml"
    before, name, examples = CONFIG.read_text().partition("  - name: kafka-on-call\n")
    ours, others, after = examples.partition("  - name: ")
    whole.write_text(before + name + re.sub("(?m)^    # ", "    ", ours) + others + after)
    checked(tools().amtool, "check-config", whole)
    (slack,) = (each for on in yaml.safe_load(whole.read_text())["receivers"] for each in on.get("slack_configs", ()))
    alerts = [{"status": "firing", "annotations": {"description": text}} for text in ("a <!channel> & &lt;", "b")]
    data = tmp_path / "data.json"
    data.write_text(json.dumps({"status": "firing", "alerts": alerts}))

    flags = (f"--template.glob={whole}", f"--template.data={data}", f"--template.text={slack['text']}")
    printed = checked(tools().amtool, "template", "render", *flags)

    assert printed.splitlines()[:2] == ["a &lt;!channel&gt; &amp; &amp;lt;", "b"]
