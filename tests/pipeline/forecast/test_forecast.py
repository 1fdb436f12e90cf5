"""Days to a limit: what is exact, and every edge. How far the intervals can be believed: test_forecast_coverage."""

import math

import numpy as np
import pytest

from kafka_warden.arrays import Floats, Longs
from kafka_warden.pipeline.forecast_model import (
    LEAST_DAYS,
    LONGEST,
    Forecast,
    Outcome,
    crossing,
    forecast,
    straight_line,
)
from kafka_warden.pipeline.forecast_trend import Kind, find
from tests.building import known

DAYS = np.arange(42)
LINE: Floats = 100.0 + 2.0 * DAYS.astype(np.float64)


def noise(seed: int = 0, deviation: float = 1.0, count: int = 42) -> Floats:
    return np.random.default_rng(seed).normal(0, deviation, count)


def said(values: Floats, limit: float | None, kind: Kind = Kind.STOCK, days: Longs = DAYS, **more: float) -> Forecast:
    return forecast(days, values, limit, kind, **more)  # type: ignore[arg-type]  # whole numbers and shares alike


def days_of(found: Forecast) -> tuple[int | None, int | None, int | None]:
    """Both ends and the median."""
    return found.day_low, found.day, found.day_high


@pytest.mark.parametrize("kind", Kind)
def test_a_line_without_noise_is_followed(kind: Kind) -> None:
    found = said(LINE, 200.0, kind)
    assert found.outcome is Outcome.WITHIN
    assert 49 <= known(found.day_low) <= 50 <= known(found.day_high) <= 51
    assert (found.baseline_day, found.now, found.history_days) == (50, 182.0, 42)
    assert found.growth_per_day == pytest.approx(2, rel=0.01)


def test_more_noise_is_a_wider_interval_around_the_same_day() -> None:
    """The line is on day 62, and an interval that is as wide without as with noise would be a lie."""
    quiet, loud = (said(100.0 + 2 * DAYS + noise(deviation=d), 224.0) for d in (0.5, 5.0))
    for found in (quiet, loud):
        assert known(found.day_low) <= 62 <= known(found.day_high)
    assert _width(loud) > 2 * _width(quiet)


def test_a_higher_level_is_a_wider_interval() -> None:
    values = 100.0 + 2 * DAYS + noise(deviation=3)
    assert _width(said(values, 224.0, level=0.5)) < _width(said(values, 224.0, level=0.9))


def test_without_growth_no_day_is_named() -> None:
    found = said(100.0 + noise(), 200.0)
    assert (found.outcome, days_of(found)) == (Outcome.BEYOND, (None, None, None))
    assert said(np.full(42, 100.0), 200.0).baseline_day is None


def test_decline_never_reaches_anything() -> None:
    found = said(100.0 - DAYS + noise(), 150.0)
    assert (found.outcome, found.day, found.day_high, found.baseline_day) == (Outcome.BEYOND, None, None, None)
    assert known(found.growth_per_day) < 0


def test_an_interval_may_end_after_the_horizon() -> None:
    found = said(100.0 + DAYS + noise(deviation=8), 100.0 + 41 + 80)
    assert found.day_low is not None
    assert found.day_high is None


def test_what_is_past_is_past() -> None:
    assert days_of(said(LINE, 182.0)) == (41, 41, 41)
    assert said(LINE, 182.0).outcome is Outcome.REACHED
    rested = np.where(DAYS > 38, 50.0, 100.0)
    assert (said(rested, 100.0, Kind.FLOW).outcome, said(rested, 100.0, Kind.FLOW).day) == (Outcome.REACHED, 38)
    assert said(rested, 100.0, Kind.STOCK).outcome is not Outcome.REACHED


def test_too_little_history_says_nothing() -> None:
    few = DAYS[: LEAST_DAYS - 1]
    found = said(LINE[: len(few)], 200.0, days=few)

    assert (found.outcome, found.history_days, found.now) == (Outcome.TOO_SHORT, LEAST_DAYS - 1, 124.0)
    assert (*days_of(found), found.baseline_day, found.growth_per_day, found.band) == (None,) * 6
    over = said(LINE[: len(few)], 110.0, days=few)
    assert (over.outcome, days_of(over)) == (Outcome.REACHED, (12, 12, 12))
    nothing = said(np.zeros(0), 10.0, days=DAYS[:0])
    assert (nothing.outcome, nothing.history_days, nothing.now) == (Outcome.TOO_SHORT, 0, None)


