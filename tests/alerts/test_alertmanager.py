"""Routes, mute times and inhibitions of alerts: on a real Alertmanager, without Kafka."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from sandbox import wait_for
from sandbox.monitoring import ALERTS, Alertmanager
from sandbox.monitoring_tools import tools
from tests.alerts.runbook import labels_of_alerts
from tests.support.processes import checked
from tests.support.rules import alerting_rules

CONFIG = ALERTS / "alertmanager.yml"
RULES = alerting_rules()
NAMES = {rule["alert"] for rule in RULES}
SEVERITIES = sorted({(rule["alert"], rule["labels"]["severity"]) for rule in RULES})
OURS = "kafka-warden"
RECEIVERS = {"critical": "kafka-pager", "warning": "kafka-on-call", "info": "kafka-info"}


def named(matchers: list[str]) -> set[str]:
    """The alerts that a rule's matchers name; none where they go by severity."""
    found: set[str] = set()
    for matcher in matchers:
        if match := re.fullmatch(r'alertname =(~?) "(.+)"', matcher):
            for part in match[2].split("|") if match[1] else [match[2]]:
                alerts = {name for name in NAMES if re.fullmatch(part, name)}
                assert alerts, f"no alert is called {part}"
                found |= alerts
    return found


def test_inhibitions_name_alerts_and_labels_that_exist() -> None:
    known = labels_of_alerts()
    for rule in yaml.safe_load(CONFIG.read_text())["inhibit_rules"]:
        assert "cluster" in rule["equal"]
        for alert in named(rule["source_matchers"]) | named(rule["target_matchers"]):
            assert "alertname" in rule["equal"] or set(rule["equal"]) <= known[alert], (alert, rule)


def routed(labels: Mapping[str, str], config: Path = CONFIG) -> str:
    """Return the receiver of an alert with these labels."""
    given = [f"{name}={value}" for name, value in labels.items()]
    return checked(tools().amtool, "config", "routes", "test", f"--config.file={config}", *given).strip()


@pytest.mark.parametrize(("alert", "severity"), SEVERITIES)
def test_alert_goes_to_the_receiver_of_its_severity(alert: str, severity: str) -> None:
    """What is critical pages, warnings go to who is on call, and what is for information has no destination.

    An alert of another project with its name goes elsewhere.
    """
    labels = {"alertname": alert, "severity": severity, "cluster": "prod"}
    assert routed({**labels, "exporter": OURS}) == RECEIVERS[severity]
    assert routed(labels) == "others"
    (last,) = (each for each in yaml.safe_load(CONFIG.read_text())["receivers"] if each["name"] == "kafka-info")
    assert last.keys() == {"name"}


def test_only_critical_alerts_wake_a_person() -> None:
    """Warnings are muted at night, except those while which a critical alert may be unable to fire."""
    (ours,) = yaml.safe_load(CONFIG.read_text())["route"]["routes"]
    routes = ours["routes"]
    assert ["mute_time_intervals" in route for route in routes] == [False, False, True, False]
    assert named(routes[1]["matchers"]) == {"KafkaWardenAccessRefused", "KafkaWardenBlind"}
    assert routes[2]["matchers"] == ['severity = "warning"']
    assert {alert for alert, severity in SEVERITIES if severity == "critical"} == {
        "KafkaClusterUnreachable",
        "KafkaLogDirFilling",
        "KafkaNoActiveController",
        "KafkaPartitionAtMinIsr",
        "KafkaPartitionOffline",
        "KafkaPartitionUnderMinIsr",
        "KafkaUncleanLeaderElection",
        "KafkaWardenBlind",
    }


