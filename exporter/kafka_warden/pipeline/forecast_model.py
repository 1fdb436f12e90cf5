"""The day on which a growing value reaches its limit, with an interval.

A history of days is decomposed (`forecast_trend`) on several scales: growth may be a straight line as it is, by its
root (topics and their rates both grow: the product of two lines), or by its logarithm, almost (growth by a share a
day). These are powers of Box and Cox (An Analysis of Transformations, Journal of the Royal Statistical Society B 26,
1964). A few weeks rarely show which one it is, and that makes the difference of weeks: each counts by its marginal
likelihood (Hoeting, Madigan, Raftery and Volinsky, Bayesian Model Averaging, Statistical Science 14, 1999). On the
scale of a power, noise and cycles grow with the value.

Thousands of paths that fit are drawn. The interval is over the first day on which each path reaches the limit: noise
and the weekly cycle reach it before the trend does, and an uncertain slope moves late days more than early ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from kafka_warden.arrays import Floats, Ints, Longs
from kafka_warden.pipeline.forecast_trend import (
    CYCLE,
    GRID,
    LEVEL,
    NOISE,
    SLOPE,
    WEEK,
    Kind,
    Shocks,
    Trends,
    cycle,
    find,
    fit,
    has_cycle,
    relative,
)

LEAST_DAYS: Final = 14
"""Least days with a value for a forecast: two weeks."""
LONGEST: Final = 90
"""Days of history used: older ones say little about a slope that bends."""
PATHS: Final = 2000
"""Paths drawn. The ends of a 90 % interval are the 100th and the 1900th; another seed moves them by one day at most."""

METHOD: Final = "local linear trend, averaged over its variances and scales"

_ROUNDED_TO: Final = {Kind.COUNT: 1 / math.sqrt(12)}
"""Standard deviation of rounding to whole numbers."""
_NEGLIGIBLE: Final = 1e-5
"""Share of the greatest value below which growth is negligible."""
_ROUNDING: Final = 1e-6
"""Days that a line may be late by: floats do not meet a limit exactly."""

POWERS: Final = (0.5, 1.0, 0.02)
"""The first is in the middle: shocks are found on its scale. The last is nearly the logarithm, which is no power."""

WEIGHTS: Final = {Kind.COUNT: (1.0, 10.0, 1.0), Kind.STOCK: (2.0, 1.0, 5.0), Kind.FLOW: (6.0, 1.0, 8.0)}
"""Prior weights of `POWERS`: mostly topics are created at a steady rate, and the bytes of each of them grow, too. Few
histories show growth by a share a day before it matters, so it weighs more."""

HIGHEST: Final = 1e6
"""Largest multiple of the history's greatest value that a path reaches: floats end somewhere."""

RATE_SHAPE: Final = 0.5
"""Of the Gamma prior of how often a shock comes (Jeffreys'): one that was seen once may have been luck."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A power, in units of the values at their geometric mean: likelihoods of different powers are comparable then."""

    power: float
    mean: float
    """Geometric mean of the history."""
    highest: float
    """Greatest value that it returns."""

    def of(self, values: Floats) -> Floats:
        """Return values on this scale. `values`: above 0, unless the power is 1."""
        return values**self.power * self._unit

    def back(self, scaled: Floats) -> Floats:
        """Return the values that are these on this scale; nothing is below 0."""
        highest = self.highest**self.power * self._unit
        return (np.clip(scaled, 0.0, highest) / self._unit) ** (1 / self.power)

    def stretch(self, scaled: float) -> float:
        """Return the change of the value for a small change on this scale, here."""
        return math.pow(self.back(np.array(scaled)) / self.mean, 1 - self.power)

    @property
    def _unit(self) -> float:
        return math.pow(self.mean, 1 - self.power) / self.power


def scales(values: Floats, resolution: float) -> list[Scale]:
    """Return the scales of a history; the only one of values that are not above `resolution` is the values' own."""
    if values.min() <= resolution:
        return [Scale(1.0, 1.0, np.inf)]
    mean, highest = float(np.exp(np.log(values).mean())), HIGHEST * float(values.max())
    return [Scale(power, mean, highest) for power in POWERS]


def shares(candidates: Sequence[Scale], fits: Sequence[Trends], kind: Kind) -> Floats:
    """Return how likely each scale is, 1 in all. `fits`: of the same history and shocks on each."""
    weights = dict(zip(POWERS, WEIGHTS[kind], strict=True))
    logs = np.array([np.log(weights[scale.power]) + fit.evidence for scale, fit in zip(candidates, fits, strict=True)])
    likely = np.exp(logs - logs.max())
    found: Floats = likely / likely.sum()
    return found


