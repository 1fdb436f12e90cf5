"""Formulas that depend on the order of polls: `step(state, sample) -> (state, out)`, once a poll.

Times are seconds of one clock, the caller's: monotonic when live, so that a stepped wall clock changes nothing. A
clock that stands still or goes backwards gives ages of 0, never negative ones. docs/spec/README.md#ages.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kafka_warden.arrays import Bools, Floats

Key = TypeVar("Key", bound=Hashable)


def since(start: float | None, clock: float, holds: bool | None) -> tuple[float | None, float | None]:
    """For how long a condition has held without a break: `(start, seconds)`, None while it does not hold.

    An unknown condition (`holds` None) neither starts nor ends the period.
    Used for `replica_out_of_sync_seconds`, `*_problem_seconds` and every other "since". docs/spec/README.md#ages.
    """
    if holds is False:
        return None, None
    if start is None and holds is None:
        return None, None
    begun = clock if start is None else min(start, clock)
    return begun, clock - begun


def since_rows(start: Floats, clock: float, holds: Bools) -> tuple[Floats, Floats]:
    """`since` for R rows at once; NaN where the condition does not hold. Shapes (R,); seconds."""
    begun = np.where(holds, np.where(np.isnan(start), clock, np.minimum(start, clock)), np.nan)
    return begun, clock - begun


@dataclass(frozen=True, slots=True)
class Minimum:
    """State of the stall clock: the least value so far, when it was reached, and how many samples followed."""

    value: float
    at: float
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Stall:
    """For how long there was no new minimum: in seconds and in samples (polls) that each failed to bring one."""

    seconds: float = 0.0
    samples: int = 0


def stall(state: Minimum | None, clock: float, value: float | None) -> tuple[Minimum | None, Stall | None]:
    """Now less the last *new minimum* of `value` (bytes or messages that remain): docs/spec/moves.md#progress.

    A move that copies less than its inbound rate makes no new minimum: it is stalled. An unknown value keeps the state
    and returns None. Start again with state None when the sum is over other partitions, or the leader changes.
    """
    if value is None:
        return state, None
    if state is None or value < state.value:
        return Minimum(value, clock), Stall()
    after = Minimum(state.value, min(state.at, clock), state.samples + 1)
    return after, Stall(clock - after.at, after.samples)


def debounce(shown: Key | None, candidate: Key | None, seen: Key) -> tuple[Key, Key]:
    """A shown value changes only after two polls that agree: `(shown, candidate)`, the next state.

    The first value is shown at once. docs/spec/README.md#ages.
    """
    return (seen if shown is None or seen == candidate else shown), seen
