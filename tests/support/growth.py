"""Histories whose future is known: made to their end, shown up to a day. Not made by the model that forecasts them.

Disks fill along a line whose slope changes now and then (1 day in 90, by some 15 %), partitions come with whole topics
(a Poisson number a day, of very different sizes) and go with some of them, and bytes come in hour by hour with a cycle
of the day and one of the week. All have noise that lasts, and what follows the history is unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from kafka_warden.formulas.forecast import Forecast
from kafka_warden.formulas.forecast_trend import Kind
from kafka_warden.formulas.ops import Floats, Longs

HORIZON: Final = 90
HOURS: Final = 24
CHANGES: Final = 1 / 90
"""Changes of the slope a day."""
STEPS: Final = 1 / 45
"""Topics a day that are made or deleted at once with all they hold."""
SIZES: Final = np.array([1, 3, 6, 12, 24, 48])
SHARES: Final = np.array([0.25, 0.35, 0.25, 0.13, 0.015, 0.005])
DELETED: Final = 0.15
"""Topics deleted for each that is made."""
WEEKDAYS: Final = np.array([0.0, 0.5, 0.6, 0.6, 0.3, -1.0, -1.0])


@dataclass(frozen=True, slots=True)
class Grown:
    """One history and its continuation."""

    kind: Kind
    days: Longs
    values: Floats
    limit: float
    reached: int | None
    """The day on which it was, `None` where that is after the horizon."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A forecast and the true day. A day that is not within the horizon counts as its end.

    Attributes:
        kind: What grows.
        reached: The true day, None where that is after the horizon.
        last: The last day of the history.
        said: The forecast.
    """

    kind: Kind
    reached: int | None
    last: int
    said: Forecast

    @property
    def covered(self) -> bool:
        """Whether the true day is in the interval."""
        low, true, high = (
            np.inf if day is None else day for day in (self.said.day_low, self.reached, self.said.day_high)
        )
        return bool(low <= true <= high)

    @property
    def width(self) -> float:
        """Days of the interval within the horizon."""
        return self._cut(self.said.day_high) - self._cut(self.said.day_low)

    def error(self, day: int | None) -> float:
        """Days that a day is off."""
        return abs(self._cut(day) - self._cut(self.reached))

    def _cut(self, day: int | None) -> float:
        end = float(self.last + 1 + HORIZON)
        return end if day is None else min(float(day), end)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of docs/pipeline-forecast.md: share that is covered; median days of width, error and baseline error."""

    covered: float
    width: float
    off: float
    line_off: float

    @classmethod
    def of(cls, tried: Sequence[Tried]) -> Self:
        """Compute them."""
        return cls(
            float(np.mean([one.covered for one in tried])),
            float(np.median([one.width for one in tried])),
            float(np.median([one.error(one.said.day) for one in tried])),
            float(np.median([one.error(one.said.baseline_day) for one in tried])),
        )


def grown(seed: int) -> Grown:
    """Make a history of 30 to 60 days that reaches its limit some 10 to 65 days later; every third is of one kind."""
    chance = np.random.default_rng(seed)
    count = int(chance.integers(30, 61))
    kind = (Kind.STOCK, Kind.COUNT, Kind.FLOW)[seed % 3]
    make = {Kind.STOCK: _disk, Kind.COUNT: _partitions, Kind.FLOW: _bytes_in}[kind]
    values, slope = make(chance, count, count + HORIZON)
    # By what is known on the last day: the continuation makes the forecast neither easier nor harder.
    limit = float(np.median(values[count - 7 : count])) + slope * (3 + chance.uniform(10, 65))
    over = np.flatnonzero(values[count:] >= limit)
    reached = count + int(over[0]) if len(over) else None
    return Grown(kind, np.arange(count), values[:count], limit, reached)


def _disk(chance: np.random.Generator, count: int, total: int) -> tuple[Floats, float]:
    base = chance.uniform(2e11, 8e11)
    slopes = _slopes(chance, total, base * chance.uniform(0.004, 0.01))
    noise = _lasting(chance, total, chance.uniform(0.4, 0.8), base * chance.uniform(0.004, 0.01))
    weekly = base * chance.uniform(0, 0.01) * np.sin(2 * np.pi * np.arange(total) / 7)
    signs = np.where(chance.random(total) < 0.5, 1, -1)
    steps = (chance.random(total) < STEPS) * signs * base * chance.uniform(0.01, 0.03, total)
    return base + np.cumsum(slopes) + np.cumsum(steps) + noise + weekly, float(slopes[count - 1])


def _partitions(chance: np.random.Generator, count: int, total: int) -> tuple[Floats, float]:
    topics = chance.uniform(4, 10)
    made = [chance.choice(SIZES, number, p=SHARES).sum() for number in chance.poisson(topics, total)]
    gone = [chance.choice(SIZES, number, p=SHARES).sum() for number in chance.poisson(topics * DELETED, total)]
    values = 1500.0 + np.cumsum(made) - np.cumsum(gone)
    return values, float(topics * (1 - DELETED) * (SIZES @ SHARES))


def _bytes_in(chance: np.random.Generator, count: int, total: int) -> tuple[Floats, float]:
    base = chance.uniform(2e7, 1e8)
    slopes = _slopes(chance, total, base * chance.uniform(0.006, 0.014))
    weekly = 1 + chance.uniform(0.02, 0.1) * WEEKDAYS[np.arange(total) % 7]
    daily = 1 + 0.4 * np.sin(2 * np.pi * np.arange(HOURS) / HOURS)
    noise = _lasting(chance, total * HOURS, 0.8, 0.03).reshape(total, HOURS)
    noise += _lasting(chance, total, 0.6, 0.015)[:, None]
    hours = ((base + np.cumsum(slopes)) * weekly)[:, None] * daily * np.exp(noise)
    return hours.max(axis=1), float(slopes[count - 1] * daily.max())


def _slopes(chance: np.random.Generator, total: int, first: float) -> Floats:
    changes = np.where(chance.random(total) < CHANGES, np.exp(chance.normal(0, 0.15, total)), 1.0)
    found: Floats = first * np.cumprod(changes, dtype=np.float64)
    return found


def _lasting(chance: np.random.Generator, total: int, correlation: float, deviation: float) -> Floats:
    """Noise of which some is left on the next day, AR(1)."""
    new = chance.normal(0, deviation * np.sqrt(1 - correlation**2), total)
    new[0] = chance.normal(0, deviation)
    for day in range(1, total):
        new[day] += correlation * new[day - 1]
    return new
