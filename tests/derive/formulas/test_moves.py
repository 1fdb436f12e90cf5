"""Moves: progress, slopes, ETA, MoveRatio, MoveTime and the recommended throttle."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import copy_rates, etas, move_totals, moves, throttle_use
from kafka_warden.derive.law import gross, net
from tests.building import known

INF = math.inf
MB = 1e6


@pytest.mark.parametrize(
    ("copied", "remaining", "expected"), [(0, 100, 0.0), (25, 75, 0.25), (100, 0, 1.0), (0, 0, 1.0)]
)
def test_progress(copied: float, remaining: float, expected: float) -> None:
    assert moves.progress(copied, remaining) == expected


@pytest.mark.parametrize(
    ("why", "remaining", "rate", "expected"),
    [
        ("81 MB at 1 MB/s", 81 * MB, 1 * MB, 81),
        ("nothing remains, however slow", 0, -1, 0),
        ("no gain", 1, 0, INF),
        ("inbound outruns it", 1, -5, INF),
    ],
)
def test_eta(why: str, remaining: float, rate: float, expected: float) -> None:
    """What remains over the net rate; never when that is not above 0."""
    assert etas.eta(remaining, rate) == expected, why


@pytest.mark.parametrize(
    ("why", "times", "values", "expected"),
    [
        ("no sample", [], [], None),
        ("one sample", [0], [100], None),
        ("10 s are noise", [0, 10], [100, 90], None),
        ("10 s are noise whenever they are", [100, 110], [100, 90], None),
        ("12 s of 20 s", [0, 10, 20], [100, 90, 80], (-1.0, 12)),
        ("24 s of 30 s", [0, 10, 20, 30], [100, 90, 80, 70], (-1.0, 24)),
        ("never more than 36 s", [0, 60, 96], [1000, 100, 64], (-1.0, 36)),
        ("the start of the span is interpolated", [0, 10, 20], [100, 100, 88], (-1.0, 12)),
        ("standing still", [0, 12], [100, 100], (0.0, 12)),
        ("the clock stands still", [5, 5, 5], [100, 90, 80], None),
        ("clocks are floats", [0, 11.9999999], [12, 0], (-1.0, 12)),
    ],
)
def test_slope(why: str, times: list[float], values: list[float], expected: tuple[float, float] | None) -> None:
    """The change per second over the longest multiple of 12 s that was watched."""
    seen = copy_rates.slope(times, values)
    assert (seen is None) == (expected is None), why
    if seen is not None and expected is not None:
        assert seen == pytest.approx(expected, rel=1e-6), why


@pytest.mark.parametrize(("oldest", "expected"), [(-1.0, 0), (0.0, 0), (9.0, 0), (10.0, 1), (99.0, 2)])
def test_first_kept(oldest: float, expected: int) -> None:
    assert copy_rates.first_kept([0.0, 10.0, 20.0], oldest) == expected


@pytest.mark.parametrize(
    ("why", "times", "values", "expected"),
    [
        ("no sample", [], [], None),
        ("10 s are noise", [0, 10], [100, 90], None),
        ("two samples make the slope", [0, 12], [100, 88], (-1.0, 12, 0.0)),
        ("a line is met", [0, 10, 20, 30], [100, 90, 80, 70], (-1.0, 24, 0.0)),
        ("the start is interpolated", [0, 10, 20], [100, 100, 88], None),
        ("standing still", [0, 12], [100, 100], (0.0, 12, 0.0)),
        ("one that is early is ahead", [0, 12, 24, 36], [0, 10, 20, 38], (1.0333, 36, 2.4)),
        ("the clock stands still", [5, 5, 5], [100, 90, 80], None),
    ],
)
def test_trend(why: str, times: list[float], values: list[float], expected: tuple[float, float, float] | None) -> None:
    """The line of least squares over the span of the slope, and how far the last value is off it."""
    seen, slope = copy_rates.trend(times, values), copy_rates.slope(times, values)
    assert (seen is None) == (slope is None), why
    if seen is not None and expected is not None:
        assert (seen.rate, seen.seconds, seen.ahead) == pytest.approx(expected, abs=1e-3), why


def bursts(times: list[float]) -> list[float]:
    """What was gained by then: 11.5 bytes every 11.5 s."""
    return [11.5 * (then // 11.5) for then in times]


@given(st.floats(0, 11.5), st.floats(3, 15), st.integers(1, 4))
def test_bursts_put_a_trend_off_by_one_and_a_half_of_them_at_most(first: float, step: float, grains: int) -> None:
    times = [first + step * poll for poll in range(int(120 / step))]
    seen = known(copy_rates.trend(times, bursts(times), longest=3 * grains))
    assert abs(seen.rate - 1) * seen.seconds <= 1.5 * 11.5
    assert abs(seen.ahead) <= 1.5 * 11.5


def test_a_trend_is_nearer_to_the_rate_of_bursts_than_a_slope() -> None:
    """By half in the mean, whenever the first poll is."""
    errors: dict[str, list[float]] = {"trend": [], "slope": []}
    for first in np.arange(0, 11.5, 0.1).tolist():
        times = [first + 5.0 * poll for poll in range(26)]
        errors["trend"].append(known(copy_rates.trend(times, bursts(times), longest=10)).rate - 1)
        errors["slope"].append(known(copy_rates.slope(times, bursts(times), longest=10))[0] - 1)
    assert np.std(errors["trend"]) < 0.5 * np.std(errors["slope"])


@pytest.mark.parametrize(
    ("why", "remaining", "ahead", "grain", "expected"),
    [
        ("just after a burst", 100.0, 4.0, 10.0, 104.0),
        ("just before one", 100.0, -4.0, 10.0, 96.0),
        ("never more than half a window", 100.0, 40.0, 10.0, 105.0),
        ("nor less", 100.0, -40.0, 10.0, 95.0),
        ("nor than half of what remains", 4.0, -4.0, 10.0, 2.0),
        ("nothing remains", 0.0, 4.0, 10.0, 0.0),
    ],
)
def test_remaining_by_line(why: str, remaining: float, ahead: float, grain: float, expected: float) -> None:
    assert etas.remaining_by_line(remaining, ahead, grain) == expected, why


@pytest.mark.parametrize(
    ("law", "rate", "expected"), [(5.0, 4.9, True), (5.0, 4.4, True), (5.0, 2.5, False), (5.0, 9.0, False)]
)
def test_is_bound(law: float, rate: float, expected: bool) -> None:
    assert etas.is_bound(law, (rate, 120.0), rate * 120, 10.0) is expected


@pytest.mark.parametrize(
    ("why", "law", "measured", "copied", "expected"),
    [
        ("at first the law", 1.0, None, 0, 1.0),
        ("12 s are too short", 1.0, (3.0, 12), 1000, 1.0),
        ("four bursts are too few", 1.0, (3.0, 24), 39, 1.0),
        ("24 s and five bursts", 1.0, (3.0, 24), 50, 3.0),
        ("beyond what errors explain the slope stands alone", 1.0, (2.0, 240), 480, 2.0),
        ("a measured loss is believed too", 1.0, (-3.0, 36), 50, -3.0),
        ("without a throttle only what was measured", INF, (3.0, 12), 0, 3.0),
        ("without a throttle and a slope nothing", INF, None, 0, None),
        ("no law: inbound unknown", None, (3.0, 12), 0, 3.0),
    ],
)
def test_believed_net(
    why: str, law: float | None, measured: tuple[float, float] | None, copied: float, expected: float | None
) -> None:
    """The law until the slope is as good as it: 24 s and five bursts of 10 bytes."""
    assert etas.believed_net(law, measured, copied, burst=10) == expected, why


def test_law_and_slope_are_averaged_by_their_errors() -> None:
    """The longer the slope, the more it counts; it never gets below one and above the other."""
    spans = [24.0, 48.0, 120.0, 1200.0]
    nets = [known(etas.believed_net(2.0, (2.2, span), 2.2 * span, burst=5)) for span in spans]
    assert nets == sorted(nets)
    assert all(2.0 < net < 2.2 for net in nets)
    # Errors at 24 s: 5 / 24 / sqrt(6) = 0.085 of the slope, 0.06 x 2.2 = 0.132 of the law.
    assert nets[0] == pytest.approx(2.0 + 0.2 * 0.132**2 / (0.132**2 + 0.085**2), abs=1e-3)
    assert nets[-1] == pytest.approx(2.2, abs=1e-3)


def test_a_rate_of_almost_nothing_is_believed() -> None:
    """The square of so small an error is 0."""
    assert etas.believed_net(1.9e-180, (2e-180, 24.0), copied=4.8e-179, burst=0.0) == 2e-180


def test_of_flows_that_share_a_limit_no_slope_is_sure() -> None:
    net = etas.believed_net(2.0, (2.2, 1200.0), 2.2 * 1200, burst=5, drift=etas.DRIFT)
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


def test_move_ratio() -> None:
    assert move_totals.move_ratio(10, 100) == 0.1
    assert move_totals.move_ratio(0, 0) == 0


@pytest.mark.parametrize(("busiest", "expected"), [(30 * MB, 5000), (50 * MB, INF), (60 * MB, INF)])
def test_move_time(busiest: float, expected: float) -> None:
    """Ratio 0.1, 100 GB on each of 10 brokers, 50 MB/s: 5,000 s beside 30 MB/s inbound, never beside 50."""
    assert move_totals.move_time(0.1, 100e9, 10, 50 * MB, busiest) == pytest.approx(expected)


def test_a_move_outside_the_bound_ends() -> None:
    """IN 50 MB/s, one partition of 1 MB/s moves at limit 10: outside KIP-73's bound, and it ends all the same."""
    gained = net(gross(10 * MB, 1 * MB), 1 * MB)
    assert move_totals.move_time(0.1, 1e9, 1, 10 * MB, 50 * MB) == INF
    assert etas.eta(1000 * MB, gained) < 150


