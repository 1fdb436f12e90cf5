"""KIP-578: what fits. Counts are replicas per broker."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import limits

INF = math.inf


def test_internal_topics_do_not_count() -> None:
    """Of the rows of partitions; without a topic there are none."""
    topic = np.array([0, 1, 1, 2], np.int32)
    found = limits.counted_rows(("a", "__consumer_offsets", "b"), topic)
    assert found.tolist() == [True, False, False, True]
    assert limits.counted_rows((), topic[:0]).dtype == bool


def counts_after_creation(counts: Sequence[int], limit: float, partitions: int, factor: int) -> tuple[int, ...] | None:
    """Replicas per broker once a topic is placed, `None` where it does not fit."""
    if not limits.creation_fits([limit - count for count in counts], INF, partitions, factor):
        return None
    added = Counter(broker for replicas in limits.placement(counts, partitions, factor) for broker in replicas)
    return tuple(count + added[broker] for broker, count in enumerate(counts))


@pytest.mark.parametrize(
    ("why", "counts", "limit", "partitions", "factor", "expected"),
    [
        ("KIP-578: 1 x RF 3", (8, 6, 9), 10, 1, 3, (9, 7, 10)),
        ("then 1 x RF 3: broker 3 is full", (9, 7, 10), 10, 1, 3, None),
        ("then 1 x RF 2", (9, 7, 10), 10, 1, 2, (10, 8, 10)),
        ("2 x RF 3 from the start fails whole", (8, 6, 9), 10, 2, 3, None),
        ("30 x RF 2", (10, 20, 30), 40, 30, 2, (40, 40, 40)),
        ("31 x RF 2", (10, 20, 30), 40, 31, 2, None),
        ("10 x RF 3", (10, 20, 30), 40, 10, 3, (20, 30, 40)),
        ("11 x RF 3", (10, 20, 30), 40, 11, 3, None),
    ],
)
def test_examples(
    why: str, counts: tuple[int, ...], limit: int, partitions: int, factor: int, expected: tuple[int, ...] | None
) -> None:
    """Brokers that host so many replicas, with one limit."""
    assert counts_after_creation(counts, limit, partitions, factor) == expected, why


@pytest.mark.parametrize(
    ("why", "brokers", "cluster", "partitions", "factor", "expected"),
    [
        ("no limits", [INF, INF, INF], INF, 10**6, 3, True),
        ("the cluster's limit is the stricter", [INF, INF, INF], 9, 10, 1, False),
        ("equality fits", [5, 5], 5, 5, 2, True),
        ("a broker over its limit has room for none, and takes none from others", [-100, 5, 5], INF, 5, 2, True),
        ("more replicas than brokers", [INF, INF], INF, 1, 3, False),
        ("a cluster over its limit", [INF], -1, 1, 1, False),
    ],
)
def test_creation_fits(
    why: str, brokers: list[float], cluster: float, partitions: int, factor: int, expected: bool
) -> None:
    """Both limits hold, the stricter decides, and a creation fits whole or not at all."""
    assert limits.creation_fits(brokers, cluster, partitions, factor) is expected, why


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
    """Only the brokers' limits count for a reassignment."""
    assert limits.reassignment_fits({1: 2, 2: -3}, adding) is expected, why


@pytest.mark.parametrize(
    ("topic", "expected"),
    [("orders", True), ("__mine", True), *((topic, False) for topic in sorted(limits.INTERNAL))],
)
def test_is_counted(topic: str, expected: bool) -> None:
    """Topics of Kafka itself are left out, nothing else."""
    assert limits.is_counted(topic) is expected


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5), st.integers(0, 12), st.integers(1, 5))
def test_whatever_fits_can_be_placed(counts: list[int], partitions: int, factor: int) -> None:
    """The sum's verdict is right: a fitting creation puts P x RF replicas and no broker over its limit."""
    after = counts_after_creation(counts, 10, partitions, factor)
    if after is not None:
        assert sum(after) == sum(counts) + partitions * factor
        assert all(new <= max(10, old) for new, old in zip(after, counts, strict=True))
        assert all(new - old <= partitions for new, old in zip(after, counts, strict=True))


def test_placement_fills_the_emptiest_first() -> None:
    """Each partition goes to the brokers that host least by then, the first of those that host the same."""
    assert limits.placement((9, 0, 1), 3, 2) == ((1, 2), (1, 2), (1, 2))
    assert limits.placement((0, 0, 0), 3, 2) == ((0, 1), (2, 0), (1, 2))
    assert limits.placement((1, 2), 0, 2) == ()
