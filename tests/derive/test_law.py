"""The proof of the law of a throttled move by the 33 runs in law_runs.py; fair shares of flows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import Floats
from kafka_warden.derive.law import (
    DEFAULT_WINDOW,
    Flow,
    Trend,
    Window,
    burst,
    ceiling,
    fair_shares,
    gross,
    may_lose,
    net,
    never_ends,
)
from tests.derive.law_runs import RUNS, Run

MB = 1e6


def gross_of(run: Run) -> float:
    return run.flows * gross(run.headroom * MB, run.burst * MB)


def test_the_table_has_all_33_runs() -> None:
    assert len({run.name for run in RUNS}) == 33


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run(run: Run) -> None:
    """Gross is within 13 % of what the disks saw, and 0 where nothing moved; net has its sign; and the ceiling held.

    Only f5, k2 and f6 are named "never": f1 and f3 lose by less than the error of the law.
    """
    headroom, size, bytes_in = (value * MB for value in (run.headroom, run.burst, run.bytes_in))
    noise = run.flows * size / 50  # of bursts, in a fit over 100 s

    assert gross_of(run) == pytest.approx(run.gross_seen * MB, rel=0.13, abs=0)
    assert math.copysign(1, net(gross_of(run), bytes_in)) == math.copysign(1, run.net_seen)
    assert never_ends(headroom, size, bytes_in / run.flows) is run.never_ends
    assert run.gross_seen * MB <= run.flows * ceiling(headroom, size) + noise


def test_errors_over_all_runs_are_those_of_the_measurement() -> None:
    """Mean absolute error 4.5 % of gross and 0.08 MB/s of net, largest 0.5 MB/s, up to the rounding of the table."""
    net_errors = [abs(net(gross_of(run), run.bytes_in * MB) / MB - run.net_seen) for run in RUNS]
    gross_errors = [abs(gross_of(run) / MB / run.gross_seen - 1) for run in RUNS if run.gross_seen]
    assert np.mean(gross_errors) < 0.055
    assert np.mean(net_errors) < 0.09
    assert max(net_errors) < 0.51


@pytest.mark.parametrize(
    ("partitions", "fetch", "response", "expected"),
    [
        (6, 1 << 20, 10 << 20, 6 << 20),
        (12, 1 << 20, 10 << 20, 10 << 20),
        (1, 1 << 20, 10 << 20, 1 << 20),
        (0, 1 << 20, 10 << 20, 0),
    ],
)
def test_burst(partitions: int, fetch: int, response: int, expected: int) -> None:
    """B is the fetch size of each lagging partition, capped by the whole response; none lags, none passes."""
    assert burst(partitions, fetch, response) == expected


def test_without_a_limit_the_law_knows_no_rate() -> None:
    assert gross(math.inf, 6 * MB) == math.inf
    assert never_ends(math.inf, 6 * MB, 1 * MB) is None
    assert never_ends(math.inf, 6 * MB, 1 * MB, Trend(-1.0, 36)) is True
    assert never_ends(math.inf, 6 * MB, 1 * MB, Trend(1.0, 36)) is False
    assert not may_lose(math.inf, 6 * MB, 1 * MB)


@pytest.mark.parametrize(
    ("why", "headroom", "bytes_in", "slope", "seconds", "expected"),
    [
        ("nothing known", None, None, None, 0, None),
        ("nothing left decides though inbound is unknown", 0.0, None, None, 0, True),
        ("inbound unknown: the slope decides", 1.0, None, -0.1, 36, True),
        ("a slope over less than 36 s is not believed", 1.0, None, -0.1, 35.9, None),
        ("f1 with a slope that does not rise", 0.5, 0.58, 0.0, 36, True),
        ("f1 with a slope that does rise", 0.5, 0.58, 0.01, 36, False),
        ("law's net 17 % below gross, yet under the ceiling", 0.5, 0.66, None, 0, True),
        ("k3 with a slope that does not rise", 0.2, 0.29, -0.01, 36, True),
        ("rule 2 is certain", 0.45, 1.5, 0.1, 36, True),
    ],
)
def test_rules_of_never(
    why: str, headroom: float | None, bytes_in: float | None, slope: float | None, seconds: float, expected: bool | None
) -> None:
    given_headroom = None if headroom is None else headroom * MB
    given_in = None if bytes_in is None else bytes_in * MB
    measured = None if slope is None else Trend(slope, seconds)
    assert never_ends(given_headroom, 6.3 * MB, given_in, measured) is expected, why


def test_a_flow_without_lagging_partitions_has_converged() -> None:
    assert gross(1 * MB, 0) == 0
    assert never_ends(1 * MB, 0, 0.5 * MB) is False


def test_throttle_is_not_blamed_where_the_law_sees_a_clear_gain() -> None:
    assert not may_lose(2 * MB, 6.3 * MB, 0.58 * MB)
    assert may_lose(0.5 * MB, 6.3 * MB, 0.58 * MB)
    assert may_lose(0.5 * MB, 6.3 * MB, 0.52 * MB), "a gain of 5 % is within the law's error"


@pytest.mark.parametrize(
    ("why", "headroom", "mean", "least", "expected"),
    [
        ("a clear gain", 2.0, 0.58, 0.58, False),
        ("a loss", 0.5, 0.66, 0.66, True),
        ("a loss in the mean only", 0.5, 0.66, 0.0, None),
        ("inbound unknown", 0.5, None, None, None),
        ("the limit is unknown", None, 0.66, 0.66, None),
        ("nothing left decides though inbound is unknown", 0.0, None, None, True),
    ],
)
def test_throttle_is_blamed_for_what_is_known_only(
    why: str, headroom: float | None, mean: float | None, least: float | None, expected: bool | None
) -> None:
    left, mean_in, least_in = (None if each is None else each * MB for each in (headroom, mean, least))
    flow = Flow(
        rows=np.arange(1),
        remaining=None,
        bytes_in=mean_in,
        least_in=least_in,
        settled=True,
        burst=6.3 * MB,
        response=6.3 * MB,
        headroom=left,
        window=DEFAULT_WINDOW,
    )
    assert flow.may_lose is expected, why


def test_nothing_left_is_nothing_copied() -> None:
    """A headroom of exactly 0 is that of a limit which in-sync traffic uses up: no burst passes."""
    assert gross(0.0, 6.3 * MB) == 0
    assert ceiling(0.0, 6.3 * MB) == 0
    assert never_ends(0.0, 6.3 * MB, 0.0) is True


def test_no_gain_is_within_the_error_of_the_law() -> None:
    assert gross(1.0, 11.5) == 1.0
    assert never_ends(1.0, 11.5, 1.0) is False


rates = st.floats(0, 1e10)
headrooms = st.floats(-1e10, 1e10)
bursts = st.just(0.0) | st.floats(1, 1e9)
windows = st.builds(Window, st.integers(1, 100), st.floats(1, 60))


@given(headrooms, bursts, windows)
def test_gross_is_bounded(headroom: float, size: float, window: Window) -> None:
    copied = gross(headroom, size, window)
    free = gross(math.inf, size, window)
    assert 0 <= copied <= max(ceiling(headroom, size, window), 0) * (1 + 1e-9)
    assert free == (math.inf if size else 0)


@given(headrooms, st.floats(0, 1e9), bursts, windows)
def test_more_limit_is_never_slower(headroom: float, more: float, size: float, window: Window) -> None:
    assert gross(headroom + more, size, window) >= gross(headroom, size, window)


@given(headrooms, bursts, rates, st.floats(0, 1e9))
def test_more_inbound_never_saves_a_flow(headroom: float, size: float, bytes_in: float, more: float) -> None:
    if never_ends(headroom, size, bytes_in):
        assert never_ends(headroom, size, bytes_in + more)


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
