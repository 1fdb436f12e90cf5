"""The rules of the backtest are the rendered ones, and a what-if that cannot be tried says so."""

from collections import defaultdict

import numpy as np
import pytest

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline.alarms import grid_of, plans_of
from kafka_warden.pipeline.promql import Vector
from kafka_warden.pipeline.rule_runs import metrics
from kafka_warden.pipeline.samples import POLLS, has
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME, UNANSWERED, parsed, read_what_if, rules, trials
from kafka_warden.rules import render

BY_NAME = {rule.name: rule for rule in rules()}


def test_every_alert_has_a_rule_or_lacks_metrics() -> None:
    """Except those about the sidecar, whose scrapes history does not have. Other metrics only exclude a case."""
    alerts = {
        alert["alert"]
        for template in render.templates()
        if template.name != "sidecar.rules.yml"
        for alert in render.alerts(render.rules(template))
    }
    lacking = defaultdict(set)
    for name in alerts:
        for metric in metrics(parsed(frozenset(), name)):
            if not has(metric):
                lacking[metric.removeprefix("kafka_warden_")].add(name.removeprefix("Kafka"))
    partitions = {"PartitionUnderMinIsr", "PartitionOffline"}
    followers = {"BrokerUnreachable", "ReplicasOutOfSync", "IsrFlapping"}
    assert lacking == {
        "cluster_reachable": {"ClusterUnreachable"},
        "controller_reachable": {"NoActiveController"},
        "broker_fenced_responding": partitions | followers,
        "broker_leader_candidate_partitions": {"PartitionOffline"},
        "dropped_verdicts": {"ReassignmentStuck"},
        "undescribed_topics": partitions | followers | {"PartitionAtMinIsr", "ReassignmentStuck", "RemoteCopyHeldBack"},
    }
    assert BY_NAME.keys() == {BY_TIME, BY_MESSAGES} | alerts - UNANSWERED.keys()


def test_a_what_if_stands_beside_the_usual() -> None:
    tried = trials([*read_what_if(f"{BY_MESSAGES}=10"), *read_what_if(f"{BY_MESSAGES}=10.0,20")])
    assert [each.threshold for each in tried if each.what_if] == [10.0, 4000.0, 20.0]
    assert {each.rule.name for each in tried if each.what_if} == {BY_MESSAGES}
    assert [each.rule for each in tried if not each.what_if] == list(rules())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("KafkaReplicasOutOfSync=300", [(300.0, 300.0)]),
        ("KafkaReplicasOutOfSync=60,300@0,10m", [(60.0, 0.0), (60.0, 600.0), (300.0, 0.0), (300.0, 600.0)]),
        ("KafkaReplicasOutOfSync=@1m,5m", [(300.0, 60.0), (300.0, 300.0)]),
        ("KafkaPartitionOffline=@30s", [(None, 30.0)]),
        (f"{BY_MESSAGES}=4@12h", [(4.0, 43_200.0)]),
    ],
)
def test_what_ifs_of_a_rule(text: str, expected: list[tuple[float | None, float]]) -> None:
    assert [(each.threshold, each.for_seconds) for each in read_what_if(text)] == expected
    assert all(each.what_if for each in read_what_if(text))


def test_a_trial_renders_the_rules_with_its_numbers() -> None:
    """Only those that differ from the usual ones."""
    (tried,) = read_what_if("KafkaReplicasOutOfSync=90@1m")
    assert tried.changed == {"out_of_sync_restart": "90000ms", "out_of_sync_for": "60000ms"}
    found = {rule.name: rule for rule in parsed(frozenset(tried.changed.items()), "KafkaReplicasOutOfSync")}
    rule = found["KafkaReplicasOutOfSync"]
    assert rule.hold == 60.0
    assert "KafkaPartitionOffline" not in found
    assert "out_of_sync_replicas:last{}[1m30s]" in str(rule.expression)
    assert not any(each.changed for each in trials([]))


def test_a_trial_has_a_deadline_of_its_own() -> None:
    """It is an option of the sidecar, so the rules stay and the samples change."""
    asked = trials(read_what_if("KafkaReassignmentWillMissItsTime=60"))
    deadline = "kafka_warden_reassignment_deadline_seconds"
    samples = {deadline: Vector([{}], np.array([[14_400.0, np.nan]]))}
    plans = [
        (trial, found[deadline].values.tolist())
        for indices, _, found in plans_of(dict(enumerate(asked)), samples)
        for trial in (asked[index] for index in indices)
        if trial.what_if
    ]
    assert {(trial.threshold, values[0][0]) for trial, values in plans} == {(60.0, 60.0), (None, 14_400.0)}
    assert all(np.isnan(values[0][1]) for _, values in plans)


def test_polls_that_have_one_time_do_not_count_for_the_step() -> None:
    """Where a clock was set back, all polls of a day may have the time before the next day."""
    at = np.array([*[1000.0] * 500, *np.arange(1010.0, 2000.0, 10.0)])
    grid = grid_of([{"metric": POLLS, "run": "run", "at": at}], 5000.0)
    assert grid is not None
    assert grid.step == 10.0


def test_look_back_comes_on_top_of_a_duration() -> None:
    (tried,) = read_what_if("KafkaBrokerUnreachable=@10m")
    assert tried.wanted == 600.0 + BY_NAME["KafkaBrokerUnreachable"].lookback > 600.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("KafkaReplicaGone=3", "there is no rule 'KafkaReplicaGone'; rules with a threshold: Kafka"),
        ("KafkaPartitionOffline=3", "KafkaPartitionOffline has no threshold"),
        (f"{BY_MESSAGES}", f"expected {BY_MESSAGES}=THRESHOLD@FOR in messages, such as {BY_MESSAGES}=4000@5m"),
        ("KafkaPartitionOffline=", "expected KafkaPartitionOffline=@FOR, such as KafkaPartitionOffline=@5m"),
        (f"{BY_MESSAGES}=4,", "expected"),
        (f"{BY_MESSAGES}=4@5", "expected"),
        (f"{BY_MESSAGES}=4@", "expected"),
        (f"{BY_TIME}=soon", f"such as {BY_TIME}=60"),
        (f"{BY_TIME}=-1", "expected"),
        (f"{BY_TIME}=nan", "expected"),
        ("KafkaReplicasOutOfSync=inf@1m", "expected"),
        ("KafkaReplicasOutOfSync=0@1m", "Prometheus cannot read the rule with it: duration must be greater than 0"),
        (f"{BY_MESSAGES}=4@12h,13h", "with it the rule looks back for 13 h; 12 h is the most"),
        ("KafkaRemoteCopyHeldBack=@7h", "with it the rule looks back for 13 h; 12 h is the most"),
        ("KafkaReplicasOutOfSync=43200", "with it the rule looks back for 12 h 5 min; 12 h is the most"),
    ],
)
def test_a_what_if_that_cannot_be_tried_says_so(text: str, message: str) -> None:
    """With what would do."""
    with pytest.raises(ConfigError) as failure:
        read_what_if(text)
    assert message in str(failure.value)
