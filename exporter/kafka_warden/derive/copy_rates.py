"""Measured rates at which the moves of a flow gain on their leader, including replicas that completed.

The slope of the unfinished replicas alone would miss the share of the completed ones in the same fetches: up to half of
the rate by the end of a move. docs/spec/moves.md#eta.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

import numpy as np

from kafka_warden.derive.columns import Saved
from kafka_warden.derive.law import DEFAULT_WINDOW, FlowKey, Trend, Window
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import SideKey, Throttles
from kafka_warden.model import SIDES, UNLIMITED, Floats

LONGEST_SLOPE: Final = 3
"""Slopes span at most this many times 12 s: past 36 s they gain nothing, and B and inbound have changed."""

ROUNDING: Final = 1e-6
"""Seconds by which 12 s may be missed: clocks are floats."""


def slope(
    times: Sequence[float], values: Sequence[float], window: Window = DEFAULT_WINDOW, longest: int = LONGEST_SLOPE
) -> Trend | None:
    """Change per second of a series: over the longest multiple of 12 s that the series covers.

    None below 12 s, which is noise: bursts come every 11.5 s. The value at the start of the span is interpolated.
    `times` ascend; the caller leaves out samples from before a change.
    """
    span = _span(times, window, longest)
    if not span:
        return None
    return Trend((values[-1] - float(np.interp(times[-1] - span, times, values))) / span, span)


def trend(
    times: Sequence[float], values: Sequence[float], window: Window = DEFAULT_WINDOW, longest: int = LONGEST_SLOPE
) -> Trend | None:
    """The line of least squares over the span that `slope` takes; None where that has none.

    Bursts make a series of steps, and the two polls of `slope` may lie anywhere on their steps. Many polls even this
    out, and the line shows where between two steps the last poll lies. Arguments as of `slope`.
    """
    span = _span(times, window, longest)
    if not span:
        return None
    start = times[-1] - span
    first = int(np.searchsorted(times, start, side="right"))
    seen = np.array([start, *times[first:]]) - times[-1]
    heights = np.array([float(np.interp(start, times, values)), *values[first:]])
    x, y = seen - seen.mean(), heights - heights.mean()
    rate = float((x * y).sum() / (x * x).sum())
    return Trend(rate, span, float(heights[-1] - heights.mean() + rate * seen.mean()))


def _span(times: Sequence[float], window: Window, longest: int) -> float:
    """Seconds of the longest multiple of 12 s that a series covers; 0 where it covers none."""
    covered = times[-1] - times[0] if len(times) else 0.0
    return window.settling * min(int((covered + ROUNDING) / window.settling), longest)


def first_kept(times: Sequence[float], oldest: float) -> int:
    """Index of the first sample to keep: the last one before `oldest`, so that any two polls make a slope.

    `times` ascend, seconds. 0 where nothing is older.
    """
    return max(int(np.searchsorted(times, oldest, side="right")) - 1, 0)


@dataclass(frozen=True, slots=True)
class Minimum:
    """State of the stall clock: the least value so far, when it was reached, and how many samples followed."""

    value: Annotated[float, Saved("value")]
    at: Annotated[float, Saved("at", time=True)]
    samples: Annotated[int, Saved("samples")] = 0


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


MoveKey = tuple[bytes, str, int, int]
"""Topic id, topic name, partition, broker of the replica: a topic that was created again is another move."""

MOVES: Final = Saved("moves", ("topic_id", "topic", "partition", "broker"))
FLOWS: Final = Saved("pairs", FlowKey._fields)
"""Tables of the state file."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a slope depends on, and when it last changed, in monotonic seconds."""

    limits: Annotated[tuple[float | None, float | None], Saved("limits")]
    """Of the leader and of the target as last known, `+inf` where it does not hold the flow back; `None` before."""
    moves: Annotated[Mapping[MoveKey, bool], Saved("throttled")]
    """Whether the replica of each move is in the ISR."""
    at: Annotated[float, Saved("changed_at", time=True)]


def move_key(indexed: IndexedSnapshot, row: int) -> MoveKey:
    """Return the key of the move that waits for a replica."""
    snapshot = indexed.snapshot
    partition = snapshot.replicas.partition[row]
    topic = int(snapshot.partitions.topic[partition])
    number, broker = int(snapshot.partitions.number[partition]), int(snapshot.replicas.broker[row])
    return snapshot.topic_ids[topic], snapshot.topics[topic], number, broker


