"""KIP-578: what counts, what fits, and what room is left; replicas without a log and logs without a replica."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import limits
from kafka_warden.derive.limits import LogCounts
from kafka_warden.model import Parameters, Snapshot
from kafka_warden.replies import LogGaps, MissingLog, StrayLog
from tests.building import Partition, judge, snapshot
from tests.derive.following import families

INF = math.inf


def test_internal_topics_do_not_count() -> None:
    topic = np.array([0, 1, 1, 2], np.int32)
    found = limits.counted_rows(("a", "__consumer_offsets", "b"), topic)
    assert found.tolist() == [True, False, False, True]
    assert limits.counted_rows((), topic[:0]).dtype == bool


@pytest.mark.parametrize(
    ("why", "brokers", "partitions", "room"),
    [
        ("no limits: each hosts a partition once", [INF, INF, INF], 10**6, 3 * 10**6),
        ("no broker takes two replicas of a partition", [10, 20, 30], 11, 32),
        ("a broker over its limit has room for none, and takes none from others", [-100, 5, 5], 5, 10),
    ],
)
def test_room(why: str, brokers: list[float], partitions: int, room: float) -> None:
    assert limits.room(brokers, range(len(brokers)), partitions) == room, why


@pytest.mark.parametrize(
    ("topic", "expected"),
    [("orders", True), ("__mine", True), *((topic, False) for topic in sorted(limits.INTERNAL))],
)
def test_is_counted(topic: str, expected: bool) -> None:
    assert limits.is_counted(topic) is expected


CLUSTERS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), min_size=1, max_size=5)


@given(CLUSTERS, st.integers(1, 4), st.integers(1, 3))
def test_a_placement_is_found_whenever_there_is_one(
    brokers: list[tuple[int, str]], partitions: int, factor: int
) -> None:
    headroom, racks = [float(left) for left, _ in brokers], [rack for _, rack in brokers]
    factor = min(factor, len(set(racks)))
    every = combinations(range(len(brokers)), factor)
    sets = [chosen for chosen in every if len({racks[broker] for broker in chosen}) == factor]
    fits = limits.room(headroom, racks, partitions) >= partitions * factor

    assert fits is _any_placement(tuple(headroom), sets, partitions)
    if fits:
        placed = limits.placement(headroom, racks, partitions, factor)
        used = Counter(broker for replicas in placed for broker in replicas)
        assert len(placed) == partitions
        assert all(tuple(sorted(replicas)) in sets for replicas in placed)
        assert all(used[broker] <= headroom[broker] for broker in used)


def _any_placement(left: tuple[float, ...], sets: Sequence[tuple[int, ...]], partitions: int) -> bool:
    if partitions == 0:
        return True
    return any(
        _any_placement(tuple(n - (b in chosen) for b, n in enumerate(left)), sets[index:], partitions - 1)
        for index, chosen in enumerate(sets)
        if all(left[broker] >= 1 for broker in chosen)
    )


def test_placement_fills_the_emptiest_first() -> None:
    assert limits.placement((1, 10, 9), range(3), 3, 2) == ((1, 2), (1, 2), (1, 2))
    assert limits.placement((10, 10, 10), range(3), 3, 2) == ((0, 1), (2, 0), (1, 2))
    assert limits.placement((2, 1), range(2), 0, 2) == ()


TOPICS = {
    "orders": [Partition(replicas=(1, 2)), Partition(replicas=(2, 3), adding=(3,))],
    "__consumer_offsets": [Partition(replicas=(1, 2))] * 5,
    "__transaction_state": [Partition(replicas=(1,))] * 7,
    "__share_group_state": [Partition(replicas=(3,))],
}


def read(broker_limit: float, cluster_limit: float) -> dict[str, dict[tuple[str, ...], float]]:
    parameters = Parameters(max_broker_partitions=broker_limit, max_partitions=cluster_limit)
    return families(judge(snapshot(TOPICS)), parameters)


def test_counts_and_room() -> None:
    """Adding replicas count, internal topics do not, each partition counts once in the cluster."""
    page = read(2, 10)

    assert page["broker_partitions"] == {("1",): 1, ("2",): 2, ("3",): 1}
    assert page["broker_partition_headroom"] == {("1",): 1, ("2",): 0, ("3",): 1}
    assert page["cluster_partitions"] == {(): 2}
    assert page["cluster_partition_headroom"] == {(): 8}
    assert page["cluster_replicas"] == {(): 22}


def test_room_is_negative_when_over_and_infinite_without_a_limit() -> None:
    over, unlimited = read(1, 2), read(math.inf, math.inf)

    assert over["broker_partition_headroom"] == {("1",): 0, ("2",): -1, ("3",): 0}
    assert over["cluster_partition_headroom"] == {(): 0}
    assert set(unlimited["broker_partition_headroom"].values()) == {math.inf}
    assert unlimited["cluster_partition_headroom"] == {(): math.inf}
    assert unlimited["broker_partition_limit"] == {("1",): math.inf, ("2",): math.inf, ("3",): math.inf}


ID, OTHER = bytes(15) + b"\x01", bytes(15) + b"\x02"
Missing = set[MissingLog] | None
Stray = set[StrayLog]
Answer = tuple[float, float | None, Missing, Stray]
LOST: Missing = {MissingLog("t", ID, 0)}
STRAY: Stray = {StrayLog("x", 0)}


def poll(clock: float, at: float | None, missing: Missing, stray: Stray) -> Snapshot:
    """A poll at which the last answer of broker 1 about all its logs was that of `at`; `None` for none."""
    gaps = LogGaps(at or 0.0, None if missing is None else frozenset(missing), frozenset(stray))
    return snapshot({"t": [Partition()]}, clock=clock, log_gaps={} if at is None else {1: gaps})


@pytest.mark.parametrize(
    ("why", "polls", "expected"),
    [
        ("never answered", [(0, None, set(), set())], None),
        ("nothing is missing: one answer is enough", [(0, 0.0, set(), set())], LogCounts(0, 0)),
        ("something is, for the first time", [(0, 0.0, LOST, STRAY)], LogCounts(None, None)),
        ("the same answer again", [(0, 0.0, LOST, STRAY), (10, 0.0, LOST, STRAY)], LogCounts(None, None)),
        ("a second answer agrees", [(at, at, LOST, {StrayLog("x", 0), ("x", 1)}) for at in (0, 60.0)], LogCounts(1, 2)),
        ("and is still shown", [(at, min(at, 60), LOST, set()) for at in (0, 60.0, 70.0)], LogCounts(1, 0)),
        ("others, which come and go", [(0, 0.0, LOST, STRAY), (60, 60.0, {("t", ID, 1)}, {("y", 0)})], LogCounts(0, 0)),
        ("a topic created again", [(0, 0.0, LOST, set()), (60, 60.0, {("t", OTHER, 0)}, set())], LogCounts(0, 0)),
        ("over", [(0, 0.0, LOST, STRAY), (60, 60.0, LOST, STRAY), (120, 120.0, set(), set())], LogCounts(0, 0)),
        ("a directory is offline", [(0, 0.0, LOST, STRAY), (60, 60.0, None, STRAY)], LogCounts(None, 1)),
        ("and online again", [(0, 0.0, None, set()), (60, 60.0, LOST, set())], LogCounts(None, 0)),
        ("no answers any more", [(0, 0.0, set(), set()), (200, None, set(), set())], None),
    ],
)
def test_counts(why: str, polls: list[Answer], expected: LogCounts | None) -> None:
    assert judge(*(poll(*seen) for seen in polls)).log_counts.get(1) == expected, why
