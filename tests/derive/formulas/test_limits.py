"""KIP-578: what fits. Counts are replicas per broker."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import limits

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
    ("why", "adding", "expected"),
    [
        ("fits exactly", {1: 2}, True),
        ("one too many", {1: 3}, False),
        ("a broker without a limit", {9: 1000}, True),
        ("nothing is added to a broker over its limit", {2: 0, 1: 1}, True),
        ("something is", {2: 1}, False),
    ],
)
def test_reassignment_fits(why: str, adding: dict[int, int], expected: bool) -> None:
    assert limits.reassignment_fits({1: 2, 2: -3}, adding) is expected, why


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
    """Each partition goes to the brokers that have most room by then, the first of those with the same."""
    assert limits.placement((1, 10, 9), range(3), 3, 2) == ((1, 2), (1, 2), (1, 2))
    assert limits.placement((10, 10, 10), range(3), 3, 2) == ((0, 1), (2, 0), (1, 2))
    assert limits.placement((2, 1), range(2), 0, 2) == ()
