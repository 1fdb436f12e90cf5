"""A trend that may bend, under noise: the distribution of its level and slope. Exact, no iterative fit.

Level and slope wander (a local linear trend: Harvey, Forecasting, Structural Time Series Models and the Kalman Filter,
1989, ch. 2), around them lie a cycle of the week and noise that is correlated from day to day, AR(1). How much of each
there is is unknown: every point of a grid counts by how well it explains the history (its marginal likelihood). The
answer then has the same uncertainty. One best point would promise too much.

Time runs backwards from the day after the history: what happens after that day depends on the history through that
day's level, slope, cycle and noise only, which are the coefficients here. Days without a value are left out.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np

from kafka_warden.arrays import Bools, Floats, Longs

WEEK: Final = 7
CYCLE_FROM: Final = 21
"""Days from which on a cycle of the week is looked for: three of each day of the week."""

CORRELATIONS: Final = (0.0, 0.3, 0.6, 0.8, 0.9)
"""Of the noise of one day with that of the next."""
WANDERS: Final = (0.0, 0.01, 0.1, 0.3, 1.0, 10.0)
"""Variance of the level's steps from day to day, in variances of the noise. The last: there is hardly any noise."""
BENDS: Final = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Variance of the slope's change from day to day, in variances of the noise."""

GRID: Final[Floats] = np.array(list(product(CORRELATIONS, WANDERS, BENDS)))
"""(G, 3) correlation, wander, bend."""


class Kind(Enum):
    """What a series counts, as prior weights of `WANDERS`: what is likely before there is any history."""

    COUNT = (0.01, 0.01, 0.01, 0.01, 0.06, 0.9)
    """Things that are created and deleted, such as partitions: exact, without noise. A random walk."""
    STOCK = (0.02, 0.03, 0.15, 0.3, 0.35, 0.15)
    """Amounts that add up and are deleted, such as bytes on a disk: a part of each day's growth stays."""
    FLOW = (0.15, 0.15, 0.25, 0.2, 0.15, 0.1)
    """A rate, such as bytes in: a busy day is over the day after, a topic that was created stays."""

    @property
    def prior(self) -> Floats:
        """(G,) logarithms of weights of the grid."""
        shares = np.array(list(product([1 / len(CORRELATIONS)] * len(CORRELATIONS), self.value, BEND_SHARES)))
        found: Floats = np.log(shares).sum(axis=1)
        return found


BEND_SHARES: Final = (0.6, 0.2, 0.1, 0.06, 0.03, 0.01)
"""Weights of `BENDS`: mostly a slope stays constant over the horizon of a plan. `scales` has lasting bends."""

LEVEL, SLOPE, NOISE, CYCLE = range(4)
"""Where these coefficients stand; the cycle's six only in a history that is long enough, the shocks' come last."""

MOST_GROWN: Final = 4.0
"""Largest relative trend: further off it says little about a cycle."""

TINY: Final = 1e-6
"""Share of a candidate that is left when the trend already explains it."""

CACHED: Final = 4
"""Different sets of days that are kept, some 10 MB each: series of one history mostly share theirs."""


@dataclass(frozen=True, slots=True)
class Trends:
    """The fit of each point of the grid. C coefficients: level, slope, noise, cycle, then the shocks'."""

    weights: Floats
    """(G,) how likely each is, 1 in all."""
    means: Floats
    """(G, C) of the coefficients on the day after the history."""
    roots: Floats
    """(G, C, C) of their covariance, in variances of the noise: root @ root.T."""
    squares: Floats
    """(G,) sum of squared residuals."""
    freedom: int
    """Degrees of freedom."""
    evidence: float
    """Logarithm of how well all points together explain the history; comparable for the same days and shocks."""


def cycle(days: Longs) -> Floats:
    """(n, 6) the cycle of the week, in six numbers that the seventh balances. `days`: (n,) any whole days."""
    columns = np.vstack([np.eye(WEEK - 1), -np.ones(WEEK - 1)])
    rows: Floats = columns[np.asarray(days) % WEEK]
    return rows


def fit(days: Longs, values: Floats, shocks: Floats, kind: Kind, resolution: float) -> Trends:
    """Return the distribution of level, slope and cycle on the day after the last.

    `days` (n,) are whole and ascending, some may be missing; `values` (n,) are known. `shocks` (n, k): contribution of
    known shocks to each day, for a size of 1. `resolution`: rounding of the values, or a negligible amount; above 0.
    """
    seen = _seen(days, values, shocks)
    design = np.swapaxes(seen.design, 1, 2)
    normal = design @ seen.design
    inverse = np.linalg.inv(normal)
    means = (inverse @ (design @ seen.values[:, :, None]))[:, :, 0]
    residuals = seen.values - (seen.design @ means[:, :, None])[:, :, 0]
    freedom = len(days) - (means.shape[1] - 1)
    squares = (residuals**2).sum(axis=1) + freedom * resolution**2
    logs = kind.prior - 0.5 * (seen.logs + np.linalg.slogdet(normal)[1] + freedom * np.log(squares))
    weights = np.exp(logs - logs.max())
    evidence = float(logs.max() + np.log(weights.sum()))
    means[:, 0] += values.mean()
    # A sum of the two halves is symmetric to the last bit.
    symmetric: Floats = (inverse + np.swapaxes(inverse, 1, 2)) / 2
    roots = np.asarray(np.linalg.cholesky(symmetric), np.float64)
    return Trends(weights / weights.sum(), means, roots, squares, freedom, evidence)


