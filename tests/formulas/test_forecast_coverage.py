"""Two hundred histories with known growth: does the true day lie in the interval, and is the interval of any use?"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pytest

from kafka_warden.formulas.forecast import Forecast, forecast
from kafka_warden.formulas.forecast_trend import Kind
from tests.formulas.growth import HORIZON, Grown, grown

SEEDS: Final = 200
LEVEL: Final = 0.9
MOST_WIDTH: Final = 0.25 * HORIZON


@dataclass(frozen=True, slots=True)
class Tried:
    """A history, what was said of it, and how that fared. What is not within the horizon counts as its end."""

    made: Grown
    said: Forecast

    @property
    def covered(self) -> bool:
        """Whether the true day is in the interval."""
        low, true, high = (
            np.inf if day is None else day for day in (self.said.day_low, self.made.reached, self.said.day_high)
        )
        return bool(low <= true <= high)

    @property
    def width(self) -> float:
        """Days of the interval within the horizon."""
        return self._cut(self.said.day_high) - self._cut(self.said.day_low)

    def error(self, day: int | None) -> float:
        """Days that a day is off."""
        return abs(self._cut(day) - self._cut(self.made.reached))

    def _cut(self, day: int | None) -> float:
        end = float(self.made.days[-1]) + 1 + HORIZON
        return end if day is None else min(float(day), end)


@pytest.fixture(scope="module")
def tried() -> list[Tried]:
    """All of them."""
    made = [grown(seed) for seed in range(SEEDS)]
    return [
        Tried(one, forecast(one.days, one.values, one.limit, one.kind, horizon=HORIZON, level=LEVEL)) for one in made
    ]


def test_the_true_day_lies_in_the_interval(tried: list[Tried]) -> None:
    """In nine of ten of all, with half of the intervals below a quarter of the horizon; and not by one kind alone."""
    for kind in Kind:
        of_kind = [one for one in tried if one.made.kind is kind]
        print(f"{kind.name}: {figures(of_kind)}")
        assert np.mean([one.covered for one in of_kind]) >= 0.8
    print(f"all: {figures(tried)}")
    assert np.mean([one.covered for one in tried]) >= LEVEL
    assert np.median([one.width for one in tried]) <= MOST_WIDTH


def test_the_median_is_nearer_than_a_straight_line(tried: list[Tried]) -> None:
    """Half of the medians are as near, which the baseline's days are not."""
    ours = np.median([one.error(one.said.day) for one in tried])
    line = np.median([one.error(one.said.baseline_day) for one in tried])
    assert ours < line


def test_misses_fall_on_both_sides(tried: list[Tried]) -> None:
    """Neither side has more than a tenth: an interval that is merely late would be as useless as one that is early."""
    for early in (True, False):
        missed = [
            one for one in tried if not one.covered and (_first(one.made.reached) < _first(one.said.day_low)) is early
        ]
        assert len(missed) <= SEEDS / 10


def figures(of: list[Tried]) -> str:
    """The figures of docs/pipeline-forecast.md."""
    covered = np.mean([one.covered for one in of])
    width = np.median([one.width for one in of])
    ours = np.median([one.error(one.said.day) for one in of])
    line = np.median([one.error(one.said.baseline_day) for one in of])
    return f"{len(of)} seeds, covered {covered:.3f}, width {width:.1f} days, median off {ours:.1f}, line off {line:.1f}"


def _first(day: int | None) -> float:
    return np.inf if day is None else day
