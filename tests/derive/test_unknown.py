"""Unknown is absent: unknown values are neither counted nor summed as zero."""

import math

import numpy as np

from kafka_warden.derive import Derived
from kafka_warden.model import UNKNOWN, Side, TopicConfig
from tests.building import Partition, judge, judge_each, snapshot
from tests.derive.following import families


def names(derived: Derived) -> set[str]:
    return {name for name, found in families(derived).items() if any(not math.isnan(each) for each in found.values())}


def test_unknown_reassignments() -> None:
    seen = names(judge(snapshot({"t": [Partition()]}, reassignments_known=False)))
    assert not seen & {"reassigning_partitions", "reassignment_move_ratio", "reassignment_replicas"}


def test_a_missing_replica_may_be_an_adding_one_while_reassignments_are_unknown() -> None:
    healthy, missing = Partition(replicas=(1, 2)), Partition(replicas=(1, 2), out=(2,))
    under = {"under_replicated_partitions", "broker_under_replicated_partitions"}
    since = {"partition_under_replicated_seconds", "replica_out_of_sync_seconds"}

    unknown = judge(*(snapshot({"t": [missing]}, clock=clock, reassignments_known=False) for clock in (0.0, 10.0)))
    fine = judge(snapshot({"t": [healthy]}, reassignments_known=False))
    known = [snapshot({"t": [missing]}, clock=clock, reassignments_known=clock < 20) for clock in (0.0, 10.0, 20.0)]

    assert not names(unknown) & (under | since)
    assert names(fine) & under == under
    assert names(judge(*known)) & (under | since) == since
    assert np.nanmax(judge(*known).ages.out_seconds) == 20


def test_a_move_goes_on_where_it_was_when_reassignments_are_known_again() -> None:
    still = {"t": [Partition(replicas=(1, 2), adding=(2,), end=1_000_000, lag={2: 900_000})]}
    answers = [True] * 6 + [False] * 4 + [True] * 4
    polls = (snapshot(still, clock=10.0 * poll, reassignments_known=known) for poll, known in enumerate(answers))
    seen = [derived.moves for derived in judge_each(*polls)]

    assert [bool(moves) for moves in seen] == answers
    assert [move.stalled for moves in (seen[5], seen[10]) for move in moves] == [50, 100]


def test_unknown_topic_configurations() -> None:
    derived = judge(snapshot({"t": [Partition(out=(2, 3))]}))
    assert not names(derived) & {"at_min_isr_partitions", "replication_throttled_replicas"}
    assert np.isnan(derived.throttles.floor[Side.LEADER]).all()


def test_known_topic_configurations() -> None:
    derived = judge(snapshot({"t": [Partition(out=(2, 3))]}, topic_configs={"t": TopicConfig(min_insync_replicas=2)}))
    assert {"at_min_isr_partitions", "replication_throttled_replicas"} <= names(derived)
    assert derived.cluster.under_min_isr.tolist() == [True]


def test_the_only_replica_of_a_partition_follows_none() -> None:
    single, other = Partition(replicas=(1,), leader=UNKNOWN), Partition(replicas=(2, 1), end=5)
    derived = judge(snapshot({"single": [single], "t": [other]}))
    assert derived.lag.sum_messages.values.tolist() == [0.0, 0.0]


def test_a_cluster_without_replicas_is_judged() -> None:
    assert judge(snapshot({})).totals.reassigning_partitions == 0


def test_a_dead_follower_above_the_end_of_another_leader_is_not_compared() -> None:
    """It will be truncated: its lag stays unknown, poll after poll, and nothing is clamped."""
    elected = {"t": [Partition(leader=3, epoch=1, end=900, out=(1, 2), silent=(1, 2))]}
    after = (snapshot(elected, clock=clock) for clock in (10.0, 20.0, 30.0))
    for derived in judge_each(snapshot({"t": [Partition(end=1000)]}), *after)[1:]:
        assert derived.lag.messages.tolist() == [UNKNOWN, UNKNOWN, 0]
        assert derived.clamped == 0
