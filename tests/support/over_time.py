"""Values of series as functions of the time, in seconds since the start of a test."""

import math
from collections.abc import Callable
from typing import Final

MINUTE: Final = 60.0
HOUR: Final = 3600.0
Function = Callable[[float], float | None]
"""None while the series is absent."""
Value = float | Function | None
"""A function, or the same value at all times."""


def constant(value: Value) -> Function:
    return value if callable(value) else lambda _: value


def scaled(value: Value, factor: float) -> Function:
    function = constant(value)
    return lambda t: None if (present := function(t)) is None else factor * present


def during(start: float, end: float, value: Value, otherwise: Value = 0.0) -> Function:
    """Return `value` from `start` until before `end`, and `otherwise` before and after."""
    inside, outside = constant(value), constant(otherwise)
    return lambda t: inside(t) if start <= t < end else outside(t)


def after(start: float, value: Value, otherwise: Value = 0.0) -> Function:
    """Return `value` from `start` on, and `otherwise` before."""
    return during(start, math.inf, value, otherwise)


def age(start: float, end: float = math.inf) -> Function:
    """Return the seconds since `start`; absent before it and from `end` on."""
    return during(start, end, lambda t: t - start, None)


def ramp(start: float, end: float, first: float, last: float) -> Callable[[float], float]:
    """Return a straight line from `first` at `start` to `last` at `end`, constant before and after."""
    return lambda t: first + (last - first) * min(1.0, max(0.0, (t - start) / (end - start)))


def in_each(period: float, length: float, value: Value, otherwise: Value = 0.0) -> Function:
    """Return `value` in the first `length` seconds of each period, and `otherwise` in the rest."""
    inside, outside = constant(value), constant(otherwise)
    return lambda t: inside(t) if t % period < length else outside(t)
