"""Daily and weekly cycles of the produce rate, and its slow noise."""

import math
from typing import Final

import numpy as np

from fleet.settings import DAY, HOUR, WEEK
from kafka_warden.model import Floats

NOON: Final = 14 * HOUR
"""Busiest time of the day, UTC."""

QUIET_WEEKEND: Final = 0.65
"""Produce rate of a Saturday or Sunday, as a share of other days."""

SPREAD: Final = 0.12
"""Standard deviation of the noise's logarithm."""

MEMORY: Final = 20 * 60.0
"""Correlation time of the noise in seconds."""


def cycle(moment: Floats, phase: Floats, swing: Floats) -> Floats:
    """Produce rate at moments (Unix s), as a share of the mean of a week; shapes broadcast."""
    day = 1.0 + swing * np.cos(2 * math.pi * (moment - phase - NOON) / DAY)
    # 1970-01-01 was a Thursday: Saturday begins two days later.
    weekend = np.isin(moment % WEEK // DAY, (2.0, 3.0))
    shape: Floats = day * np.where(weekend, QUIET_WEEKEND, (7 - 2 * QUIET_WEEKEND) / 5)
    return shape


def drifted(noise: Floats, seconds: float, draws: Floats) -> Floats:
    """The noise some seconds later; `draws` are of a standard normal distribution."""
    kept = math.exp(-seconds / MEMORY)
    later: Floats = noise * kept + draws * (SPREAD * math.sqrt(1 - kept * kept))
    return later
