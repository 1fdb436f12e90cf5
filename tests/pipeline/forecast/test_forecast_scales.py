"""Scales of growth: exact values, and which one a history speaks for."""

import math

import numpy as np
import pytest

from kafka_warden.arrays import Floats
from kafka_warden.pipeline.forecast_model import POWERS, WEIGHTS, Outcome, Scale, forecast, scales, shares
from kafka_warden.pipeline.forecast_trend import NONE, Kind, fit
from tests.building import known

DAYS = np.arange(60)
AGE: Floats = DAYS.astype(np.float64)


def series(values: Floats, deviation: float = 0.003) -> Floats:
    found: Floats = values * np.exp(np.random.default_rng(1).normal(0, deviation, len(values)))
    return found


@pytest.mark.parametrize(
    ("power", "value", "expected"),
    [
        # y ** p / (p * mean ** (p - 1)), mean 4.
        (1.0, 9.0, 9.0),
        (0.5, 9.0, 3 / 0.5 * 2),
        (0.5, 4.0, 8.0),
        (0.25, 16.0, 2 / 0.25 * 4**0.75),
    ],
)
def test_values_on_a_scale(power: float, value: float, expected: float) -> None:
    scale = Scale(power, 4.0, 1e9)
    scaled = scale.of(np.array([value]))
    assert scaled == pytest.approx([expected])
    assert scale.back(scaled) == pytest.approx([value])
    assert scale.stretch(float(scale.of(np.array([4.0]))[0])) == pytest.approx(1)
    assert scale.stretch(float(scaled[0])) == pytest.approx((value / 4) ** (1 - power))


def test_nothing_falls_below_zero_or_leaves_the_floats() -> None:
    for scale in scales(np.array([1.0, 2.0, 4.0]), 1e-5):
        low, high = scale.back(np.array([-1.0, 1e300]))
        assert low == 0
        assert high == pytest.approx(4e6)


def test_zeros_are_on_their_own_scale_only() -> None:
    assert [scale.power for scale in scales(np.array([0.0, 1.0]), 1e-5)] == [1.0]
    assert [scale.power for scale in scales(np.array([1.0, 2.0]), 1e-5)] == list(POWERS)


@pytest.mark.parametrize(
    ("values", "power"),
    [(100 + 4 * AGE, 1.0), ((10 + 0.3 * AGE) ** 2, 0.5), (100 * np.exp(0.04 * AGE), 0.02)],
)
def test_the_scale_on_which_growth_is_straight_is_the_likeliest(values: Floats, power: float) -> None:
    values = series(values)
    candidates = scales(values, 1e-3)
    fits = [fit(DAYS, scale.of(values), NONE.columns(60), Kind.STOCK, 1e-3) for scale in candidates]
    likely = shares(candidates, fits, Kind.STOCK) / np.array(WEIGHTS[Kind.STOCK])
    assert POWERS[int(likely.argmax())] == power


@pytest.mark.parametrize("kind", Kind)
def test_shares_add_up_and_follow_the_weights_where_nothing_is_known(kind: Kind) -> None:
    values = series(100 + AGE)
    one = fit(DAYS, values, NONE.columns(60), kind, 1e-3)
    found = shares(scales(values, 1e-3), [one] * len(POWERS), kind)
    assert found == pytest.approx(np.array(WEIGHTS[kind]) / sum(WEIGHTS[kind]))


def test_growth_by_a_share_a_day_goes_on() -> None:
    found = forecast(DAYS, series(100 * np.exp(0.03 * AGE)), 1000.0, Kind.STOCK)
    assert found.outcome is Outcome.WITHIN
    assert abs(known(found.day) - math.ceil(math.log(10) / 0.03)) <= 1
    assert known(found.day_high) < known(found.baseline_day)
    assert found.growth_per_day == pytest.approx(0.03 * 100 * math.exp(0.03 * 60), rel=0.05)
