"""Days to a limit: what is exact, and every edge. How far the intervals can be believed: test_forecast_coverage."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_warden.arrays import Floats, Longs
from kafka_warden.pipeline.forecast_model import (
    LEAST_DAYS,
    LONGEST,
    POWERS,
    WEIGHTS,
    Drawn,
    Forecast,
    Outcome,
    Scale,
    crossing,
    forecast,
    scales,
    shares,
    simulate,
    straight_line,
)
from kafka_warden.pipeline.forecast_trend import GRID, NONE, Kind, Shocks, find, fit, has_cycle, studentized
from tests.building import known

DAYS = np.arange(42)
FEW = DAYS[: LEAST_DAYS - 1]
GAPS = np.delete(DAYS, [3, *range(12, 26), 30])
LINE: Floats = 100.0 + 2.0 * DAYS.astype(np.float64)
LONG: Floats = np.arange(60).astype(np.float64)
NEVER = (None, None, None)
PATHS = 2000


def noise(seed: int = 0, deviation: float = 1.0, count: int = 42) -> Floats:
    return np.random.default_rng(seed).normal(0, deviation, count)


NOISY = 100.0 + 2 * DAYS + noise()
RESTED = np.where(DAYS > 38, 50.0, 100.0)


def said(values: Floats, limit: float | None, kind: Kind = Kind.STOCK, days: Longs = DAYS, **more: float) -> Forecast:
    return forecast(days, values, limit, kind, **more)  # type: ignore[arg-type]  # whole numbers and shares alike


def days_of(found: Forecast) -> tuple[int | None, int | None, int | None]:
    """Both ends and the median."""
    return found.day_low, found.day, found.day_high


def width(found: Forecast) -> int:
    return known(found.day_high) - known(found.day_low)


@pytest.mark.parametrize("kind", Kind)
def test_a_line_without_noise_is_followed(kind: Kind) -> None:
    found = said(LINE, 200.0, kind)
    assert found.outcome is Outcome.WITHIN
    assert 49 <= known(found.day_low) <= 50 <= known(found.day_high) <= 51
    assert (found.baseline_day, found.now, found.history_days) == (50, 182.0, 42)
    assert found.growth_per_day == pytest.approx(2, rel=0.01)


def test_more_noise_and_a_higher_level_are_a_wider_interval_around_the_same_day() -> None:
    """The line is on day 62, and an interval that is as wide without as with noise would be a lie."""
    quiet, loud = (100.0 + 2 * DAYS + noise(deviation=d) for d in (0.5, 5.0))
    for found in (said(quiet, 224.0), said(loud, 224.0)):
        assert known(found.day_low) <= 62 <= known(found.day_high)
    assert width(said(loud, 224.0)) > 2 * width(said(quiet, 224.0))
    assert width(said(loud, 224.0, level=0.5)) < width(said(loud, 224.0))


CASES: Mapping[str, tuple[tuple[Floats, float | None, Kind, Longs], tuple[Any, ...]]] = {
    "no growth": ((100.0 + noise(), 200.0, Kind.STOCK, DAYS), (Outcome.BEYOND, NEVER)),
    "decline": ((100.0 - DAYS + noise(), 150.0, Kind.STOCK, DAYS), (Outcome.BEYOND, NEVER, None)),
    "at the limit": ((LINE, 182.0, Kind.STOCK, DAYS), (Outcome.REACHED, (41, 41, 41), 41)),
    "a flow that rests": ((RESTED, 100.0, Kind.FLOW, DAYS), (Outcome.REACHED, (38, 38, 38))),
    "a stock that fell": ((RESTED, 100.0, Kind.STOCK, DAYS), (Outcome.BEYOND,)),
    "no limit": ((LINE, math.inf, Kind.STOCK, DAYS), (Outcome.UNLIMITED, NEVER, None, 42)),
    "an unknown limit": ((LINE, None, Kind.STOCK, DAYS), (Outcome.NO_LIMIT_KNOWN, NEVER, None, 42)),
    "few days": ((LINE[FEW], 200.0, Kind.STOCK, FEW), (Outcome.TOO_SHORT, NEVER, None, LEAST_DAYS - 1, 124.0)),
    "few days, above": ((LINE[FEW], 110.0, Kind.STOCK, FEW), (Outcome.REACHED, (12, 12, 12))),
    "no days": ((LINE[:0], 10.0, Kind.STOCK, DAYS[:0]), (Outcome.TOO_SHORT, NEVER, None, 0, None)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_known_of_a_day(case: str) -> None:
    given, expected = CASES[case]
    found = said(*given)
    row = (found.outcome, days_of(found), found.baseline_day, found.history_days, found.now)
    assert row[: len(expected)] == expected
    is_short = found.history_days < LEAST_DAYS
    assert (found.band is None, found.growth_per_day is None) == (is_short, is_short)


def test_growth_has_the_sign_of_the_trend_and_needs_no_limit() -> None:
    assert known(said(100.0 - DAYS + noise(), 150.0).growth_per_day) < 0
    assert said(LINE, None).growth_per_day == pytest.approx(2, rel=0.01)
    assert said(np.full(42, 100.0), 200.0).baseline_day is None


def test_an_interval_may_end_after_the_horizon() -> None:
    found = said(100.0 + DAYS + noise(deviation=8), 100.0 + 41 + 80)
    assert found.day_low is not None
    assert found.day_high is None


@pytest.mark.parametrize(
    ("days", "limit", "expected"), [(DAYS[:14], 160.0, 30), (GAPS, 224.0, 62)], ids=("fourteen days", "gaps")
)
def test_few_days_are_enough(days: Longs, limit: float, expected: int) -> None:
    found = said(NOISY[days], limit, days=days)
    assert (found.outcome, found.history_days) == (Outcome.WITHIN, len(days))
    assert abs(known(found.day) - expected) <= 3


def test_old_days_are_forgotten() -> None:
    days = np.arange(300)
    found = said(np.where(days < 200, 10.0 * days, 2000.0 + (days - 200)), 2200.0, days=days)
    assert (found.history_days, found.baseline_day, found.outcome) == (LONGEST, 400, Outcome.BEYOND)


@pytest.mark.parametrize(
    ("more", "kind", "expected"),
    [
        (-300.0 * (DAYS >= 25), Kind.STOCK, (25, True)),
        *((400.0 * (day == DAYS), Kind.FLOW, (day, False)) for day in (20, 40, 41)),
    ],
    ids=("step", "spike", "spike on the last day but one", "spike on the last day"),
)
def test_steps_and_spikes_are_no_slope(more: Floats, kind: Kind, expected: tuple[int, bool]) -> None:
    values = 1000.0 + 10 * DAYS + noise(deviation=2) + more
    shocks = find(DAYS, values, kind, 1.0)
    assert list(zip(shocks.at.tolist(), shocks.stays.tolist(), strict=True)) == [expected]
    trends = fit(DAYS, values, shocks.columns(len(DAYS)), kind, 1.0)
    assert float(trends.weights @ trends.means[:, 1]) == pytest.approx(10, abs=0.7)
    assert not expected[1] or straight_line(DAYS, values)[1] < 5


def test_ordinary_noise_has_no_shocks() -> None:
    found = [len(find(DAYS, 50.0 + DAYS + noise(seed), Kind.STOCK, 0.01).at) for seed in range(40)]
    assert sum(found) <= 2


def test_a_cycle_of_the_week_reaches_a_limit_before_the_trend_does() -> None:
    values = (100.0 + DAYS) * np.where(DAYS % 7 == 0, 1.15, 1.0) + noise(deviation=0.3)
    found = said(values, 175.0, Kind.FLOW)
    assert days_of(found) == (56, 56, 56)
    assert known(found.baseline_day) > 65


def test_the_same_seed_gives_the_same() -> None:
    values = 100.0 + 2 * DAYS + noise(deviation=3)
    first, again, other = (said(values, 224.0, seed=seed) for seed in (1, 1, 2))
    assert days_of(first) == days_of(again)
    for one, two in zip(days_of(first), days_of(other), strict=True):
        assert abs(known(one) - known(two)) <= 2


def test_the_band_follows_the_days() -> None:
    low, median, high = known(said(NOISY, 224.0, horizon=30).band).T
    assert ((low < median) & (median < high)).all()
    assert median == pytest.approx(100 + 2 * np.arange(42, 72), rel=0.05)
    assert high[-1] - low[-1] > high[0] - low[0]


def test_large_numbers_are_as_good_as_small_ones() -> None:
    assert days_of(said(NOISY, 224.0)) == days_of(said(1e13 * NOISY, 1e13 * 224.0))


VALUES = st.one_of(st.sampled_from([0.0, 1.0, 1e15]), st.floats(0, 1e15), st.integers(0, 20).map(float))


@given(
    history=st.dictionaries(st.integers(0, 120), VALUES, max_size=70),
    limit=st.one_of(st.none(), st.just(math.inf), st.floats(1, 1e16)),
    kind=st.sampled_from(list(Kind)),
)
@settings(max_examples=100, deadline=None)
def test_any_history_has_an_answer(history: Mapping[int, float], limit: float | None, kind: Kind) -> None:
    days = np.array(sorted(history), np.int64)
    found = forecast(days, np.array([history[day] for day in days.tolist()]), limit, kind, horizon=20)

    low, day, high = (math.inf if each is None else each for each in days_of(found))
    assert low <= day <= high
    assert (found.day is not None) is (found.outcome in {Outcome.REACHED, Outcome.WITHIN})
    if found.band is not None:
        assert np.isfinite(found.band).all()
        assert math.isfinite(known(found.growth_per_day))


@pytest.mark.parametrize(
    ("level", "slope", "limit", "day"),
    [
        (0.0, 1.0, 10.0, 10),
        (0.0, 1.0, 7.0, 7),
        (0.0, 3.0, 10.0, 6),
        (0.0, 0.0, 10.0, None),
        (0.0, -1.0, 10.0, None),
        (20.0, 0.0, 10.0, 6),
    ],
)
def test_where_a_line_crosses(level: float, slope: float, limit: float, day: int | None) -> None:
    assert crossing(level, slope, limit, 5) == day


@pytest.mark.parametrize(
    ("days", "expected"), [(np.arange(21), True), (np.arange(30, 50), False), (np.arange(22) // 7 * 7, False)]
)
def test_a_cycle_needs_three_weeks_and_each_day_of_the_week(days: Longs, expected: bool) -> None:
    """From the first day to the last; single days may be missing."""
    assert has_cycle(days) is expected


def test_distances_are_externally_studentized_residuals() -> None:
    days, values = DAYS[:14], 100.0 + 2 * DAYS[:14] + noise(1, count=14)
    line = np.column_stack([np.ones(14), days])
    hat = line @ np.linalg.pinv(line)
    off, leverage = values - hat @ values, np.diag(hat)
    found = studentized(days, values, np.zeros((14, 0)), np.eye(14), 0, 0.0)
    assert found == pytest.approx(np.abs(off) * np.sqrt(11 / (off @ off * (1 - leverage) - off**2)))


def test_noise_fades_from_its_last_day_and_keeps_its_size() -> None:
    point = int(np.flatnonzero((GRID == (0.9, 0.0, 0.0)).all(axis=1))[0])
    drawn = Drawn(np.full(PATHS, point), np.tile([100.0, 0.0, 3.0], (PATHS, 1)), np.full(PATHS, 2.0))
    paths = simulate(DAYS[:14], NONE, drawn, 60, np.random.default_rng(1))
    assert paths[:, 0].tolist() == [103.0] * PATHS
    assert paths[:, 1].mean() == pytest.approx(102.7, abs=0.1)
    assert (paths[:, -1].mean(), paths[:, -1].std()) == pytest.approx((100.0, 2.0), abs=0.15)


def test_steps_and_spikes_come_as_often_as_before() -> None:
    shocks = Shocks(np.array([5, 9]), np.array([True, False]))
    drawn = Drawn(np.zeros(PATHS, np.int64), np.tile([100.0, 0.0, 0.0, 1.0, 1000.0], (PATHS, 1)), np.zeros(PATHS))
    paths = simulate(DAYS[:14], shocks, drawn, 60, np.random.default_rng(1))
    assert (paths > 1000).mean() == pytest.approx(1.5 / 14, rel=0.1)
    assert (paths % 1000)[:, -1].mean() == pytest.approx(100 + 60 * 1.5 / 14, rel=0.02)


@pytest.mark.parametrize(
    ("power", "value", "expected"),
    # y ** p / (p * mean ** (p - 1)), mean 4.
    [(1.0, 9.0, 9.0), (0.5, 9.0, 3 / 0.5 * 2), (0.5, 4.0, 8.0), (0.25, 16.0, 2 / 0.25 * 4**0.75)],
)
def test_values_on_a_scale(power: float, value: float, expected: float) -> None:
    scale = Scale(power, 4.0, 1e9)
    scaled = scale.of(np.array([value]))
    assert scaled == pytest.approx([expected])
    assert scale.back(scaled) == pytest.approx([value])
    assert scale.stretch(float(scaled[0])) == pytest.approx((value / 4) ** (1 - power))


def test_scales_have_no_zeros_below_them_and_leave_the_floats_nowhere() -> None:
    for scale in scales(np.array([1.0, 2.0, 4.0]), 1e-5):
        assert scale.back(np.array([-1.0, 1e300])) == pytest.approx([0.0, 4e6], rel=1e-12, abs=0)
    assert [scale.power for scale in scales(np.array([0.0, 1.0]), 1e-5)] == [1.0]
    assert [scale.power for scale in scales(np.array([1.0, 2.0]), 1e-5)] == list(POWERS)


def jittered(values: Floats) -> Floats:
    found: Floats = values * np.exp(noise(1, 0.003, len(values)))
    return found


@pytest.mark.parametrize(
    ("values", "power"),
    [(100 + 4 * LONG, 1.0), ((10 + 0.3 * LONG) ** 2, 0.5), (100 * np.exp(0.04 * LONG), 0.02)],
)
def test_the_scale_on_which_growth_is_straight_is_the_likeliest(values: Floats, power: float) -> None:
    candidates = scales(jittered(values), 1e-3)
    on_scales = [scale.of(jittered(values)) for scale in candidates]
    fits = [fit(np.arange(60), each, NONE.columns(60), Kind.STOCK, 1e-3) for each in on_scales]
    likely = shares(candidates, fits, Kind.STOCK) / np.array(WEIGHTS[Kind.STOCK])
    assert POWERS[int(likely.argmax())] == power


@pytest.mark.parametrize("kind", Kind)
def test_shares_add_up_and_follow_the_weights_where_nothing_is_known(kind: Kind) -> None:
    values = jittered(100 + LONG)
    one = fit(np.arange(60), values, NONE.columns(60), kind, 1e-3)
    found = shares(scales(values, 1e-3), [one] * len(POWERS), kind)
    assert found == pytest.approx(np.array(WEIGHTS[kind]) / sum(WEIGHTS[kind]))


def test_growth_by_a_share_a_day_goes_on() -> None:
    found = said(jittered(100 * np.exp(0.03 * LONG)), 1000.0, days=np.arange(60))
    assert found.outcome is Outcome.WITHIN
    assert abs(known(found.day) - math.ceil(math.log(10) / 0.03)) <= 1
    assert known(found.day_high) < known(found.baseline_day)
    assert found.growth_per_day == pytest.approx(0.03 * 100 * math.exp(0.03 * 60), rel=0.05)