@dataclass(frozen=True, slots=True)
class Drawn:
    """Draws, one for each of M paths."""

    point: Longs
    """(M,) of the grid."""
    coefficients: Floats
    """(M, C)"""
    deviation: Floats
    """(M,) standard deviation of the noise."""


def draw(trends: Trends, paths: int, chance: np.random.Generator) -> Drawn:
    """Draw points and coefficients by their probability."""
    point = chance.choice(len(trends.weights), size=paths, p=trends.weights)
    deviation = np.sqrt(trends.squares[point] / chance.chisquare(trends.freedom, paths))
    normal = chance.standard_normal((paths, trends.means.shape[1]))
    off = (trends.roots[point] @ normal[:, :, None])[:, :, 0]
    return Drawn(point, trends.means[point] + off * deviation[:, None], deviation)


def simulate(days: Longs, shocks: Shocks, drawn: Drawn, horizon: int, chance: np.random.Generator) -> Floats:
    """Return (M, horizon) values of the days after the last of `days`."""
    correlation, wander, bend = (GRID[drawn.point, index, None] for index in range(3))
    shape = (len(drawn.point), horizon)
    bent = np.cumsum(chance.standard_normal(shape) * np.sqrt(bend), axis=1)
    wandered = np.cumsum(chance.standard_normal(shape) * np.sqrt(wander), axis=1) + np.cumsum(bent, axis=1)
    # The first day after the history is where the coefficients stand: nothing has wandered there yet.
    off = np.pad(wandered[:, :-1], ((0, 0), (1, 0))) * drawn.deviation[:, None]
    ahead = np.arange(horizon)
    level, slope = drawn.coefficients[:, LEVEL, None], drawn.coefficients[:, SLOPE, None]
    trend: Floats = level + slope * ahead + off + _shocked(days, shocks, drawn, horizon, chance)
    around = _noise(drawn.coefficients[:, NOISE], correlation[:, 0], drawn.deviation, horizon, chance)
    if has_cycle(days):
        around = around + drawn.coefficients[:, CYCLE : CYCLE + WEEK - 1] @ cycle(days[-1] + 1 + ahead).T
    return trend + around * relative(trend, level)


def _noise(first: Floats, correlation: Floats, deviation: Floats, horizon: int, chance: np.random.Generator) -> Floats:
    new = chance.standard_normal((horizon, len(first))) * (deviation * np.sqrt(1 - correlation**2))
    values = np.empty((horizon, len(first)))
    values[0] = first
    for day in range(1, horizon):
        values[day] = correlation * values[day - 1] + new[day]
    return values.T


def _shocked(days: Longs, shocks: Shocks, drawn: Drawn, horizon: int, chance: np.random.Generator) -> Floats:
    """Draw steps and spikes, as frequent and as large as those of the history; (M, horizon)."""
    total = np.zeros((len(drawn.point), horizon))
    first = drawn.coefficients.shape[1] - len(shocks.at)
    for stays in (True, False):
        kind = np.flatnonzero(shocks.stays == stays)
        if len(kind):
            rate = chance.gamma(len(kind) + RATE_SHAPE, 1.0 / len(days), len(drawn.point))
            comes = chance.random(total.shape) < rate[:, None]
            which: Ints = chance.choice(kind, size=total.shape).astype(np.int32)
            sizes = np.take_along_axis(drawn.coefficients, first + which.astype(np.int64), axis=1) * comes
            total += np.cumsum(sizes, axis=1) if stays else sizes
    return total


class Outcome(StrEnum):
    """What is known about the day."""

    REACHED = "reached"
    """The limit is reached already."""
    WITHIN = "within"
    """More likely than not it is within the horizon."""
    BEYOND = "beyond"
    """More likely than not it is not."""
    UNLIMITED = "unlimited"
    """There is no limit."""
    NO_LIMIT_KNOWN = "limit_unknown"
    """The limit is unknown."""
    TOO_SHORT = "too_short"
    """There are too few days of history."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Days count as those of the history do; `None` is not within the horizon, or not known (see `outcome`)."""

    outcome: Outcome
    history_days: int
    """Days with a value that were used."""
    now: float | None
    """The last value."""
    growth_per_day: float | None = None
    """Of the trend as it is now, steps at the rate at which they came."""
    day: int | None = None
    """Half of the paths have reached the limit by then."""
    day_low: int | None = None
    day_high: int | None = None
    baseline_day: int | None = None
    """When a straight line does; not cut off at the horizon."""
    band: Floats | None = None
    """(H, 3) the lower end, the median and the upper end of each day after the history, by itself."""


