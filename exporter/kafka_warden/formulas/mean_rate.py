"""The mean of a rate over about three quota windows: the rate of one poll says little about a bursty producer.

docs/spec/lag.md#bytes-in. The law takes means. Arrays have one row per partition (P).
"""

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, Column, Floats

SPAN: Final = 36.0
"""Seconds that a mean spans, once so many were measured."""

GRAIN: Final = SPAN / 12
"""Least seconds between two kept sums before the last two: this bounds their number at any poll interval."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Bytes in from the first poll up to one poll, as far as known."""

    clock: float
    bytes: Annotated[Floats, Column(Axis.PARTITION, 0.0)]
    """(P,)"""
    seconds: Annotated[Floats, Column(Axis.PARTITION, 0.0)]
    """(P,) seconds in which the rate was known."""


@dataclass(frozen=True, slots=True)
class MeanRate:
    """State of the fold: sums of the last polls, oldest first."""

    sums: tuple[Sums, ...] = ()


def add(before: Sums | None, clock: float, rates: Floats) -> Sums:
    """Add the rates (P,) since the sums before; NaN is unknown and counts for nothing."""
    if before is None:
        return Sums(clock, np.zeros(len(rates)), np.zeros(len(rates)))
    elapsed = np.where(np.isnan(rates), 0.0, max(clock - before.clock, 0.0))
    return Sums(clock, before.bytes + np.nan_to_num(rates) * elapsed, before.seconds + elapsed)


def step(state: MeanRate, clock: float, rates: Floats) -> tuple[MeanRate, Floats]:
    """Add the rates (P,) since the previous poll: `(state, mean)`, each time-weighted, in the unit of `rates`.

    NaN is unknown. Such a poll does not count. A row without any known rate in the span is NaN.
    """
    now = add(state.sums[-1] if state.sums else None, clock, rates)
    sums = _thin((*state.sums, now))
    seconds = now.seconds - sums[0].seconds
    mean = np.full(len(rates), np.nan)
    np.divide(now.bytes - sums[0].bytes, seconds, out=mean, where=seconds > 0)
    return MeanRate(sums), mean


def spanned(state: MeanRate) -> Floats:
    """Seconds (P,) that the last means span."""
    seconds: Floats = state.sums[-1].seconds - state.sums[0].seconds
    return seconds


def at_least(mean: Floats, rates: Floats) -> Floats:
    """The rate (P,) that lasts: the mean, or the present rate where that is lower. A burst passes, a load ends."""
    return np.fmin(mean, rates)


def _thin(sums: tuple[Sums, ...]) -> tuple[Sums, ...]:
    """Keep the sums of the span and one older. A sum that is closer than `GRAIN` to its neighbour can go."""
    first = max((index for index, seen in enumerate(sums) if sums[-1].clock - seen.clock >= SPAN), default=0)
    *kept, last = sums[first:]
    if len(kept) > 1 and kept[-1].clock - kept[-2].clock < GRAIN:
        kept.pop()
    return (*kept, last)
