"""Days that the trend does not explain: a step that stays (a topic created or deleted), a spike that ends next day.

Shocks are removed from the trend and drawn again in the simulated paths, as frequent and as large as before. They are
found one by one, the largest first (Chen and Liu, Joint Estimation of Model Parameters and Outlier
Effects in Time Series, JASA 88, 1993), each by its distance from all other days (externally studentized).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.arrays import Bools, Floats, Longs
from kafka_warden.pipeline.forecast.trend import Kind, Trends, fit, studentized

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
        found: Floats = np.where(self.stays, -1.0 * (index < self.at), 1.0 * (index == self.at))
        return found


NONE: Final = Shocks(np.zeros(0, np.int64), np.zeros(0, np.bool_))


def find(days: Longs, values: Floats, kind: Kind, resolution: float) -> tuple[Shocks, Trends]:
    """Find the shocks of a history, and the trend without them. Arguments as `trend.fit`."""
    found, count = NONE, len(days)
    candidates = _candidates(count)
    trends = fit(days, values, found.columns(count), kind, resolution)
    for _ in range(count // RARE):
        best = int(np.argmax(trends.weights))
        far = studentized(days, values, found.columns(count), candidates.columns(count), best, resolution)
        worst = int(np.argmax(far))
        if not far[worst] > STICKS_OUT:
            break
        found = Shocks(np.append(found.at, candidates.at[worst]), np.append(found.stays, candidates.stays[worst]))
        trends = fit(days, values, found.columns(count), kind, resolution)
    return found, trends


def _candidates(count: int) -> Shocks:
    steps, spikes = np.arange(AT_EDGE, count - AT_EDGE), np.arange(count)
    stays = np.concatenate([np.ones(len(steps), np.bool_), np.zeros(len(spikes), np.bool_)])
    return Shocks(np.concatenate([steps, spikes]), stays)