@pytest.mark.parametrize(
    ("why", "sizes", "bytes_in", "brokers", "expected"),
    [
        ("broker 1 leads two: half of 4000 bytes at 10 less 7", [1000, 3000], [1.0, 4.0, 3.0], 2, 2000 / 3),
        ("a size is unknown", [1000, -1], [1.0, 4.0, 3.0], 2, None),
        ("a rate is unknown", [1000, 3000], [1.0, math.nan, 3.0], 2, None),
        ("no broker", [], [0.0, 0.0, 0.0], 0, None),
    ],
)
def test_move_time_of_cluster(
    why: str, sizes: list[int], bytes_in: list[float], brokers: int, expected: float | None
) -> None:
    led_by, found = np.array([0, 1, 1]), np.array(bytes_in)
    seen = move_totals.move_time_of_cluster(0.5, 10.0, np.array(sizes, np.int64), led_by, found, brokers)
    assert seen == (expected if expected is None else pytest.approx(expected)), why


def test_needed_limit() -> None:
    """Floor 2, inbound 1 and 3,600 MB in an hour need 4 MB/s of use, which is a limit of 5."""
    assert throttle_use.needed_limit(2 * MB, 1 * MB, 3600 * MB, 3600) == pytest.approx(5 * MB)


@pytest.mark.parametrize(
    ("why", "needed", "lower", "upper", "expected"),
    [
        ("the side that binds", [5, 3], [1], [100], 5),
        ("KIP-73's lower bound lifts it", [5], [7, 2], [100], 7),
        ("none fits below the upper bound", [5], [7], [6], None),
        ("equality fits", [5], [5], [5], 5),
        ("no network configured", [5], [], [], 5),
        ("nothing moves", [], [7], [100], None),
    ],
)
def test_recommended_limit(
    why: str, needed: list[float], lower: list[float], upper: list[float], expected: float | None
) -> None:
    """The lowest throttle that ends the moves in time, inside the bounds; none when none fits."""
    assert throttle_use.recommended_limit(needed, lower, upper) == expected, why


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e15, 1e15)), max_size=20), st.floats(-1e6, 1e6))
def test_slopes_are_finite(samples: list[tuple[float, float]], shift: float) -> None:
    """Any ascending series gives a finite slope over a multiple of 12 s, or none; when it began does not matter."""
    samples.sort()
    times, values = [at for at, _ in samples], [value for _, value in samples]
    seen = copy_rates.slope(times, values)

    if seen is not None:
        assert math.isfinite(seen[0])
        assert seen[1] in {12, 24, 36}
        shifted = copy_rates.slope([at + shift for at in times], values)
        assert shifted is None or shifted[1] in {12, 24, 36}
    line = copy_rates.trend(times, values)
    assert (line is None) == (seen is None)
    assert line is None or np.isfinite([line.rate, line.ahead]).all()


