"""Throttled lists, floors, headroom and KIP-73's bounds. Rates in MB/s, as the documents' examples have them."""

import math

import numpy as np
import pytest

from kafka_warden.derive import throttle
from kafka_warden.derive.snapshot_index import IndexedSnapshot, index_snapshot
from kafka_warden.derive.throttle_lists import ThrottledReplicas, listed_rows, parse_throttled
from kafka_warden.model import SIDES, Side
from tests.building import Partition, brokers_of, snapshot

NAN = float("nan")
MB = 1e6


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ThrottledReplicas()),
        ("*", ThrottledReplicas(everything=True)),
        ("0:1", ThrottledReplicas(pairs={(0, 1)})),
        ("0:1,0:2,17:1001", ThrottledReplicas(pairs={(0, 1), (0, 2), (17, 1001)})),
        (" 0:1 , 1:2 ", ThrottledReplicas(pairs={(0, 1), (1, 2)})),
        ("0-1,1:2", ThrottledReplicas(pairs={(1, 2)})),
        (",", ThrottledReplicas()),
        pytest.param(f"1:{'9' * 5000},1:2", ThrottledReplicas(pairs={(1, 2)}), id="more digits than int() takes"),
        ("\u0663:\u0661", ThrottledReplicas()),
    ],
)
def test_parse(value: str, expected: ThrottledReplicas) -> None:
    assert parse_throttled(value) == expected
    assert bool(parse_throttled(value)) is bool(expected.everything or expected.pairs)


def test_listed_rows() -> None:
    lists = {0: parse_throttled("*"), 1: parse_throttled("1:20")}
    topic, partition, broker = (
        np.array(column) for column in ([0, 0, 1, 1, 1, 2], [0, 0, 0, 1, 1, 0], [10, 20, 20, 10, 20, 10])
    )

    listed = listed_rows(lists, topic, partition, broker)

    assert listed.tolist() == [True, True, False, False, True, False]


NEVER_EXAMPLE = Partition(replicas=(0, 1, 2, 3), out=(3,))
"""docs/spec/throttle-law.md#never: two in-sync followers of a listed partition at 1 MB/s leave 0.5 of limit 2.5."""

RUNS_C1_D1 = Partition(replicas=(0, 1, 2), out=(2,))
"""RF 2 to 2. With wildcard lists the in-sync follower's copy counts on both sides. The tool's lists name sources and
target: the same at the leader, nothing at the follower."""

IN_SYNC = Partition(replicas=(0, 1))
OUT = Partition(replicas=(0, 1), out=(1,))


@pytest.mark.parametrize(
    ("why", "partition", "lists", "bytes_in", "leader", "follower"),
    [
        ("two in-sync followers count twice at the leader", NEVER_EXAMPLE, ([0], [3]), 1.0, [2, 0, 0, 0], [0] * 4),
        ("run c1", RUNS_C1_D1, ([0, 1, 2], [0, 1, 2]), 0.58, [0.58, 0, 0], [0, 0.58, 0]),
        ("run d1", RUNS_C1_D1, ([0, 1], [2]), 0.58, [0.58, 0, 0], [0, 0, 0]),
        ("not listed counts nowhere", IN_SYNC, ([], []), 5.0, [0, 0], [0, 0]),
        ("out of the ISR it is what is throttled", OUT, ([0], [1]), 5.0, [0, 0], [0, 0]),
        ("an unknown rate withholds the floor", IN_SYNC, ([0], [1]), NAN, [NAN, 0], [0, NAN]),
        ("unless no follower is in sync", OUT, ([0], [1]), NAN, [0, 0], [0, 0]),
    ],
)
def test_floors(
    why: str,
    partition: Partition,
    lists: tuple[list[int], list[int]],
    bytes_in: float,
    leader: list[float],
    follower: list[float],
) -> None:
    """The lists are broker ids, of the leader's side and of the followers'."""
    indexed = index_snapshot(snapshot({"t": [partition]}))
    listed = {side: np.isin(indexed.snapshot.replicas.broker, ids) for side, ids in zip(SIDES, lists, strict=True)}

    found = throttle.floors(indexed, listed, np.array([bytes_in]))

    np.testing.assert_allclose(found[Side.LEADER], leader, err_msg=why)
    np.testing.assert_allclose(found[Side.FOLLOWER], follower, err_msg=why)


@pytest.mark.parametrize(
    ("limit", "floor", "expected"), [(2.5, 2.0, 0.5), (0.5, 0.58, -0.08), (math.inf, 3.0, math.inf), (0.0, 0.0, 0.0)]
)
def test_headroom(limit: float, floor: float, expected: float) -> None:
    assert throttle.headroom(limit, floor) == pytest.approx(expected)


def hosted(*partitions: tuple[int, ...]) -> IndexedSnapshot:
    """Partitions with replicas on these of the brokers 0 to 2."""
    brokers = brokers_of({"": [Partition(replicas=(0, 1, 2))]})
    return index_snapshot(snapshot({"t": [Partition(replicas=hosts) for hosts in partitions]}, brokers=brokers))


def test_bounds() -> None:
    """Broker 0 hosts 50 MB/s, 1 of them in a partition with one replica: a throttle of 10 is below KIP-73's bound."""
    indexed, rates = hosted((0,), (0, 1)), np.array([1 * MB, 49 * MB])

    lower = throttle.lower_bound(indexed, rates)
    upper = throttle.upper_bound(indexed, rates, network=125 * MB)

    assert lower.tolist() == [50 * MB, 49 * MB, 0]
    assert upper.tolist() == [125 * MB - 1 * MB - 24.5 * MB, 125 * MB - 24.5 * MB, 125 * MB]
    assert lower[0] > 10 * MB


def test_bounds_are_withheld_when_a_rate_is_unknown() -> None:
    indexed, rates = hosted((0,), (1,)), np.array([NAN, 5.0])
    np.testing.assert_equal(throttle.lower_bound(indexed, rates), [NAN, 5.0, 0.0])
    np.testing.assert_equal(throttle.upper_bound(indexed, rates, network=20.0), [NAN, 15.0, 20.0])


def test_a_network_too_small_leaves_nothing() -> None:
    assert throttle.upper_bound(hosted((0,)), np.array([30.0]), network=20.0).tolist() == [0.0, 20.0, 20.0]


@pytest.mark.parametrize(
    ("rate", "limit", "samples", "expected"),
    [
        (0.9, 1.0, 11, True),
        (0.89, 1.0, 11, False),
        (5.0, np.inf, 11, False),
        (np.nan, 1.0, 11, False),
        (np.nan, 0.0, 11, True),
        (0.5, 1.0, 3, True),
        (0.49, 1.0, 1, False),
        (0.9, 1.0, 100, True),
    ],
)
def test_binds(rate: float, limit: float, samples: int, expected: bool) -> None:
    """From nine tenths of the limit on, with three samples from half of it; 0 at any rate; without a limit never."""
    assert throttle.binds(np.array([limit]), np.array([rate]), np.array([samples])).tolist() == [expected]
