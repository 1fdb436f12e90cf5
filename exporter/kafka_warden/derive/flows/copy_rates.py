"""Measured rates at which the moves of a flow gain on their leader, including replicas that completed.

The slope of the unfinished replicas alone would miss the share of the completed ones in the same fetches: up to half of
the rate by the end of a move. docs/spec/moves.md#eta.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from kafka_warden.derive.flows.changes import Change, MoveKey
from kafka_warden.derive.flows.flow import Flow
from kafka_warden.derive.flows.keys import FlowKey
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.formulas import law, moves
from kafka_warden.formulas.moves import Trend
from kafka_warden.model import SIDES, Floats

LONGEST: Final = 10
"""Slopes of ETAs span at most this many times 12 s: two minutes average the bursts out."""


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """Cumulated bytes that a flow gained, at the times of the last polls."""

    left: Mapping[MoveKey, float] = field(default_factory=dict)
    """Bytes that each replica lacked when last counted."""
    times: tuple[float, ...] = ()
    total: tuple[float, ...] = ()
    finished: tuple[tuple[float, float], ...] = ()
    """When replicas completed, and their inbound rates, which cost no gain any more."""
    ended: bool = False
    """All its replicas have completed. Its gain is kept for flows that shared a limit with it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Net rates in bytes per second; `None` before there is one to believe."""

    recent: tuple[float, float] | None = None
    """(rate, seconds), over 36 s at most: shows soon that nothing is gained any more."""
    steady: Trend | None = None
    """Over two minutes at most, for ETAs."""


def follow_copies(
    indexed: IndexedSnapshot,
    groups: Mapping[FlowKey, list[int]],
    keys: Mapping[int, MoveKey],
    remaining: Mapping[int, float | None],
    bytes_in: Floats,
    throttles: Throttles,
    before: Mapping[FlowKey, CopyProgress],
) -> dict[FlowKey, CopyProgress]:
    """Add the gain since the last poll in which everything was known.

    `remaining` is by row and in bytes, `bytes_in` (P,) in bytes per second, `before` as of the previous poll.
    """
    now = {flow: {keys[row]: remaining[row] for row in rows} for flow, rows in groups.items()}
    # A flow with an unknown part keeps its completed replicas until all parts are known.
    counted = {flow for flow in before if None not in now.get(flow, {}).values()}
    gone = {key for flow in counted for key in before[flow].left} - set(keys.values())
    finished, clock = _finished(indexed, gone, bytes_in, throttles), indexed.snapshot.clock
    oldest = clock - (LONGEST + 2) * longest_settling(indexed)
    begun = {flow: progress for flow, progress in before.items() if not progress.ended}
    going = {flow: _add(begun.get(flow, CopyProgress()), clock, oldest, left, finished) for flow, left in now.items()}
    over = {flow: _add(before[flow], clock, oldest, {}, finished) for flow in before if flow not in now}
    return going | {
        flow: replace(copy_progress, ended=True)
        for flow, copy_progress in over.items()
        if copy_progress.total[0] != copy_progress.total[-1]
    }


def longest_settling(indexed: IndexedSnapshot) -> float:
    """Return the settling time of the longest quota window of all brokers, in seconds: slopes span multiples of it.

    Never below the default, which is used without a limit.
    """
    windows = {law.Window(c.quota_window_num, c.quota_window_size) for c in indexed.snapshot.broker_configs.values()}
    return max(window.settling for window in (law.DEFAULT_WINDOW, *windows))


def _finished(
    indexed: IndexedSnapshot, gone: Collection[MoveKey], bytes_in: Floats, throttles: Throttles
) -> dict[MoveKey, float]:
    """Find replicas that completed their move, each with the inbound rate that it leaves to the others.

    0 where a list still names it: its traffic counts against the limit now.
    """
    if not gone:
        return {}
    snapshot, finished = indexed.snapshot, {}
    topics = {key: index for index, key in enumerate(zip(snapshot.topic_ids, snapshot.topics, strict=True))}
    for key in gone:
        topic = topics.get(key[:2])
        row = None if topic is None else indexed.find_replica(topic, *key[2:])
        if row is not None and snapshot.replicas.in_isr[row]:
            rate = float(bytes_in[snapshot.replicas.partition[row]])
            held = any(throttles.held[side][row] for side in SIDES)
            finished[key] = 0.0 if math.isnan(rate) or held else rate
    return finished


def measure(copy_progress: CopyProgress, change: Change, window: law.Window) -> Measured:
    """Measure from one settling time after the last change: earlier samples belong to another throttle."""
    first = int(np.searchsorted(copy_progress.times, change.at + window.settling))
    times = copy_progress.times[first:]
    if not times:
        return Measured()
    return Measured(
        recent=moves.slope(times, copy_progress.total[first:], window),
        steady=moves.trend(times, _unburdened(copy_progress)[first:], window, LONGEST),
    )


def trend_over(copy_progress: CopyProgress, seconds: float, window: law.Window) -> Trend | None:
    """Measure over the last `seconds`, a multiple of the settling time, or over the whole series if shorter."""
    return moves.trend(copy_progress.times, _unburdened(copy_progress), window, round(seconds / window.settling))


def _unburdened(copy_progress: CopyProgress) -> tuple[float, ...]:
    """Return the gain at each time without the inbound traffic of replicas that have completed since."""
    if not copy_progress.finished:
        return copy_progress.total
    ended, rates = np.array(copy_progress.finished).T
    spared = np.minimum(np.subtract.outer(copy_progress.times, ended), 0.0) @ rates
    return tuple((copy_progress.total + spared).tolist())


def measure_all(
    copy_progress: Mapping[FlowKey, CopyProgress], changes: Mapping[FlowKey, Change], flows: Mapping[FlowKey, Flow]
) -> dict[FlowKey, Measured]:
    """Measure every flow that has not ended."""
    return {
        flow: measure(found, changes[flow], flows[flow].window if flow in flows else law.DEFAULT_WINDOW)
        for flow, found in copy_progress.items()
        if not found.ended
    }


def _add(
    before: CopyProgress,
    clock: float,
    oldest: float,
    now: Mapping[MoveKey, float | None],
    finished: Mapping[MoveKey, float],
) -> CopyProgress:
    known = {key: left for key, left in now.items() if left is not None}
    if len(known) < len(now):
        return before
    gained = sum(left - known.get(key, 0.0) for key, left in before.left.items() if key in known or key in finished)
    kept = moves.first_kept(before.times, oldest)
    total = (before.total[-1] if before.total else 0.0) + gained
    spared = sum(finished.get(key, 0.0) for key in before.left)
    over = (*before.finished, (clock, spared)) if spared else before.finished
    return CopyProgress(
        known,
        (*before.times[kept:], clock),
        (*before.total[kept:], total),
        tuple(entry for entry in over if entry[0] >= oldest),
    )
