"""Histories whose future is known: made to their end, shown up to a day. Not made by the model that forecasts them.

Disks fill along a line whose slope changes now and then (1 day in 90, by some 15 %), partitions come with whole topics
(a Poisson number a day, of very different sizes) and go with some of them, and bytes come in hour by hour with a cycle
of the day and one of the week. All have noise that lasts, and what follows the history is unknown.

Compound growth is faster than a line: there are more topics every day, and each of them carries more every day. Both
grow on a line or exponentially, by chance. Disks hold some days of that, and drop whole segments. Partitions grow
faster than a line where more topics are created every day than the day before.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from kafka_warden.arrays import Floats, Longs
from kafka_warden.pipeline.forecast_model import Forecast, forecast
from kafka_warden.pipeline.forecast_trend import Kind

HORIZON: Final = 90
LEVEL: Final = 0.9
HOURS: Final = 24
CHANGES: Final = 1 / 90
"""Changes of the slope a day."""
STEPS: Final = 1 / 45
"""Topics a day that are made or deleted at once with all they hold."""
SIZES: Final = np.array([1, 3, 6, 12, 24, 48])
SHARES: Final = np.array([0.25, 0.35, 0.25, 0.13, 0.015, 0.005])
DELETED: Final = 0.15
"""Topics deleted for each that is made."""
FIRST_TOPICS: Final = (40, 121)
MORE_TOPICS: Final = (0.006, 0.014)
MORE_CREATED: Final = (0.004, 0.012)
MORE_BYTES: Final = (0.003, 0.01)
"""Growth in a day, least and most: of topics, of topics that are created in a day, and of the rate of each topic."""
KEPT_DAYS: Final = (2, 8)
SEGMENT_DAYS: Final = (1.5, 6.0)
SEGMENTS: Final = (0.01, 0.05)
"""Days after which disks drop a segment, and its share of all they hold."""
WEEKDAYS: Final = np.array([0.0, 0.5, 0.6, 0.6, 0.3, -1.0, -1.0])
DAILY: Final[Floats] = 1 + 0.4 * np.sin(2 * np.pi * np.arange(HOURS) / HOURS)


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
        low, true, high = (
            np.inf if day is None else day for day in (self.said.day_low, self.reached, self.said.day_high)
        )
        return bool(low <= true <= high)

    @property
    def width(self) -> float:
        """Days of the interval within the horizon."""
        return self._cut(self.said.day_high) - self._cut(self.said.day_low)

    def error(self, day: int | None) -> float:
        return abs(self._cut(day) - self._cut(self.reached))

    def _cut(self, day: int | None) -> float:
        end = float(self.last + 1 + HORIZON)
        return end if day is None else min(float(day), end)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of bench/README.md: share that is covered; median days of width, error and baseline error."""

    covered: float
    width: float
    off: float
    line_off: float

    @classmethod
    def of(cls, tried: Sequence[Tried]) -> Self:
        return cls(
            float(np.mean([one.covered for one in tried])),
            float(np.median([one.width for one in tried])),
            float(np.median([one.error(one.said.day) for one in tried])),
            float(np.median([one.error(one.said.baseline_day) for one in tried])),
        )


def try_each(make: Callable[[int], Grown], seeds: Iterable[int]) -> Iterator[Tried]:
    for made in map(make, seeds):
        said = forecast(made.days, made.values, made.limit, made.kind, horizon=HORIZON, level=LEVEL)
        yield Tried(made.kind, made.reached, int(made.days[-1]), said)


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


def compounded(seed: int, kinds: Sequence[Kind] = (Kind.STOCK, Kind.FLOW)) -> Grown:
    """Make a history of 30 to 60 days whose growth accelerates to its limit, 10 to 80 days later; kinds in turn."""
    chance = np.random.default_rng(seed)
    count = int(chance.integers(30, 61))
    kind = kinds[seed % len(kinds)]
    make = {Kind.STOCK: _filling_disk, Kind.COUNT: _created, Kind.FLOW: _rising_bytes_in}[kind]
    usual, values = make(chance, count + HORIZON)
    limit = float(usual[count + int(chance.integers(10, 80))])
    over = np.flatnonzero(values[count:] >= limit)
    return Grown(kind, np.arange(count), values[:count], limit, count + int(over[0]) if len(over) else None)


def _more(chance: np.random.Generator, least_most: tuple[float, float], total: int) -> Floats:
    """(total,) multiples of the first day, on a line or exponentially."""
    grown_by: Floats = chance.uniform(*least_most) * np.arange(total, dtype=np.float64)
    found: Floats = np.exp(grown_by) if chance.random() < 0.5 else 1 + grown_by
    return found


def _topics(chance: np.random.Generator, first: int, created: Floats) -> Longs:
    """Draw the day on which each topic is created, 0 for those that are there. `created`: expected, of each day."""
    later = np.repeat(np.arange(len(created)), chance.poisson(created))
    return np.concatenate([np.zeros(first, np.int64), later])


def _created(chance: np.random.Generator, total: int) -> tuple[Floats, Floats]:
    first = int(chance.integers(*FIRST_TOPICS))
    created = first * chance.uniform(*MORE_TOPICS) * _more(chance, MORE_CREATED, total)
    days = _topics(chance, first, created)
    made = np.bincount(days, chance.choice(SIZES, len(days), p=SHARES), minlength=total)
    gone = [chance.choice(SIZES, number, p=SHARES).sum() for number in chance.poisson(DELETED * created)]
    values = np.cumsum(made - gone)
    return values, values


def _rates(chance: np.random.Generator, total: int) -> Floats:
    """(total,) mean bytes per second of all topics."""
    first = int(chance.integers(*FIRST_TOPICS))
    days = _topics(chance, first, np.diff(first * _more(chance, MORE_TOPICS, total), prepend=first))
    rates = np.bincount(days, chance.lognormal(13, 1, len(days)), minlength=total)
    return np.cumsum(rates) * _more(chance, MORE_BYTES, total)


def _rising_bytes_in(chance: np.random.Generator, total: int) -> tuple[Floats, Floats]:
    days = _rates(chance, total) * (1 + chance.uniform(0.02, 0.1) * WEEKDAYS[np.arange(total) % 7])
    return days * DAILY.max(), _busiest(chance, days)


def _filling_disk(chance: np.random.Generator, total: int) -> tuple[Floats, Floats]:
    kept = int(chance.integers(*KEPT_DAYS))
    made = _rates(chance, total + kept) * np.exp(_lasting(chance, total + kept, 0.6, 0.04))
    held = 86400 * np.convolve(made, np.ones(kept), "valid")[:total]
    every = chance.uniform(*SEGMENT_DAYS)
    dropped = (np.arange(total) + chance.uniform(0, every)) % every / every
    return held, held * (1 + chance.uniform(*SEGMENTS) * dropped)


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
    values = _busiest(chance, (base + np.cumsum(slopes)) * weekly)
    return values, float(slopes[count - 1] * DAILY.max())


def _busiest(chance: np.random.Generator, days: Floats) -> Floats:
    """Return the busiest hour of each day. `days`: their means."""
    noise = _lasting(chance, len(days) * HOURS, 0.8, 0.03).reshape(len(days), HOURS)
    noise += _lasting(chance, len(days), 0.6, 0.015)[:, None]
    return (days[:, None] * DAILY * np.exp(noise)).max(axis=1)


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
