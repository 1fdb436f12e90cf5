"""The baseline: a straight line through all days, as a spreadsheet or Prometheus' `predict_linear` draws it."""

import math
from typing import Final

import numpy as np

from kafka_warden.formulas.ops import Floats, Longs

ROUNDING: Final = 1e-6
"""Days that a line may be late by: floats do not meet a limit exactly."""


def straight_line(days: Longs, values: Floats) -> tuple[float, float]:
    """Fit by least squares: value on day 0 and change a day. At least two days."""
    slope, level = np.polyfit(days.astype(np.float64) - days[-1], values, 1).tolist()
    return level - slope * float(days[-1]), slope


def crossing(level: float, slope: float, limit: float, after: int) -> int | None:
    """The first whole day after `after` on which the line is at a limit, `None` for never."""
    if level + slope * (after + 1) >= limit:
        return after + 1
    if slope <= 0 or math.isinf(limit):
        return None
    return math.ceil((limit - level) / slope - ROUNDING)
