"""The rules of the backtest are those of Prometheus, and a what-if that cannot be tried says so."""

from typing import Any

import pytest

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline.backtest.rules import (
    BY_MESSAGES,
    BY_NAME,
    BY_TIME,
    RULES,
    read_what_if,
    trials,
)
from kafka_warden.pipeline.backtest.signals import ASKED
from kafka_warden.rules import render
from kafka_warden.rules.thresholds import seconds


def alerts() -> dict[str, dict[str, Any]]:
    """Every alert as it is rendered, in its first tier."""
    found: dict[str, dict[str, Any]] = {}
    for template in render.templates():
        for rule in render.alerts(render.rules(template)):
            found.setdefault(rule["alert"], rule)
    return found


def test_rules_are_of_alerts_and_have_a_signal() -> None:
    assert BY_NAME.keys() - alerts().keys() == {BY_TIME, BY_MESSAGES}
    assert BY_NAME.keys() == ASKED


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - {BY_TIME, BY_MESSAGES}))
def test_it_waits_as_long_as_the_alert(name: str) -> None:
    rule, alert = BY_NAME[name], alerts()[name]
    assert (rule.for_seconds, rule.keep_seconds) == (seconds(alert["for"]), seconds(alert["keep_firing_for"]))


def test_a_what_if_stands_beside_the_usual() -> None:
    tried = trials([*read_what_if(f"{BY_MESSAGES}=10"), *read_what_if(f"{BY_MESSAGES}=10.0,20")])
    assert [each.threshold for each in tried if each.what_if] == [10.0, 4000.0, 20.0]
    assert {each.rule.name for each in tried if each.what_if} == {BY_MESSAGES}
    assert [each.rule for each in tried if not each.what_if] == list(RULES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("KafkaReplicasOutOfSync=300", [(300.0, 300.0)]),
        ("KafkaReplicasOutOfSync=60,300@0,10m", [(60.0, 0.0), (60.0, 600.0), (300.0, 0.0), (300.0, 600.0)]),
        ("KafkaReplicasOutOfSync=@1m,5m", [(300.0, 60.0), (300.0, 300.0)]),
        ("KafkaPartitionOffline=@30s", [(None, 30.0)]),
    ],
)
def test_what_ifs_of_a_rule(text: str, expected: list[tuple[float | None, float]]) -> None:
    assert [(each.threshold, each.for_seconds) for each in read_what_if(text)] == expected
    assert all(each.what_if for each in read_what_if(text))


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
    ],
)
def test_a_what_if_that_cannot_be_tried_says_so(text: str, message: str) -> None:
    """With what would do."""
    with pytest.raises(ConfigError) as failure:
        read_what_if(text)
    assert message in str(failure.value)