def hold_as_before(indexed: IndexedSnapshot, throttles: Throttles, before: Mapping[FlowKey, Change]) -> Throttles:
    """Let moves whose lists are not known stay in the flow of the previous poll."""
    if throttles.lists_known:
        return throttles
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    unknown = partitions.reassigning & ~throttles.lists_known_by_topic[partitions.topic]
    flows = {move: flow for flow, change in before.items() for move in change.moves}
    held = {side: column.copy() for side, column in throttles.held.items()}
    for row in np.flatnonzero(unknown[replicas.partition]).tolist():
        flow = flows.get(move_key(indexed, row))
        for side in SIDES:
            held[side][row] = flow is not None and flow.listed(side)
    return replace(throttles, last_held=held)


def derive_changes(
    indexed: IndexedSnapshot,
    throttles: Throttles,
    groups: Mapping[FlowKey, list[int]],
    keys: Mapping[int, MoveKey],
    before: Mapping[FlowKey, Change],
    floors: AbstractSet[SideKey],
) -> dict[FlowKey, Change]:
    """Return the last change of limits, lists, ISR and floors of each flow.

    Moves that come or end, and replicas that join the ISR as they end, do not change the others; a move that the lists
    put into another flow changes both. `floors` are those that changed with this poll.
    """
    in_isr, clock = indexed.snapshot.replicas.in_isr, indexed.snapshot.clock
    now = {
        flow: Change(_limits(throttles, flow, before.get(flow)), {keys[row]: bool(in_isr[row]) for row in rows}, clock)
        for flow, rows in groups.items()
    }
    altered = _altered(before, now)
    for flow in now.keys() & before.keys() - altered:
        # The floor of a limit that is not set holds nothing back.
        held = [
            (flow.broker(side), side) for side, limit in zip(SIDES, now[flow].limits, strict=True) if limit != UNLIMITED
        ]
        if before[flow].limits == now[flow].limits and not floors & set(held):
            now[flow] = replace(now[flow], at=min(before[flow].at, clock))
    return now


def _limits(throttles: Throttles, flow: FlowKey, before: Change | None) -> tuple[float | None, float | None]:
    now = (throttles.limit(flow.broker(side), side) if flow.listed(side) else UNLIMITED for side in SIDES)
    last = (None, None) if before is None else before.limits
    leader, target = (then if limit is None else limit for limit, then in zip(now, last, strict=True))
    return leader, target


def _altered(before: Mapping[FlowKey, Change], now: Mapping[FlowKey, Change]) -> set[FlowKey]:
    """Find flows of which a move left the ISR, or into or out of which the lists put one."""
    known = {move: (flow, in_isr) for flow, change in before.items() for move, in_isr in change.moves.items()}
    altered = set()
    for flow, change in now.items():
        for move, in_isr in change.moves.items():
            old, was_in_isr = known.get(move, (flow, in_isr))
            listed, was_listed = ([each.listed(side) for side in SIDES] for each in (flow, old))
            if listed != was_listed or in_isr < was_in_isr:
                altered |= {flow, old}
    return altered


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

    recent: Trend | None = None
    """Over 36 s at most: shows soon that nothing is gained any more."""
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
    windows = {Window(c.quota_window_num, c.quota_window_size) for c in indexed.snapshot.broker_configs.values()}
    return max(window.settling for window in (DEFAULT_WINDOW, *windows))


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
            held = any(throttles.last_held[side][row] for side in SIDES)
            finished[key] = 0.0 if math.isnan(rate) or held else rate
    return finished


def measure(copy_progress: CopyProgress, change: Change, window: Window) -> Measured:
    """Measure from one settling time after the last change: earlier samples belong to another throttle."""
    first = int(np.searchsorted(copy_progress.times, change.at + window.settling))
    times = copy_progress.times[first:]
    if not times:
        return Measured()
    return Measured(
        recent=slope(times, copy_progress.total[first:], window),
        steady=trend(times, _unburdened(copy_progress)[first:], window, LONGEST),
    )


def trend_over(copy_progress: CopyProgress, seconds: float, window: Window) -> Trend | None:
    """Measure over the last `seconds`, a multiple of the settling time, or over the whole series if shorter."""
    return trend(copy_progress.times, _unburdened(copy_progress), window, round(seconds / window.settling))


def _unburdened(copy_progress: CopyProgress) -> tuple[float, ...]:
    """Return the gain at each time without the inbound traffic of replicas that have completed since."""
    if not copy_progress.finished:
        return copy_progress.total
    ended, rates = np.array(copy_progress.finished).T
    spared = np.minimum(np.subtract.outer(copy_progress.times, ended), 0.0) @ rates
    return tuple((copy_progress.total + spared).tolist())


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
    kept = first_kept(before.times, oldest)
    total = (before.total[-1] if before.total else 0.0) + gained
    spared = sum(finished.get(key, 0.0) for key in before.left)
    over = (*before.finished, (clock, spared)) if spared else before.finished
    return CopyProgress(
        known,
        (*before.times[kept:], clock),
        (*before.total[kept:], total),
        tuple(entry for entry in over if entry[0] >= oldest),
    )
