"""The time of a poll, how long its values hold, and what changed since the poll before it.

Seconds, bytes and bytes per second. docs/pipeline-moves-backtest.md.
"""

import math
from typing import Any, Final

from kafka_warden.formulas.ops import Ops, V

STEP: Final = 1.0
"""Seconds by which a wall clock may be off its run's monotonic one; more is a step, and no slow correction."""

LONGEST_STEP: Final = 86400.0
"""Seconds by which polls may be late for the next day of their run; a later clock is wrong as a whole."""

SILENT_AFTER: Final = 3.0
"""Usual intervals for which the values of a poll hold: docs/spec/README.md#old-values."""


def steady_time(ops: Ops[V], time: V, clock: V, offset: V) -> V:
    """Unix seconds of a poll, by the monotonic clock where the wall clock had been set wrong or was set.

    `offset` is what wall and monotonic clock usually differ by in this run.
    """
    by_clock: V = clock + offset
    off: V = time - by_clock
    return ops.when((off > STEP) | (off < -STEP), by_clock, time)


def in_order(ops: Ops[V], at: V, following: V) -> V:
    """Unix seconds of a poll that is not later than its run's polls of the next day, which begins at `following`.

    The clock was set back between the two, by up to a day, and the time of the first day is that before.
    """
    latest: V = following - STEP
    return ops.when((at > latest) & (at <= latest + LONGEST_STEP), latest, at)


def silence(ops: Ops[V], usual: V, interval: V) -> V:
    """Seconds for which the values of a poll hold, from the usual interval in history or `poll.interval`."""
    after: V = ops.greatest(usual, interval) * SILENT_AFTER
    return after


def held(ops: Ops[V], until_next: V, silent_after: V) -> V:
    """Seconds for which the values of a poll hold: until the next poll, but not through a silence."""
    return ops.least(ops.greatest(until_next, ops.lit(0.0)), silent_after)


def growth(ops: Ops[V], size: V, before: V) -> V:
    """Bytes by which a log grew between two polls, not below 0: deletion by retention does not count."""
    return ops.greatest(size - before, ops.lit(0.0))


def mean_rate(ops: Ops[V], amount: V, seconds: V) -> Any:
    """Amount per second; unknown where no time passed."""
    return ops.divide(amount, seconds)


def not_further(ops: Ops[V], stalled: V, between: V) -> V:
    """Seconds between two polls in which a move did not advance, from the time since it last did."""
    return ops.least(stalled, between)


def side_use(ops: Ops[V], floor: V, catch_up: V, limit: V) -> Any:
    """Share of a broker's limit in use: in-sync traffic that counts against it, plus the bytes that moves copy.

    0 without a limit, unknown at a limit of 0.
    """
    used: Any = ops.divide(floor + catch_up, limit)
    return ops.when(limit >= math.inf, ops.lit(0.0), used)


def relative_error(ops: Ops[V], predicted: V, taken: V) -> Any:
    """By which share a prediction was too long, negative when too short: predicted / taken - 1. `+inf` for never."""
    quotient: Any = ops.divide(predicted, taken)
    return quotient if quotient is None else quotient - 1.0


def share(ops: Ops[V], count: V, limit: V) -> Any:
    """Share of a limit that is used: 0 without one, unknown at a limit of 0."""
    return ops.divide(count, limit)
