"""Throttled lists, floors, headroom and KIP-73's bounds. Rates in MB/s, as the documents' examples have them."""

import math

import numpy as np
import pytest

from kafka_warden.derive import throttle
from kafka_warden.derive.throttle import Replicas
from kafka_warden.derive.throttle_lists import ThrottledReplicas, listed_rows, parse_throttled

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


def table(*rows: tuple[int, int, str]) -> Replicas:
    """Replicas from (partition, broker, marks): L leader, I in the ISR, l and f listed on that side."""
    partition, broker, marks = zip(*rows, strict=True)
    flags = {mark: np.array([mark in each for each in marks]) for mark in "LIlf"}
    return Replicas(
        np.array(partition, dtype=np.int32),
        np.array(broker, dtype=np.int32),
        flags["L"],
        flags["I"],
        flags["l"],
        flags["f"],
    )


NEVER_EXAMPLE = table((0, 0, "LIl"), (0, 1, "I"), (0, 2, "I"), (0, 3, "f"))
"""docs/spec/throttle-law.md#never: two in-sync followers of a listed partition at 1 MB/s leave 0.5 of limit 2.5."""

RUN_C1 = table((0, 0, "LIlf"), (0, 1, "Ilf"), (0, 2, "lf"))
"""Wildcard lists, RF 2 to 2: the in-sync follower's copy counts on both sides."""

RUN_D1 = table((0, 0, "LIl"), (0, 1, "Il"), (0, 2, "f"))
"""The tool's lists name sources and target: the same at the leader, nothing at the follower."""


@pytest.mark.parametrize(
    ("why", "replicas", "bytes_in", "leader", "follower"),
    [
        ("two in-sync followers count twice at the leader", NEVER_EXAMPLE, [1.0], [2, 0, 0, 0], [0, 0, 0, 0]),
        ("run c1", RUN_C1, [0.58], [0.58, 0, 0], [0, 0.58, 0]),
        ("run d1", RUN_D1, [0.58], [0.58, 0, 0], [0, 0, 0]),
        ("not listed counts nowhere", table((0, 0, "LI"), (0, 1, "I")), [5.0], [0, 0], [0, 0]),
        ("out of the ISR it is what is throttled", table((0, 0, "LIl"), (0, 1, "f")), [5.0], [0, 0], [0, 0]),
        ("an unknown rate withholds the floor", table((0, 0, "LIl"), (0, 1, "If")), [NAN], [NAN, 0], [0, NAN]),
        ("unless no follower is in sync", table((0, 0, "LIl"), (0, 1, "f")), [NAN], [0, 0], [0, 0]),
    ],
)
def test_floors(
    why: str, replicas: Replicas, bytes_in: list[float], leader: list[float], follower: list[float]
) -> None:
    found = throttle.floors_of_sides(replicas, np.array(bytes_in), len(leader))
    np.testing.assert_allclose(found, (leader, follower), err_msg=why)


@pytest.mark.parametrize(
    ("limit", "floor", "expected"), [(2.5, 2.0, 0.5), (0.5, 0.58, -0.08), (math.inf, 3.0, math.inf), (0.0, 0.0, 0.0)]
)
def test_headroom(limit: float, floor: float, expected: float) -> None:
    assert throttle.headroom(limit, floor) == pytest.approx(expected)


def test_bounds() -> None:
    """Broker 0 hosts 50 MB/s, 1 of them in a partition with one replica: a throttle of 10 is below KIP-73's bound."""
    replicas = table((0, 0, "LI"), (1, 0, "LI"), (1, 1, "I"))
    rates = np.array([1 * MB, 49 * MB])

    lower = throttle.lower_bound(replicas, rates, 3)
    upper = throttle.upper_bound(replicas, rates, 3, network=125 * MB)

    assert lower.values.tolist() == [50 * MB, 49 * MB, 0]
    assert upper.values.tolist() == [125 * MB - 1 * MB - 24.5 * MB, 125 * MB - 24.5 * MB, 125 * MB]
    assert lower.values[0] > 10 * MB


def test_bounds_are_withheld_when_a_rate_is_unknown() -> None:
    replicas = table((0, 0, "LI"), (1, 1, "LI"))
    rates = np.array([NAN, 5.0])
    np.testing.assert_equal(throttle.lower_bound(replicas, rates, 2).values, [NAN, 5.0])
    np.testing.assert_equal(throttle.upper_bound(replicas, rates, 2, network=20.0).values, [NAN, 15.0])


def test_a_network_too_small_leaves_nothing() -> None:
    assert throttle.upper_bound(table((0, 0, "LI")), np.array([30.0]), 1, network=20.0).values.tolist() == [0.0]


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
