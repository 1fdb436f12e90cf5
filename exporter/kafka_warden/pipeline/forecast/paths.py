"""Simulated paths after a history, each from a level, a slope and noise that fit the history."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.arrays import Floats, Ints, Longs
from kafka_warden.pipeline.forecast.shocks import Shocks
from kafka_warden.pipeline.forecast.trend import (
    CYCLE,
    GRID,
    LEVEL,
    MOST_GROWN,
    NOISE,
    SLOPE,
    WEEK,
    Trends,
    cycle,
    has_cycle,
)

RATE_SHAPE: Final = 0.5
"""Of the Gamma prior of how often a shock comes (Jeffreys'): one that was seen once may have been luck."""


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
    return trend + around * _grown(trend, level)


def _grown(trend: Floats, level: Floats) -> Floats:
    """Return the trend relative to its first level: noise and cycle grow with it."""
    size = np.ones(trend.shape)
    np.divide(trend, level, out=size, where=level > 0)
    return np.clip(size, 1 / MOST_GROWN, MOST_GROWN)


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
