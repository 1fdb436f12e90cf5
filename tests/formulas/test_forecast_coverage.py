"""Two hundred histories with known growth: is the true day in the interval, and is the interval useful?"""

from typing import Final

import numpy as np
import pytest

from kafka_warden.formulas.forecast import forecast
from kafka_warden.formulas.forecast_trend import Kind
from tests.support.growth import HORIZON, Figures, Tried, grown

SEEDS: Final = 200
LEVEL: Final = 0.9
MOST_WIDTH: Final = 0.25 * HORIZON


@pytest.fixture(scope="module")
def tried() -> list[Tried]:
    """All of them."""
    found = []
    for made in map(grown, range(SEEDS)):
        said = forecast(made.days, made.values, made.limit, made.kind, horizon=HORIZON, level=LEVEL)
        found.append(Tried(made.kind, made.reached, int(made.days[-1]), said))
    return found


def test_the_true_day_lies_in_the_interval(tried: list[Tried]) -> None:
    """In nine of ten of all, in eight of ten of each kind; half of the intervals are below a quarter of the horizon."""
    for kind in Kind:
        of_kind = Figures.of([one for one in tried if one.kind is kind])
        print(f"{kind.name}: {of_kind}")
        assert of_kind.covered >= 0.8
    print(f"all: {Figures.of(tried)}")
    assert Figures.of(tried).covered >= LEVEL
    assert Figures.of(tried).width <= MOST_WIDTH


def test_the_median_is_nearer_than_a_straight_line(tried: list[Tried]) -> None:
    """Half of the medians are as near, which the baseline's days are not."""
    assert Figures.of(tried).off < Figures.of(tried).line_off


def test_misses_fall_on_both_sides(tried: list[Tried]) -> None:
    """Neither side has more than a tenth: an interval that is merely late would be as useless as one that is early."""
    for early in (True, False):
        missed = [one for one in tried if not one.covered and (_first(one.reached) < _first(one.said.day_low)) is early]
        assert len(missed) <= SEEDS / 10


def _first(day: int | None) -> float:
    return np.inf if day is None else day