def forecast(
    days: Longs,
    values: Floats,
    limit: float | None,
    kind: Kind,
    *,
    horizon: int = 90,
    level: float = 0.9,
    seed: int = 0,
) -> Forecast:
    """Forecast when a limit is reached. It is `+inf` where there is none, and `None` where it is not known.

    `days` (n,) are whole and ascending, those without a value are left out; `values` (n,) are in the unit of the limit.
    `horizon`: days after the last one to look at. `level`: probability of the symmetric interval, between 0 and 1.
    """
    recent = days > days.max(initial=0) - LONGEST
    days, values = days[recent], values[recent].astype(np.float64)
    count = len(days)
    reached = _reached(days, values, limit, kind)
    now = float(values[-1]) if count else None
    if count < LEAST_DAYS:
        short = Outcome.TOO_SHORT if reached is None else Outcome.REACHED
        return Forecast(short, count, now, day=reached, day_low=reached, day_high=reached)
    resolution = _ROUNDED_TO.get(kind, max(_NEGLIGIBLE * float(np.abs(values).max()), _NEGLIGIBLE))
    candidates = scales(values, resolution)
    shocks = find(days, candidates[0].of(values), kind, resolution)
    fits = [fit(days, scale.of(values), shocks.columns(count), kind, resolution) for scale in candidates]
    likely = shares(candidates, fits, kind)
    chance = np.random.default_rng(seed)
    drawn = [draw(trends, paths, chance) for trends, paths in zip(fits, chance.multinomial(PATHS, likely), strict=True)]
    paths = np.concatenate(
        [
            scale.back(simulate(days, shocks, each, horizon, chance))
            for scale, each in zip(candidates, drawn, strict=True)
        ]
    )
    ends = ((1 - level) / 2, 0.5, (1 + level) / 2)
    low, median, high = (reached,) * 3 if reached is not None else _days(paths, days, limit, ends)
    line = straight_line(days, values)
    return Forecast(
        outcome=_outcome(limit, reached, median),
        history_days=count,
        now=now,
        growth_per_day=float(likely @ [_growth(*each, shocks, count) for each in zip(candidates, fits, strict=True)]),
        day=median,
        day_low=low,
        day_high=high,
        baseline_day=reached if reached is not None or limit is None else crossing(*line, limit, int(days[-1])),
        band=np.quantile(paths, ends, axis=0).T,
    )


def _reached(days: Longs, values: Floats, limit: float | None, kind: Kind) -> int | None:
    """The last recent day at or above the limit; a flow looks back one week, since it rests at weekends."""
    if limit is None or not len(days):
        return None
    recent = days > days[-1] - (WEEK if kind is Kind.FLOW else 1)
    over = days[recent & (values >= limit)]
    return int(over[-1]) if len(over) else None


def _days(paths: Floats, days: Longs, limit: float | None, ends: Sequence[float]) -> tuple[int | None, ...]:
    """Days by which these shares of the paths have reached the limit."""
    if limit is None:
        return (None, None, None)
    over = paths >= limit
    first = np.where(over.any(axis=1), over.argmax(axis=1), np.inf)
    found = np.quantile(first, ends, method="inverted_cdf")
    return tuple(int(days[-1] + 1 + day) if math.isfinite(day) else None for day in found.tolist())


def _outcome(limit: float | None, reached: int | None, median: int | None) -> Outcome:
    if limit is None:
        return Outcome.NO_LIMIT_KNOWN
    if math.isinf(limit):
        return Outcome.UNLIMITED
    if reached is not None:
        return Outcome.REACHED
    return Outcome.BEYOND if median is None else Outcome.WITHIN


def _growth(scale: Scale, trends: Trends, shocks: Shocks, count: int) -> float:
    means = trends.weights @ trends.means
    sizes = means[len(means) - len(shocks.at) :]
    return float(means[SLOPE] + sizes[shocks.stays].sum() / count) * scale.stretch(float(means[LEVEL]))


def straight_line(days: Longs, values: Floats) -> tuple[float, float]:
    """Fit the baseline by least squares: value on day 0 and change a day. At least two days.

    A spreadsheet or Prometheus' `predict_linear` draws the same line.
    """
    slope, level = np.polyfit(days.astype(np.float64) - days[-1], values, 1).tolist()
    return level - slope * float(days[-1]), slope


def crossing(level: float, slope: float, limit: float, after: int) -> int | None:
    """The first whole day after `after` on which the line is at a limit, `None` for never."""
    if level + slope * (after + 1) >= limit:
        return after + 1
    if slope <= 0 or math.isinf(limit):
        return None
    return math.ceil((limit - level) / slope - _ROUNDING)