def studentized(
    days: Longs, values: Floats, shocks: Floats, candidates: Floats, best: int, resolution: float
) -> Floats:
    """Return how far each of `candidates` (n, m) is from the rest of the history, in standard errors (m,).

    Uses one point of the grid, the `best`. The other arguments are those of `fit`.
    """
    seen = _seen(days, values, shocks)
    design, rows = seen.design[best], np.zeros((len(days) + 1, candidates.shape[1]))
    rows[:-1] = seen.roots[best] @ candidates
    basis = np.linalg.qr(design)[0]
    rest = rows - basis @ (basis.T @ rows)
    residuals = seen.values[best] - basis @ (basis.T @ seen.values[best])
    freedom = len(days) - (design.shape[1] - 1)
    lengths = (rest**2).sum(axis=0)
    usable = lengths > TINY * (rows**2).sum(axis=0)
    explained = np.zeros(len(lengths))
    np.divide((rest.T @ residuals) ** 2, lengths, out=explained, where=usable)
    left = np.maximum(residuals @ residuals - explained, 0.0) + freedom * resolution**2
    found: Floats = np.sqrt(explained * (freedom - 1) / left)
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """A history in which the noise of each point of the grid is independent. The last row holds the noise's prior."""

    design: Floats
    """(G, n + 1, C)"""
    values: Floats
    """(G, n + 1)"""
    roots: Floats
    """(G, n, n) that turn the noise of each point into independent noise."""
    logs: Floats
    """(G,) logarithm of the determinant of its covariance."""


def _seen(days: Longs, values: Floats, shocks: Floats) -> _Seen:
    back = (days[-1] + 1 - days).astype(np.float64)
    roots, logs = _whitening(tuple(back.tolist()))
    known = [np.ones(len(days)), -back, np.zeros(len(days))]
    slope, level = np.polyfit(-back, values, 1)
    weekly = [cycle(days) * relative(level - slope * back, level)[:, None]] if has_cycle(days) else []
    rows = np.column_stack([*known, *weekly, shocks])
    plain = np.repeat(rows[None], len(GRID), axis=0)
    plain[:, :, NOISE] = GRID[:, :1] ** back
    prior = np.zeros((len(GRID), 1, rows.shape[1]))
    prior[:, 0, NOISE] = 1.0
    design = np.concatenate([roots @ plain, prior], axis=1)
    # Centred, so that the squares of large values do not drown what is left of them.
    whitened = roots @ (values - values.mean())
    return _Seen(design, np.pad(whitened, ((0, 0), (0, 1))), roots, logs)


def relative(trend: Floats, level: Floats) -> Floats:
    """Return a trend relative to a level, 1 if that is not above 0: noise and cycles grow with their trend."""
    size = np.ones(trend.shape)
    np.divide(trend, level, out=size, where=level > 0)
    return np.clip(size, 1 / MOST_GROWN, MOST_GROWN)


def has_cycle(days: Longs) -> bool:
    """Whether the history is long enough to look for a cycle of the week."""
    return int(days[-1] - days[0]) + 1 >= CYCLE_FROM and len(np.unique(days % WEEK)) == WEEK


@lru_cache(maxsize=CACHED)
def _whitening(back: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Return `roots` and `logs` of `_Seen`. `back`: days before the day after the last."""
    ago = np.array(back)
    apart, both = np.abs(ago[:, None] - ago[None]), ago[:, None] + ago[None]
    near, far = np.minimum(ago[:, None], ago[None]), np.maximum(ago[:, None], ago[None])
    correlation, wander, bend = (GRID[:, index, None, None] for index in range(3))
    # 0 ** 0 is 1: noise without correlation still is noise.
    noise = correlation**apart - correlation**both
    covariance = noise + wander * near + bend * near**2 * (3 * far - near) / 6
    lower = np.linalg.cholesky(covariance)
    logs = 2 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return np.linalg.inv(lower), logs


STICKS_OUT: Final = 4.5
"""In standard errors. Ordinary noise reaches that in three of 1,000 histories of 42 days, as tried."""
RARE: Final = 10
"""At most one shock in so many days: more frequent ones belong to the trend."""
AT_EDGE: Final = 2
"""The first and last days can be no step: one or two days cannot distinguish a step from a spike."""


@dataclass(frozen=True, slots=True)
class Shocks:
    """K shocks."""

    at: Longs
    """(K,) index of the day."""
    stays: Bools
    """(K,) a step, not a spike."""

    def columns(self, count: int) -> Floats:
        """(count, K) contribution of each to each day, for a size of 1; a step is -1 on the days before it."""
        index = np.arange(count)[:, None]
        return np.where(self.stays, -1.0 * (index < self.at), 1.0 * (index == self.at))


NONE: Final = Shocks(np.zeros(0, np.int64), np.zeros(0, np.bool_))


def find(days: Longs, values: Floats, kind: Kind, resolution: float) -> Shocks:
    """Find the shocks of a history. Arguments as in `fit`."""
    found, count = NONE, len(days)
    steps, spikes = np.arange(AT_EDGE, count - AT_EDGE), np.arange(count)
    candidates = Shocks(np.concatenate([steps, spikes]), np.arange(len(steps) + len(spikes)) < len(steps))
    for _ in range(count // RARE):
        best = int(np.argmax(fit(days, values, found.columns(count), kind, resolution).weights))
        far = studentized(days, values, found.columns(count), candidates.columns(count), best, resolution)
        worst = int(np.argmax(far))
        if not far[worst] > STICKS_OUT:
            break
        found = Shocks(np.append(found.at, candidates.at[worst]), np.append(found.stays, candidates.stays[worst]))
    return found
