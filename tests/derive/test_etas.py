"""ETAs: what remains by the law and by what was measured, and what holds of each of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_warden.derive import etas, law
from kafka_warden.derive.etas import Load, flow_eta, last_eta, replica_eta, side_eta, side_etas, side_pace
from kafka_warden.derive.law import Flow, FlowKey, Trend
from kafka_warden.model import UNLIMITED, Side
from tests.building import known

INF = math.inf
MB = 1e6


@pytest.mark.parametrize(
    ("why", "remaining", "seconds", "ahead", "gross", "expected"),
    [
        ("just after a burst", 100.0, 24.0, 4.0, 1.0, 104.0),
        ("just before one", 100.0, 24.0, -4.0, 1.0, 96.0),
        ("never more than half a window", 100.0, 24.0, 40.0, 1.0, 105.75),
        ("nor less", 100.0, 24.0, -40.0, 1.0, 94.25),
        ("nor than half of what remains", 4.0, 24.0, -4.0, 1.0, 2.0),
        ("nothing remains", 0.0, 24.0, 4.0, 1.0, 0.0),
        ("12 s make no line", 100.0, 12.0, 4.0, 1.0, 100.0),
        ("without a limit there are no bursts", 100.0, 24.0, 4.0, INF, 100.0),
        ("the limit is unknown", 100.0, 24.0, 4.0, None, 100.0),
    ],
)
def test_remaining_by_line(
    why: str, remaining: float, seconds: float, ahead: float, gross: float | None, expected: float
) -> None:
    """A window of 11.5 s at 1 byte per second."""
    line = Trend(0.0, seconds, ahead)
    assert etas.remaining_by_line(remaining, line, gross, law.DEFAULT_WINDOW) == expected, why


@pytest.mark.parametrize(
    ("law", "rate", "expected"), [(5.0, 4.9, True), (5.0, 4.4, True), (5.0, 2.5, False), (5.0, 9.0, False)]
)
def test_is_bound(law: float, rate: float, expected: bool) -> None:
    assert etas.is_bound(law, Trend(rate, 120.0), 0.0, 10.0) is expected


@pytest.mark.parametrize(
    ("why", "law", "measured", "copied", "expected"),
    [
        ("at first the law", 1.0, None, 0, 1.0),
        ("12 s are too short", 1.0, Trend(3.0, 12), 1000, 1.0),
        ("four bursts are too few", 1.0, Trend(3.0, 24), 39, 1.0),
        ("24 s and five bursts", 1.0, Trend(3.0, 24), 50, 3.0),
        ("beyond what errors explain the slope stands alone", 1.0, Trend(2.0, 240), 480, 2.0),
        ("a measured loss is believed too", 1.0, Trend(-3.0, 36), 50, -3.0),
        ("but not within 36 s", 1.0, Trend(-3.0, 35), 50, 1.0),
        ("nor is a standstill", 1.0, Trend(0.0, 35), 50, 1.0),
        ("where the law is a loss, any slope is", -1.0, Trend(-3.0, 12), 0, -3.0),
        ("and where it is no gain", 0.0, Trend(3.0, 12), 0, 3.0),
        ("without a throttle only what was measured", INF, Trend(3.0, 12), 0, 3.0),
        ("without a throttle and a slope nothing", INF, None, 0, None),
        ("no law: inbound unknown", None, Trend(3.0, 12), 0, 3.0),
    ],
)
def test_believed_net(
    why: str, law: float | None, measured: Trend | None, copied: float, expected: float | None
) -> None:
    """The law until the slope is as good as it: 24 s and five bursts of 10 bytes."""
    bytes_in = None if measured is None else copied / measured.seconds - measured.rate
    assert etas.believed_net(law, measured, bytes_in, burst=10) == expected, why


def test_law_and_slope_are_averaged_by_their_errors() -> None:
    spans = [24.0, 48.0, 120.0, 1200.0]
    nets = [known(etas.believed_net(2.0, Trend(2.2, span), None, burst=5)) for span in spans]
    assert nets == sorted(nets)
    assert all(2.0 < net < 2.2 for net in nets)
    # Errors at 24 s: 5 / 24 / sqrt(6) = 0.085 of the slope, 0.06 x 2.2 = 0.132 of the law.
    assert nets[0] == pytest.approx(2.0 + 0.2 * 0.132**2 / (0.132**2 + 0.085**2), abs=1e-3)
    assert nets[-1] == pytest.approx(2.2, abs=1e-3)


def test_a_rate_of_almost_nothing_is_believed() -> None:
    """The square of so small an error is 0."""
    assert etas.believed_net(1.9e-180, Trend(2e-180, 24.0), None, burst=0.0) == 2e-180


def test_of_flows_that_share_a_limit_no_slope_is_sure() -> None:
    net = etas.believed_net(2.0, Trend(2.2, 1200.0), None, burst=5, drift=etas.DRIFT)
    assert net == pytest.approx(2.1, abs=1e-3)


@pytest.mark.parametrize(
    ("why", "remaining", "rates", "expected"),
    [
        ("the slowest binds", {"a": 100, "b": 100}, {"a": 10, "b": 5}, ("b", 20)),
        ("whatever its name", {"a": 100, "b": 100}, {"a": 5, "b": 10}, ("a", 20)),
        ("not the one with most bytes", {"a": 1000, "b": 10}, {"a": 1000, "b": 1}, ("b", 10)),
        ("one that never ends binds", {"a": 100, "b": 1}, {"a": 10, "b": 0}, ("b", INF)),
        ("it does so even beside an unknown", {"a": 100, "b": 1}, {"a": None, "b": 0}, ("b", INF)),
        ("an unknown rate makes the whole unknown", {"a": 100, "b": 1}, {"a": None, "b": 1}, None),
        ("a finished one needs no rate", {"a": 0, "b": 10}, {"a": None, "b": 1}, ("b", 10)),
        ("nothing remains", {"a": 0}, {"a": 1}, None),
        ("nothing moves", {}, {}, None),
    ],
)
def test_bottleneck(
    why: str, remaining: dict[str, float], rates: dict[str, float | None], expected: tuple[str, float] | None
) -> None:
    assert etas.bottleneck(remaining, rates) == expected, why


AMOUNTS = st.floats(0, 1e13)
RATES = st.floats(0, 1e9)
LIMITED = st.floats(-1e9, 1e9) | st.just(0.0)
HEADROOM = st.none() | LIMITED | st.just(UNLIMITED)
LESS_AND_MORE = st.tuples(AMOUNTS, AMOUNTS).map(sorted)
LESS_AND_MORE_HEADROOM = st.tuples(LIMITED, LIMITED).map(sorted)
WINDOWS = st.builds(law.Window, st.integers(1, 60), st.floats(1, 60))
BURSTS = st.just(0.0) | st.floats(1, 1e9)


@st.composite
def trends(draw: st.DrawFn, window: law.Window) -> Trend:
    """What a flow gained, or lost, over some settling times."""
    seconds = window.settling * draw(st.integers(1, 10))
    return Trend(draw(st.floats(-1e9, 1e9)), seconds, draw(st.floats(-1e9, 1e9)))


def flow(window: law.Window, headroom: float | None, burst: float, bytes_in: float | None, rows: int = 1) -> Flow:
    return Flow(
        rows=np.arange(rows),
        remaining=None,
        bytes_in=bytes_in,
        least_in=bytes_in,
        settled=True,
        burst=burst,
        response=burst,
        headroom=headroom,
        window=window,
    )


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    window = draw(WINDOWS)
    return flow(window, draw(HEADROOM), draw(BURSTS), draw(st.none() | RATES), draw(st.integers(1, 50)))


@st.composite
def measured_flows(draw: st.DrawFn) -> tuple[Flow, Trend | None]:
    """Any flow, and what it was measured to gain, if anything is believed of it."""
    of = draw(flows())
    return of, draw(st.none() | trends(of.window))


@st.composite
def loads(draw: st.DrawFn) -> Load:
    """Any load of a broker and side; what has ended was measured over the same time as what goes on."""
    window = draw(WINDOWS)
    measured = draw(st.none() | trends(window))
    ended = draw(st.lists(trends(window), max_size=3)) if measured is not None else []
    bytes_in = draw(st.none() | RATES)
    return Load(
        remaining=draw(st.none() | AMOUNTS),
        bytes_in=bytes_in,
        least_in=bytes_in,
        burst=draw(BURSTS),
        headroom=draw(HEADROOM),
        window=window,
        flows=draw(st.integers(1, 5)),
        measured=measured,
        ended=tuple(replace(each, seconds=measured.seconds) for each in ended) if measured is not None else (),
    )


def is_eta(value: float | None) -> bool:
    return value is None or value >= 0


@given(measured_flows(), st.none() | AMOUNTS)
@example((flow(law.DEFAULT_WINDOW, 1 * MB, 1 * MB, 0.0), Trend(0.9 * MB, 24.0, -5 * MB)), 1 * MB)
@example((flow(law.DEFAULT_WINDOW, 1 * MB, 1 * MB, 0.0), None), 1 * MB)
def test_the_eta_of_a_flow_is_none_or_not_negative(
    measured_flow: tuple[Flow, Trend | None], remaining: float | None
) -> None:
    of, measured = measured_flow
    eta = flow_eta(replace(of, remaining=remaining), measured)
    assert is_eta(eta)
    if remaining is None:
        assert eta is None
    elif remaining == 0:
        assert eta in (None, 0)
    elif remaining >= 1:
        assert eta != 0
    if measured is None and remaining is not None:
        assert (eta is None) == (of.net in {None, math.inf})


@given(loads())
def test_the_eta_of_a_side_is_none_or_not_negative(load: Load) -> None:
    eta, pace = side_eta(load), side_pace(load)
    assert is_eta(eta)
    assert (pace is None) == (load.measured is None)
    if pace is not None:
        assert math.isfinite(pace.rate)
    if load.remaining is None:
        assert eta is None


@given(st.data(), flows(), AMOUNTS, st.none() | RATES, st.none() | AMOUNTS)
def test_the_eta_of_a_replica_is_not_after_that_of_its_flow(
    data: st.DataObject, of: Flow, remaining: float, bytes_in: float | None, together: float | None
) -> None:
    eta = replica_eta(of, remaining, data.draw(st.none() | trends(of.window)), bytes_in, together)
    assert is_eta(eta)
    if together is not None:
        assert eta is not None
        assert eta <= together


@given(measured_flows(), LESS_AND_MORE)
def test_more_that_remains_is_never_done_sooner(measured_flow: tuple[Flow, Trend | None], amounts: list[float]) -> None:
    of, measured = measured_flow
    sooner, later = (flow_eta(replace(of, remaining=remaining), measured) for remaining in amounts)
    assert (sooner is None) == (later is None)
    if sooner is not None and later is not None:
        assert sooner <= later


@given(loads(), LESS_AND_MORE_HEADROOM)
def test_more_headroom_never_makes_a_side_end_later(load: Load, headroom: list[float]) -> None:
    later, sooner = (side_eta(replace(load, measured=None, ended=(), headroom=each)) for each in headroom)
    if sooner is not None and later is not None:
        assert sooner <= later


KEYS = st.builds(FlowKey, st.integers(1, 4), st.integers(1, 4), st.booleans(), st.booleans())
A, B = FlowKey(3, 1, leader_listed=True, follower_listed=True), FlowKey(3, 2, leader_listed=True, follower_listed=True)


@pytest.mark.parametrize(
    ("why", "replicas", "of_flows", "sides", "expected"),
    [
        ("the last flow", [1.0], {A: 30.0, B: 20.0}, {}, 30.0),
        ("no flow ends after the side that holds it back", [1.0], {A: 30.0}, {A: 10.0}, 10.0),
        ("nor does one that never ends by itself", [1.0], {A: math.inf}, {A: 10.0}, 10.0),
        ("a side ends after its flow", [1.0], {A: 5.0}, {A: 10.0}, 10.0),
        ("a side of a flow that is unknown", [1.0], {A: None}, {A: 10.0}, 10.0),
        ("a replica is last", [40.0], {A: 30.0, B: 20.0}, {A: 10.0}, 40.0),
        ("nothing but replicas is known", [7.0, 8.0], {A: None}, {}, 8.0),
        ("one flow is bound, the other is last", [1.0], {A: 30.0, B: 20.0}, {A: 10.0}, 20.0),
        ("a flow that never ends", [1.0], {A: math.inf}, {}, None),
    ],
)
def test_all_is_done_with_the_last(
    why: str,
    replicas: list[float],
    of_flows: dict[FlowKey, float | None],
    sides: dict[FlowKey, float],
    expected: float | None,
) -> None:
    assert last_eta(replicas, of_flows, sides) == expected, why


@given(st.dictionaries(st.tuples(st.integers(1, 4), st.sampled_from([Side.LEADER, Side.FOLLOWER])), loads()), st.data())
def test_a_flow_is_bound_by_the_side_that_leaves_it_less(
    sides: dict[tuple[int, Side], Load], data: st.DataObject
) -> None:
    keys = data.draw(st.sets(KEYS, max_size=6))
    bounds = side_etas(sides, keys)
    assert bounds.keys() <= keys
    for key in keys:
        ends = [(key.broker(side), side) for side in (Side.FOLLOWER, Side.LEADER) if key.listed(side)]
        limited = [sides[end] for end in ends if end in sides and sides[end].limited]
        tightest = min(limited, key=share_of_one_flow, default=None)
        assert bounds.get(key) == (None if tightest is None else side_eta(tightest))


def share_of_one_flow(load: Load) -> float:
    assert load.headroom is not None
    return load.headroom / (load.flows + len(load.ended))