def test_fourteen_days_are_enough() -> None:
    found = said(100.0 + 2 * DAYS[:14] + noise(count=14), 160.0, days=DAYS[:14])
    assert found.outcome is Outcome.WITHIN
    assert abs(known(found.day) - 30) <= 3


@pytest.mark.parametrize(("limit", "outcome"), [(math.inf, Outcome.UNLIMITED), (None, Outcome.NO_LIMIT_KNOWN)])
def test_without_a_limit_there_is_growth_and_no_day(limit: float | None, outcome: Outcome) -> None:
    found = said(LINE, limit)
    assert (found.outcome, days_of(found), found.baseline_day) == (outcome, (None, None, None), None)
    assert found.growth_per_day == pytest.approx(2, rel=0.01)
    assert found.band is not None


def test_gaps_take_nothing_but_certainty() -> None:
    kept = np.delete(DAYS, [3, *range(12, 26), 30])
    found = said((100.0 + 2 * DAYS + noise())[kept], 224.0, days=kept)
    assert found.history_days == 26
    assert abs(known(found.day) - 62) <= 3


def test_old_days_are_forgotten() -> None:
    days = np.arange(300)
    values = np.where(days < 200, 10.0 * days, 2000.0 + (days - 200))
    found = said(values, 2200.0, days=days)

    assert found.history_days == LONGEST
    assert found.baseline_day == 400
    assert found.outcome is Outcome.BEYOND


def test_a_topic_that_was_deleted_is_a_step_and_no_slope() -> None:
    values = 1000.0 + 10 * DAYS + noise(deviation=2) - 300.0 * (DAYS >= 25)
    shocks, trends = find(DAYS, values, Kind.STOCK, 1.0)
    assert list(zip(shocks.at.tolist(), shocks.stays.tolist(), strict=True)) == [(25, True)]
    slope = float(trends.weights @ trends.means[:, 1])
    assert slope == pytest.approx(10, abs=0.7)
    assert straight_line(DAYS, values)[1] < 5


@pytest.mark.parametrize("day", [20, 40, 41])
def test_a_burst_of_one_day_is_a_spike(day: int) -> None:
    values = 1000.0 + 10 * DAYS + noise(deviation=2) + 400.0 * (day == DAYS)
    shocks, _ = find(DAYS, values, Kind.FLOW, 1.0)
    assert list(zip(shocks.at.tolist(), shocks.stays.tolist(), strict=True)) == [(day, False)]


def test_ordinary_noise_has_no_shocks() -> None:
    found = [len(find(DAYS, 50.0 + DAYS + noise(seed), Kind.STOCK, 0.01)[0].at) for seed in range(40)]
    assert sum(found) <= 2


def test_a_cycle_of_the_week_reaches_a_limit_before_the_trend_does() -> None:
    values = (100.0 + DAYS) * np.where(DAYS % 7 == 0, 1.15, 1.0) + noise(deviation=0.3)
    found = said(values, 175.0, Kind.FLOW)
    assert days_of(found) == (56, 56, 56)
    assert found.baseline_day is not None
    assert found.baseline_day > 65


def test_the_same_seed_gives_the_same() -> None:
    values = 100.0 + 2 * DAYS + noise(deviation=3)
    first, again, other = (said(values, 224.0, seed=seed) for seed in (1, 1, 2))
    assert days_of(first) == days_of(again)
    for one, two in zip(days_of(first), days_of(other), strict=True):
        assert abs(known(one) - known(two)) <= 2


def test_the_band_follows_the_days() -> None:
    found = said(100.0 + 2 * DAYS + noise(), 224.0, horizon=30)
    band = known(found.band)

    assert band.days.tolist() == list(range(42, 72))
    assert (band.low < band.median).all()
    assert (band.median < band.high).all()
    assert band.median == pytest.approx(100 + 2 * band.days, rel=0.05)
    assert band.high[-1] - band.low[-1] > band.high[0] - band.low[0]


def test_large_numbers_are_as_good_as_small_ones() -> None:
    small, large = (said(scale * (100.0 + 2 * DAYS + noise()), scale * 224.0) for scale in (1.0, 1e13))
    assert days_of(small) == days_of(large)


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


def _width(found: Forecast) -> int:
    return known(found.day_high) - known(found.day_low)
