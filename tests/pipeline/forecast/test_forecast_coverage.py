"""A hundred histories with known growth: is the true day in the interval, and is the interval useful?

`make full-kafka` takes two hundred, and `python -m bench.forecast` two thousand.
"""

from typing import Final

import numpy as np
import pytest

from kafka_warden.pipeline.forecast_trend import Kind
from tests.support.growth import HORIZON, LEVEL, Figures, Tried, compounded, grown, try_each

SEEDS: Final = (100, pytest.param(200, marks=pytest.mark.full_kafka))
MOST_WIDTH: Final = 0.25 * HORIZON
COMPOUND: Final = 120
LEAST_COMPOUND: Final = 0.85
"""Of so few; of 2,000 it has to be 0.88."""
MOST_WIDTH_COMPOUND: Final = 40.0
"""Days."""


@pytest.fixture(scope="module", params=SEEDS)
def tried(request: pytest.FixtureRequest) -> list[Tried]:
    return list(try_each(grown, range(request.param)))


def test_the_true_day_lies_in_the_interval(tried: list[Tried]) -> None:
    for kind in Kind:
        of_kind = Figures.of([one for one in tried if one.kind is kind])
        print(f"{kind.name}: {of_kind}")
        assert of_kind.covered >= 0.8
    print(f"all: {Figures.of(tried)}")
    assert Figures.of(tried).covered >= LEVEL
    assert Figures.of(tried).width <= MOST_WIDTH


def test_the_median_is_nearer_than_a_straight_line(tried: list[Tried]) -> None:
    assert Figures.of(tried).off < Figures.of(tried).line_off


def test_misses_fall_on_both_sides(tried: list[Tried]) -> None:
    """Neither side has more than a tenth: an interval that is merely late would be as useless as one that is early."""
    for early in (True, False):
        missed = [one for one in tried if not one.covered and (_first(one.reached) < _first(one.said.day_low)) is early]
        assert len(missed) <= len(tried) / 10


def test_compound_growth_is_in_the_interval_too() -> None:
    figures = Figures.of(list(try_each(compounded, range(COMPOUND))))
    print(f"compound: {figures}")
    assert figures.covered >= LEAST_COMPOUND
    assert figures.width <= MOST_WIDTH_COMPOUND
    assert figures.off < 0.7 * figures.line_off


def _first(day: int | None) -> float:
    return np.inf if day is None else day
