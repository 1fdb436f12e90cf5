"""The log ends of the last minute, thinned to bound their number at any poll interval.

Columns of a poll are kept by reference: at 10 s a poll this is seven pairs of columns of the partitions
and three of the replicas. They have the rows of the latest snapshot, so nothing is matched against older ones.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Final, TypeVar

import numpy as np

from kafka_warden.arrays import Axis, Column
from kafka_warden.model import UNKNOWN, Bools, Floats, Longs

HORIZON: Final = 60.0
"""Seconds of the monotonic clock that it reaches back: five quota windows."""

LEADER_GRAIN: Final = HORIZON / 12
"""Seconds between two kept polls of the leaders, older than the last `DENSE`: values in between are interpolated."""

DENSE: Final = 3
"""Polls before the latest that are kept however close they are: these show which followers caught up or came back."""

FOLLOWER_GRAINS: Final = 4
"""Kept polls of the followers in a quota window, older than the last `DENSE`."""


@dataclass(frozen=True, slots=True)
class LeaderEnds:
    """Log ends of the leaders in one poll. P partitions."""

    clock: float
    at: Annotated[Floats, Column(Axis.PARTITION, 0.0)]
    """(P,) monotonic seconds of each answer."""
    end: Annotated[Longs, Column(Axis.PARTITION, UNKNOWN)]
    """(P,) `UNKNOWN` without an answer, or from a leader of an older epoch."""


@dataclass(frozen=True, slots=True)
class FollowerEnds:
    """Log ends of the replicas in one poll. R replicas."""

    clock: float
    end: Annotated[Longs, Column(Axis.REPLICA, UNKNOWN)]
    """(R,) last known end."""
    messages: Annotated[Longs, Column(Axis.REPLICA, UNKNOWN)]
    """(R,) lag."""


Ends = TypeVar("Ends", bound=LeaderEnds | FollowerEnds)


def append_leaders(history: tuple[LeaderEnds, ...], now: LeaderEnds, elected: Bools) -> tuple[LeaderEnds, ...]:
    """Add the ends of this poll; ends from before an election (P,) are not comparable and become `UNKNOWN`."""
    if elected.any():
        history = tuple(replace(seen, end=np.where(elected, UNKNOWN, seen.end)) for seen in history)
    return _append(history, now, HORIZON, LEADER_GRAIN)


def append_followers(history: tuple[FollowerEnds, ...], now: FollowerEnds, window: float) -> tuple[FollowerEnds, ...]:
    """Add the ends of this poll, and keep what a look back by a quota window in seconds needs."""
    return _append(history, now, window, window / FOLLOWER_GRAINS)


def look_back(history: tuple[FollowerEnds, ...], seconds: float) -> FollowerEnds | None:
    """Return the latest poll that lies at least so many seconds before the last one; `None` if none does."""
    clock = history[-1].clock if history else 0.0
    return next((seen for seen in reversed(history) if clock - seen.clock >= seconds), None)


def _append(history: tuple[Ends, ...], now: Ends, reach: float, grain: float) -> tuple[Ends, ...]:
    """Keep polls within the reach and one beyond it; before the dense ones, one per grain."""
    samples = (*history, now)
    first = max((index for index, seen in enumerate(samples) if now.clock - seen.clock >= reach), default=0)
    kept = samples[first:]
    leaving = len(kept) - 2 - DENSE
    if leaving > 0 and kept[leaving].clock - kept[leaving - 1].clock < grain:
        return kept[:leaving] + kept[leaving + 1 :]
    return kept