@pytest.mark.parametrize(
    ("why", "floor", "bytes_in", "remaining", "limit", "expected"),
    [
        ("2 of 5 MB/s are floor, 1 is not used, 1 is produced", 2 * MB, 1 * MB, 3600 * MB, 5 * MB, 3600),
        ("what is produced takes all of it", 2 * MB, 2 * MB, 1, 5 * MB, INF),
        ("nothing remains", 2 * MB, 9 * MB, 0, 5 * MB, 0),
        ("no limit", 2 * MB, 1 * MB, 3600 * MB, INF, 0),
    ],
)
def test_least_deadline(
    why: str, floor: float, bytes_in: float, remaining: float, limit: float, expected: float
) -> None:
    assert throttle_use.least_deadline(floor, bytes_in, remaining, limit) == pytest.approx(expected), why


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(1, 1e15), st.floats(1, 1e6))
def test_least_deadline_undoes_needed_limit(floor: float, bytes_in: float, remaining: float, deadline: float) -> None:
    limit = throttle_use.needed_limit(floor, bytes_in, remaining, deadline)
    if remaining / deadline > 1e-3 * (floor + bytes_in):
        assert throttle_use.least_deadline(floor, bytes_in, remaining, limit) == pytest.approx(deadline, rel=1e-6)
