"""Max-min fair shares of flows, with the measured runs whose shares are known. MB/s."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import Floats
from kafka_warden.derive.law import fair_shares

INF = math.inf
NAN = math.nan
Flows = list[tuple[int, int]]
Limits = dict[int, float]


def shares(flows: Flows, leader: Limits, follower: Limits) -> Floats:
    leaders, targets = ([flow[side] for flow in flows] for side in (0, 1))
    return fair_shares(np.array(leaders, dtype=np.int32), np.array(targets, dtype=np.int32), leader, follower)


@pytest.mark.parametrize(
    ("why", "flows", "leader", "follower", "expected"),
    [
        ("run g1: the smaller side rules", [(1, 2)], {1: 1.0}, {2: 4.0}, [1.0]),
        ("run g2: no matter which", [(2, 3)], {2: 4.0}, {3: 1.0}, [1.0]),
        ("run h1: one leader, two targets, half each", [(1, 2), (1, 3)], {1: 2.0}, {2: 2.0, 3: 2.0}, [1.0, 1.0]),
        ("run e2: two leaders, one target", [(1, 3), (2, 3)], {1: 1.21, 2: 1.21}, {3: 2.0}, [1.0, 1.0]),
        ("run f5: in-sync copies eat the limit", [(2, 3)], {2: -0.08}, {3: 0.5}, [-0.08]),
        ("run k2: the target's limit is eaten", [(3, 1)], {3: 0.2}, {1: -0.38}, [-0.38]),
        ("what one flow cannot use the other gets", [(1, 2), (1, 3)], {1: 10.0}, {2: 2.0, 3: INF}, [2.0, 8.0]),
        ("a blocked flow takes nothing of the limit", [(1, 2), (1, 3)], {1: 3.0}, {2: 0.0, 3: 9.0}, [0.0, 3.0]),
        ("no limit anywhere", [(1, 2)], {}, {}, [INF]),
        ("one of two sides set", [(1, 2)], {}, {2: 5.0}, [5.0]),
        ("three levels", [(1, 4), (1, 5), (2, 5), (3, 5)], {1: 1, 2: 9, 3: 9}, {4: 9, 5: 6.5}, [0.5, 0.5, 3, 3]),
        ("an unknown side might bind", [(1, 2)], {1: NAN}, {2: 5.0}, [NAN]),
        ("nothing left on the known side decides alone", [(1, 2)], {1: NAN}, {2: -1.0}, [-1.0]),
        ("no flow", [], {1: 1.0}, {}, []),
    ],
)
def test_shares(why: str, flows: Flows, leader: Limits, follower: Limits, expected: list[float]) -> None:
    np.testing.assert_allclose(shares(flows, leader, follower), expected, err_msg=why)


limits = st.dictionaries(st.integers(1, 5), st.floats(-1e9, 1e9), max_size=5)
flow_lists = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=12, unique=True)


@given(flow_lists, limits, limits)
def test_no_side_gives_more_than_it_has(flows: Flows, leader: Limits, follower: Limits) -> None:
    """The positive shares of a side's flows add up to at most its headroom, or to nothing if that is negative."""
    seen = shares(flows, leader, follower)

    assert not np.isnan(seen).any()
    for side, limit_of in enumerate((leader, follower)):
        for broker, limit in limit_of.items():
            used = sum(max(float(share), 0) for share, flow in zip(seen, flows, strict=True) if flow[side] == broker)
            assert used <= max(limit, 0) * (1 + 1e-6) + 1e-6


@given(flow_lists, limits, limits)
def test_a_flow_below_its_rivals_has_a_used_up_side(flows: Flows, leader: Limits, follower: Limits) -> None:
    """Max-min: every limited flow has a side that is used up and on which no other flow gets more than it."""
    seen = shares(flows, leader, follower)
    for (first, second), share in zip(flows, seen, strict=True):
        if not 0 < share < INF:
            continue
        rivals = [
            (limit, [float(s) for s, flow in zip(seen, flows, strict=True) if flow[side] == broker])
            for side, broker, limit in ((0, first, leader.get(first, INF)), (1, second, follower.get(second, INF)))
        ]
        assert any(
            sum(max(s, 0) for s in others) >= limit * (1 - 1e-6) - 1e-6 and share >= max(others) * (1 - 1e-6) - 1e-6
            for limit, others in rivals
        )


@given(flow_lists, limits, limits)
def test_order_does_not_matter(flows: Flows, leader: Limits, follower: Limits) -> None:
    np.testing.assert_allclose(
        shares(flows[::-1], leader, follower), shares(flows, leader, follower)[::-1], rtol=1e-6, atol=1e-6
    )
