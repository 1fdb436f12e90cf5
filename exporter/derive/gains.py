"""What the moves between two brokers gain on their leader: measured, over the replicas that have finished, too.

The slope of what the unfinished ones lack would miss what the finished ones took of the same fetches until now, and
with it up to half of the rate by the end of a move. throttle-law.md, Caveats; judgement.md 5, ETA.
"""

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from exporter.derive.changes import Change, MoveKey
from exporter.derive.flows import Flow, Pair
from exporter.derive.frame import Frame
from exporter.formulas import law, moves

LONGEST: Final = 10
"""Slopes that an ETA stands on span at most this many times 12 s: bursts are coarse, two minutes average them out."""


@dataclass(frozen=True, slots=True)
class Gains:
    """Bytes that a pair of brokers gained, added up since it was first seen, at the times of the last polls."""

    left: Mapping[MoveKey, float] = field(default_factory=dict)
    """What each replica lacked when it was last counted."""
    times: tuple[float, ...] = ()
    total: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """Net rates in bytes per second, each with the seconds that it spans; `None` before there is one to believe."""

    recent: tuple[float, float] | None = None
    """Over 36 s at most: tells soon that nothing is gained any more."""
    steady: tuple[float, float] | None = None
    """Over two minutes at most: what an ETA stands on."""


def follow_gains(
    frame: Frame,
    groups: Mapping[Pair, list[int]],
    keys: Mapping[int, MoveKey],
    remaining: Mapping[int, float | None],
    before: Mapping[Pair, Gains],
) -> dict[Pair, Gains]:
    """Add what was gained since the last poll in which everything was known.

    Args:
        frame: the snapshot.
        groups: rows of the replicas that are being added, by pair of brokers.
        keys: row to move.
        remaining: row to the bytes that the replica lacks.
        before: as of the previous poll.
    """
    now = {pair: {keys[row]: remaining[row] for row in rows} for pair, rows in groups.items()}
    # A pair that cannot be counted now keeps what has gone until it can.
    counted = {pair for pair, left in now.items() if None not in left.values()}
    gone = {key for pair in counted if pair in before for key in before[pair].left} - set(keys.values())
    finished, clock = _finished(frame, gone), frame.snapshot.clock
    oldest = clock - (LONGEST + 2) * longest_settling(frame)
    return {pair: _add(before.get(pair, Gains()), clock, oldest, left, finished) for pair, left in now.items()}


def longest_settling(frame: Frame) -> float:
    """Tell the settling time of the longest quota window that a broker has, in seconds: slopes span multiples of it."""
    windows = {(c.quota_window_num, c.quota_window_size) for c in frame.snapshot.broker_configs.values()}
    return max((law.Window(*window).settling for window in windows), default=law.DEFAULT_WINDOW.settling)


def _finished(frame: Frame, gone: Collection[MoveKey]) -> set[MoveKey]:
    """Find those no longer being added that stay where they went, and were not cancelled."""
    if not gone:
        return set()
    snapshot = frame.snapshot
    topics = {key: index for index, key in enumerate(zip(snapshot.topic_ids, snapshot.topics, strict=True))}
    return {key for key in gone if _stays(frame, topics.get(key[:2]), key)}


def _stays(frame: Frame, topic: int | None, key: MoveKey) -> bool:
    row = None if topic is None else frame.find_replica(topic, *key[2:])
    return row is not None and bool(frame.snapshot.replicas.in_isr[row])


def measure(gains: Gains, change: Change, window: law.Window) -> Measured:
    """Measure from one settling time after the last change on: what lies before tells of another throttle."""
    first = int(np.searchsorted(gains.times, change.at + window.settling))
    times, total = gains.times[first:], gains.total[first:]
    return Measured(
        recent=moves.slope(times, total, window) if times else None,
        steady=moves.slope(times, total, window, LONGEST) if times else None,
    )


def measure_all(
    gains: Mapping[Pair, Gains], changes: Mapping[Pair, Change], flows: Mapping[Pair, Flow]
) -> dict[Pair, Measured]:
    """Measure every pair of brokers."""
    return {
        pair: measure(found, changes[pair], flows[pair].window if pair in flows else law.DEFAULT_WINDOW)
        for pair, found in gains.items()
    }


def _add(
    before: Gains,
    clock: float,
    oldest: float,
    now: Mapping[MoveKey, float | None],
    finished: Container[MoveKey],
) -> Gains:
    known = {key: left for key, left in now.items() if left is not None}
    if len(known) < len(now):
        return before
    gained = sum(left - known.get(key, 0.0) for key, left in before.left.items() if key in known or key in finished)
    kept = moves.first_kept(before.times, oldest)
    total = (before.total[-1] if before.total else 0.0) + gained
    return Gains(known, (*before.times[kept:], clock), (*before.total[kept:], total))
