"""Wrong throttles, and the moves that they slow down."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from sandbox import wait_for
from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired
from tests.support.topics import fill

MEGABYTE: Final = 1_000_000
Rates = Mapping[tuple[int, str], int]
"""Bytes per second by broker and key of its configuration."""


@fault("below-inbound", "A move is throttled to less than what is produced")
def below_inbound(stage: Stage) -> Iterator[set[Fired]]:
    """An inbound rate of 2.5 MB/s, and a limit of 1 MB/s."""
    rates = {(1, LEADER_RATE): MEGABYTE, (2, FOLLOWER_RATE): MEGABYTE}
    _fill(stage, "outrun", 1, 10)
    with stage.cluster.load.background("outrun", 2.5 * MEGABYTE, record_size=5000), _move(stage, "outrun", 1, 2, rates):
        yield {
            fired("KafkaThrottleTooLow", broker=1, side="leader"),
            fired("KafkaThrottleTooLow", broker=2, side="follower"),
            fired("KafkaReassignmentStuck", broker=2),
            fired("KafkaReassignmentWillMissItsTime"),
        }


@fault("lopsided", "A move is throttled on the leader's side only")
def lopsided(stage: Stage) -> Iterator[set[Fired]]:
    """The leader has a list and a rate, the follower has neither."""
    rates = {(3, LEADER_RATE): MEGABYTE}
    _fill(stage, "leaning", 3, 90)
    with _move(stage, "leaning", 3, 1, rates, {LEADER_REPLICAS: "0:3"}):
        yield {fired("KafkaThrottleInconsistent")}


@fault("blocked", "A move is throttled to 0")
def blocked(stage: Stage) -> Iterator[set[Fired]]:
    """0 on both sides."""
    rates = {(2, LEADER_RATE): 0, (3, FOLLOWER_RATE): 0}
    _fill(stage, "blocked", 2, 10)
    with _move(stage, "blocked", 2, 3, rates):
        yield {
            fired("KafkaThrottleTooLow", broker=2, side="leader"),
            fired("KafkaThrottleTooLow", broker=3, side="follower"),
            fired("KafkaReassignmentStuck", broker=3),
            fired("KafkaReassignmentWillMissItsTime"),
        }


@fault("uneven", "Two rates for the brokers of one move")
def uneven(stage: Stage) -> Iterator[set[Fired]]:
    """The two brokers of a move have different leader rates; the limit of one of them does not apply to the copy."""
    rates = {(1, LEADER_RATE): MEGABYTE, (2, LEADER_RATE): 2 * MEGABYTE, (2, FOLLOWER_RATE): MEGABYTE}
    _fill(stage, "uneven", 1, 90)
    with _move(stage, "uneven", 1, 2, rates):
        yield {fired("KafkaThrottleInconsistent")}


@fault("left-behind", "A throttle stays after its move")
def left_behind(stage: Stage) -> Iterator[set[Fired]]:
    """A move has ended, and its throttle is still set on both sides."""
    rates = {(1, LEADER_RATE): 3 * MEGABYTE, (3, FOLLOWER_RATE): 3 * MEGABYTE}
    _fill(stage, "over", 1, 5)
    with _move(stage, "over", 1, 3, rates):
        stage.cluster.admin.wait_for_moves()
        yield {
            fired("KafkaThrottleLeftBehind", broker=1, side="leader"),
            fired("KafkaThrottleLeftBehind", broker=3, side="follower"),
        }


def _fill(stage: Stage, topic: str, leader: int, megabytes: int) -> None:
    fill(stage.cluster, topic, [leader], megabytes * MEGABYTE)


@contextmanager
def _move(
    stage: Stage, topic: str, source: int, target: int, rates: Rates, lists: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Move partition 0 under these rates and lists, those of `kafka-reassign-partitions` by default.

    At the end the throttle is removed, and the move completes.
    """
    admin = stage.cluster.admin
    lists = lists or {LEADER_REPLICAS: f"0:{source}", FOLLOWER_REPLICAS: f"0:{target}"}
    admin.alter_topic_config(topic, lists)
    for (broker, key), rate in rates.items():
        admin.alter_broker_config(broker, {key: rate})
    admin.reassign({(topic, 0): [target]})
    yield
    for broker, key in rates:
        admin.alter_broker_config(broker, {key: None})
    admin.alter_topic_config(topic, dict.fromkeys(lists))
    wait_for(lambda: (topic, 0) not in admin.reassignments(), 120, f"{topic} has moved")
