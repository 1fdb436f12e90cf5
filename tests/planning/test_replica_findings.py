"""Warnings about replicas: `acks=all`, replicas that hold a move up, and racks."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kafka_warden.model import Snapshot, TopicConfig
from kafka_warden.planning.findings import warnings
from kafka_warden.planning.plan import MovePlan
from tests.support.planned import GB, cluster, plan, sized, to, without

FAIL = "t-0: fewer replicas than min.insync.replicas: writes with acks=all will fail"
AT_FIRST = "t-0: Kafka counts new replicas from the start of the move on"
WAITS = "t-0: a replica that stays is not in sync: Kafka does not complete the move before it is"
RACKS = "t-0: more replicas share a rack after the move than now, although there are enough racks"


def warned(found: MovePlan, sentence: str) -> bool:
    return any(warning.startswith(sentence) for warning in warnings(found))


@pytest.mark.parametrize(
    ("version", "before", "after", "fails", "at_first"),
    [
        ("3.6", (1, 2), (1,), True, False),
        ("3.7", (1, 2), (1,), False, False),
        (None, (1, 2), (1,), False, False),
        ("3.6", (1,), (1, 2, 3), False, False),  # writes fail already
        ("3.7", (1,), (1, 2, 3), False, True),
        ("4.1", (1, 2), (3, 4), False, False),
    ],
)
def test_writes_with_acks_all(
    version: str | None, before: Sequence[int], after: Sequence[int], fails: bool, at_first: bool
) -> None:
    """From Kafka 3.7 on a partition needs no more replicas than it has, new ones included."""
    seen = cluster(
        {"t": [sized(before, GB)]},
        more=[1, 2, 3, 4],
        topic_configs={"t": TopicConfig(min_insync_replicas=2)},
        kafka_version=version,
    )
    found = plan(seen, to("t", 0, *after))
    assert (warned(found, FAIL), warned(found, AT_FIRST)) == (fails, at_first)


def test_a_move_in_progress_fails_already() -> None:
    """Its new replica counts since its start."""
    configs = {"t": TopicConfig(min_insync_replicas=2)}
    seen = cluster({"t": [sized([1, 2], GB, adding=[2], out=[2])]}, more=[3], topic_configs=configs)
    assert not warned(plan(seen, to("t", 0, 1, 3)), AT_FIRST)


@pytest.mark.parametrize(
    ("version", "after", "waits"),
    [
        ("4.2", (1, 2, 3), True),
        ("4.3", (1, 2, 3), False),
        ("4.3", (2,), True),
        ("4.2", (1, 3), False),
        ("4.2", (2, 1), False),
        ("4.2", (1, 2), False),
    ],
)
def test_a_replica_that_stays_out_of_sync_holds_the_move_up(version: str, after: Sequence[int], waits: bool) -> None:
    """One that goes does not, nor does another order. tests/cluster/test_plan_by_hand.py has it on real Kafka."""
    seen = cluster({"t": [sized([1, 2], GB, out=[2])]}, more=[3], kafka_version=version)
    assert warned(plan(seen, to("t", 0, *after)), WAITS) is waits


def racked(replicas: Sequence[int], racks: str) -> Snapshot:
    """Make a partition on brokers 1, 2, ... in these racks; `-` is a broker without one."""
    seen = cluster({"t": [sized(replicas, GB)]}, more=range(1, len(racks) + 1))
    named = {one: replace(broker, rack=racks[one - 1].strip("-") or None) for one, broker in seen.brokers.items()}
    return replace(seen, brokers=named)


@pytest.mark.parametrize(
    ("racks", "before", "after", "worse"),
    [
        ("aabb", (1, 3), (1, 2), True),
        ("aabb", (1, 2), (2, 1), False),
        ("aabb", (1, 2), (3, 4), False),
        ("aabb", (1, 3), (1, 4), False),
        ("aabb", (1, 3), (1, 3, 2), False),
        ("aabc", (1, 3), (1, 3, 2), True),
        ("aaab", (1, 2), (1, 2, 3), False),
        ("aab", (1, 3), (1,), False),
        ("a-bb", (1, 3), (1, 2), False),
        ("----", (1, 3), (1, 2), False),
        ("-abb", (1, 3), (3, 4), True),
    ],
)
def test_replicas_that_share_a_rack(racks: str, before: Sequence[int], after: Sequence[int], worse: bool) -> None:
    """Only what the move makes worse, and what the racks allow. The rack of a broker that is down is unknown."""
    assert warned(plan(racked(before, racks), to("t", 0, *after)), RACKS) is worse


def test_racks_of_brokers_that_are_down_do_not_count() -> None:
    """The only broker of the second rack is gone: no other move is possible."""
    seen = racked((1, 3), "aab")
    assert not warned(plan(without(seen, 3, gone=True), to("t", 0, 1, 2)), RACKS)