BROKER = {"broker": "2"}
OTHER = {"broker": "3"}
EXPLAINED = {**BROKER, "explained": "yes"}
LOG_DIR, OTHER_DIR = {**BROKER, "log_dir": "/data/b"}, {"log_dir": "/data/c"}
FOLLOWER, LEADER, LOG_DIRS = ({"side": side} for side in ("follower", "leader", "log_dirs"))
ERRORS, LAG = {"cause": "errors"}, {"topic": "orders", "cause": "lag"}
NONE, SOME, BEANS = {"data": "none"}, {"data": "some"}, {"data": "beans"}
CRITICAL, WARNING = {"severity": "critical"}, {"severity": "warning"}
CASES: list[tuple[str, dict[str, str], str, dict[str, str], bool]] = [
    # two severities of one alert
    ("KafkaLogDirFilling", {**LOG_DIR, **CRITICAL}, "KafkaLogDirFilling", {**LOG_DIR, **WARNING}, True),
    ("KafkaLogDirFilling", {**LOG_DIR, **CRITICAL}, "KafkaLogDirFilling", {**LOG_DIR, **OTHER, **WARNING}, False),
    ("KafkaLogDirFilling", {**LOG_DIR, **CRITICAL}, "KafkaLogDirFilling", {**LOG_DIR, **OTHER_DIR, **WARNING}, False),
    ("KafkaLogDirFilling", {**LOG_DIR, **CRITICAL}, "KafkaLogDirFilling", {**LOG_DIR, **OTHER_DIR, **CRITICAL}, False),
    ("KafkaPartitionAtMinIsr", CRITICAL, "KafkaPartitionAtMinIsr", WARNING, True),
    ("KafkaWardenBlind", {**NONE, **CRITICAL}, "KafkaWardenBlind", {**SOME, **WARNING}, True),
    ("KafkaPartitionOffline", {}, "KafkaPartitionOffline", {"tier": "more"}, False),
    # the worst explains all that is in the cluster, and not what is about the sidecar's process
    ("KafkaClusterUnreachable", {}, "KafkaBrokerUnreachable", BROKER, True),
    ("KafkaClusterUnreachable", {}, "KafkaNoActiveController", {}, True),
    ("KafkaClusterUnreachable", {}, "KafkaPartitionOffline", {}, False),
    ("KafkaClusterUnreachable", {}, "KafkaPartitionUnderMinIsr", {}, False),
    ("KafkaClusterUnreachable", {}, "KafkaPartitionAtMinIsr", WARNING, True),
    ("KafkaClusterUnreachable", {}, "KafkaUncleanLeaderElection", {}, False),
    ("KafkaClusterUnreachable", {}, "KafkaLogDirFilling", {**LOG_DIR, **WARNING}, True),
    ("KafkaClusterUnreachable", {}, "KafkaLogDirFilling", {**LOG_DIR, **CRITICAL}, False),
    ("KafkaClusterUnreachable", {}, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaClusterUnreachable", {}, "KafkaRemoteCopyHeldBack", {**BROKER, **ERRORS}, True),
    ("KafkaClusterUnreachable", {}, "KafkaControllerMutationThrottled", {"user": "a"}, True),
    ("KafkaClusterUnreachable", {}, "KafkaWardenBlind", {**NONE, **CRITICAL}, True),
    ("KafkaClusterUnreachable", {}, "KafkaWardenHistoryLost", {"sink": "kafka"}, True),
    ("KafkaClusterUnreachable", {}, "KafkaWardenDown", {}, False),
    ("KafkaClusterUnreachable", {}, "KafkaWardenAccessRefused", {}, False),
    ("KafkaNoActiveController", {}, "KafkaBrokerUnreachable", BROKER, True),
    ("KafkaNoActiveController", {}, "KafkaPartitionLimit", BROKER, False),
    ("KafkaNoActiveController", {}, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaNoActiveController", {}, "KafkaThrottleLeftBehind", {**FOLLOWER, **BROKER}, True),
    ("KafkaNoActiveController", {}, "KafkaRemoteCopyHeldBack", {**BROKER, **ERRORS}, False),
    ("KafkaNoActiveController", {}, "KafkaWardenBlind", {**SOME, **WARNING}, True),
    ("KafkaNoActiveController", {}, "KafkaWardenBlind", {**NONE, **CRITICAL}, False),
    ("KafkaNoActiveController", {}, "KafkaPartitionOffline", {}, False),
    ("KafkaNoActiveController", {}, "KafkaLogDirOffline", LOG_DIR, False),
    # a broker explains what is on it, late moves, and partitions that are a copy short for less than hours
    ("KafkaBrokerUnreachable", BROKER, "KafkaReplicasOutOfSync", BROKER, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaReplicasOutOfSync", OTHER, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaIsrFlapping", BROKER, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaReassignmentStuck", OTHER, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaThrottleTooLow", {**LEADER, **BROKER}, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaThrottleTooLow", {**LEADER, **OTHER}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaThrottleLeftBehind", {**LEADER, **BROKER}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaRemoteFetchHeldBack", {**BROKER, **ERRORS}, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaRemoteCopyHeldBack", LAG, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenBlind", {**BROKER, **BEANS}, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenBlind", {**SOME, **WARNING}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenDown", {}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaLogDirOffline", LOG_DIR, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaReassignmentWillMissItsTime", {}, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaPartitionAtMinIsr", WARNING, True),
    ("KafkaBrokerUnreachable", BROKER, "KafkaPartitionAtMinIsr", CRITICAL, False),
    ("KafkaBrokerUnreachable", EXPLAINED, "KafkaReplicasOutOfSync", {**BROKER, "explained": "no"}, True),
    # a critical alert names the brokers and directories behind it
    ("KafkaPartitionOffline", {}, "KafkaBrokerUnreachable", EXPLAINED, True),
    ("KafkaPartitionOffline", {}, "KafkaBrokerUnreachable", {**BROKER, "explained": "no"}, False),
    ("KafkaPartitionOffline", {}, "KafkaReplicasOutOfSync", EXPLAINED, True),
    ("KafkaPartitionOffline", {}, "KafkaReplicasOutOfSync", {**BROKER, "explained": "no"}, False),
    ("KafkaPartitionOffline", {}, "KafkaLogDirOffline", {**LOG_DIR, "explained": "yes"}, True),
    ("KafkaPartitionUnderMinIsr", {}, "KafkaBrokerUnreachable", EXPLAINED, True),
    ("KafkaPartitionUnderMinIsr", {}, "KafkaLogDirOffline", {**LOG_DIR, "explained": "no"}, False),
    # a directory explains the replicas of its broker and the moves to it, not how bad it is, nor another broker
    ("KafkaLogDirOffline", LOG_DIR, "KafkaReplicasOutOfSync", BROKER, True),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaReplicasOutOfSync", OTHER, False),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaReassignmentStuck", BROKER, True),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaThrottleTooLow", {**FOLLOWER, **BROKER}, False),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaLogDirFilling", {**LOG_DIR, **CRITICAL}, True),
    ("KafkaLogDirOffline", LOG_DIR, "KafkaPartitionOffline", {}, False),
    # a move that is stuck is late, because of a throttle of its broker
    ("KafkaReassignmentStuck", BROKER, "KafkaReplicasOutOfSync", BROKER, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaReplicasOutOfSync", OTHER, False),
    ("KafkaReassignmentStuck", BROKER, "KafkaReassignmentWillMissItsTime", {}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleTooLow", {**FOLLOWER, **EXPLAINED}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleTooLow", {**LEADER, **EXPLAINED, **OTHER}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleTooLow", {**LEADER, **OTHER, "explained": "no"}, False),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleTooLow", {**LOG_DIRS, **EXPLAINED}, True),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleTooLow", {**LOG_DIRS, **EXPLAINED, **OTHER}, False),
    ("KafkaReassignmentStuck", BROKER, "KafkaThrottleInconsistent", {}, False),
    ("KafkaThrottleTooLow", {**LEADER, **BROKER}, "KafkaReassignmentWillMissItsTime", {}, True),
    ("KafkaThrottleTooLow", {**FOLLOWER, **BROKER}, "KafkaThrottleTooLow", {**LEADER, **OTHER}, False),
    ("KafkaThrottleLeftBehind", {**FOLLOWER, **BROKER}, "KafkaReplicasOutOfSync", BROKER, False),
    # where storage fails, reads fail with copies; topics whose copies fail fall behind
    ("KafkaRemoteCopyHeldBack", {**BROKER, **ERRORS}, "KafkaRemoteFetchHeldBack", {**BROKER, **ERRORS}, True),
    ("KafkaRemoteCopyHeldBack", {**BROKER, **ERRORS}, "KafkaRemoteFetchHeldBack", {**OTHER, **ERRORS}, False),
    ("KafkaRemoteCopyHeldBack", {**BROKER, **ERRORS}, "KafkaRemoteFetchHeldBack", {**BROKER, "cause": "quota"}, False),
    ("KafkaRemoteCopyHeldBack", {**BROKER, **ERRORS}, "KafkaRemoteCopyHeldBack", LAG, True),
    ("KafkaRemoteCopyHeldBack", {**BROKER, **ERRORS}, "KafkaRemoteCopyHeldBack", {**OTHER, **ERRORS}, False),
    ("KafkaRemoteCopyHeldBack", {**BROKER, "cause": "quota"}, "KafkaRemoteCopyHeldBack", LAG, False),
    # without a snapshot nothing else is known of the sidecars
    ("KafkaWardenBlind", {**NONE, **CRITICAL}, "KafkaWardenAccessRefused", {}, True),
    ("KafkaWardenBlind", {**NONE, **CRITICAL}, "KafkaWardenDown", {}, True),
    ("KafkaWardenBlind", {**NONE, **CRITICAL}, "KafkaWardenRestarting", {}, True),
    ("KafkaWardenBlind", {**NONE, **CRITICAL}, "KafkaWardenClusterLabelAmbiguous", {}, False),
    ("KafkaWardenBlind", {**SOME, **WARNING}, "KafkaWardenDown", {}, False),
    ("KafkaWardenBlind", {**SOME, **WARNING}, "KafkaWardenAccessRefused", {}, False),
    ("KafkaWardenBlind", {**NONE, **CRITICAL}, "KafkaWardenHistoryLost", {"sink": "kafka"}, False),
    ("KafkaWardenAccessRefused", {}, "KafkaBrokerUnreachable", BROKER, False),
    ("KafkaWardenDown", {}, "KafkaPartitionOffline", {}, False),
    # the topic of history may have one of the partitions, the folder has none; one broker that is down explains neither
    ("KafkaPartitionUnderMinIsr", {}, "KafkaWardenHistoryLost", {"sink": "kafka"}, True),
    ("KafkaPartitionUnderMinIsr", {}, "KafkaWardenHistoryLost", {"sink": "parquet"}, False),
    ("KafkaBrokerUnreachable", BROKER, "KafkaWardenHistoryLost", {"sink": "kafka"}, False),
]


def test_one_cause_is_one_page(tmp_path: Path) -> None:
    """An alert keeps quiet what it explains in its own cluster and nothing else; each case has a cluster of its own.

    Alerts of another project with the same name and labels, except our own, neither inhibit nor are inhibited.
    """

    def alert(name: str, labels: dict[str, str], cluster: str, exporter: str = OURS) -> dict[str, str]:
        severity = dict(SEVERITIES)[name]
        return {"alertname": name, "severity": severity, "cluster": cluster, "exporter": exporter, **labels}

    posted = []
    for number, (source, ours, target, theirs, _) in enumerate(CASES):
        posted += [alert(source, ours, f"case-{number}"), alert(target, theirs, f"case-{number}")]
        posted.append(alert(target, theirs, f"without-{number}"))
        posted += [alert(source, ours, f"other-{number}", "other"), alert(target, theirs, f"other-{number}")]
        posted += [alert(source, ours, f"others-{number}"), alert(target, theirs, f"others-{number}", "other")]
    with Alertmanager(tmp_path) as alertmanager:
        alertmanager.post(posted)
        wait_for(lambda: len(alertmanager.alerts()) == len(posted), 30, "all alerts are there", interval=0.2)
        quiet = {
            json.dumps([alert.name, alert.labels["cluster"]]) for alert in alertmanager.alerts() if alert.inhibited_by
        }
    expected = {json.dumps([case[2], f"case-{number}"]) for number, case in enumerate(CASES) if case[4]}
    assert sorted(quiet) == sorted(expected)


def test_example_for_slack_shows_a_client_id_as_text(tmp_path: Path) -> None:
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
