"""The day on which a growing value reaches its limit, with an interval.

A history of days is decomposed (`trend`, `shocks`) on several scales (`scales`): growth may
be linear or accelerate. Thousands of paths that fit it are drawn (`paths`). The interval is over the first day
on which each path reaches the limit: noise and the weekly cycle reach it before the trend does, and an uncertain slope
moves late days more than early ones.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from kafka_warden.arrays import Floats, Longs
from kafka_warden.pipeline.forecast.paths import draw, simulate
from kafka_warden.pipeline.forecast.scales import Scale, scales, shares
from kafka_warden.pipeline.forecast.shocks import Shocks, find
from kafka_warden.pipeline.forecast.trend import LEVEL, SLOPE, WEEK, Kind, Trends, fit

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
class Band:
    """H days after a history, each by itself."""

    days: Longs
    """(H,)"""
    median: Floats
    low: Floats
    high: Floats


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
    band: Band | None = None


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
    shocks, _ = find(days, candidates[0].of(values), kind, resolution)
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
    low, median, high = (reached,) * 3 if reached is not None else _days(paths, days, limit, level)
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
        band=_band(paths, days, level),
    )


def _reached(days: Longs, values: Floats, limit: float | None, kind: Kind) -> int | None:
    """The last recent day at or above the limit; a flow looks back one week, since it rests at weekends."""
    if limit is None or not len(days):
        return None
    recent = days > days[-1] - (WEEK if kind is Kind.FLOW else 1)
    over = days[recent & (values >= limit)]
    return int(over[-1]) if len(over) else None


def _days(paths: Floats, days: Longs, limit: float | None, level: float) -> tuple[int | None, ...]:
    """Days by which the lower share of the paths, half of them and the upper share have reached the limit."""
    if limit is None:
        return (None, None, None)
    over = paths >= limit
    first = np.where(over.any(axis=1), over.argmax(axis=1), np.inf)
    found = np.quantile(first, [(1 - level) / 2, 0.5, (1 + level) / 2], method="inverted_cdf")
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


def _band(paths: Floats, days: Longs, level: float) -> Band:
    low, median, high = np.quantile(paths, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
    return Band(days[-1] + 1 + np.arange(paths.shape[1]), median, low, high)


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
