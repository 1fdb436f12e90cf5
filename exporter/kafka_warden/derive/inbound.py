"""PartitionBytesInRate of KIP-73: bytes a second appended to a partition's leader, without any per-partition bean.

docs/spec/lag.md#bytes-in. Arrays have one row per partition (P rows); NaN is unknown.

The law takes the mean of a rate over about three quota windows: the rate of one poll says little about a bursty
producer.
"""

from dataclasses import dataclass, fields, replace
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, Floats, Ints, Longs, StateColumn
from kafka_warden.derive.columns import append
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import UNKNOWN, Bools

DOWNWARD_WEIGHT = 0.1
"""How fast the bytes per appended offset of a compacted topic follow a lower reading, which cleaning may cause."""

SHORTEST: Final = 1e-6
"""Seconds. No two answers are closer; with a clock that nearly stands still any growth would be an infinite rate."""


@dataclass(frozen=True, slots=True)
class LeaderLogs:
    """The leaders' logs in one poll. P rows; `UNKNOWN` where unknown. Times are monotonic seconds."""

    leader: Annotated[Ints, StateColumn(Axis.PARTITION, UNKNOWN)]
    epoch: Annotated[Ints, StateColumn(Axis.PARTITION, UNKNOWN)]
    start: Annotated[Longs, StateColumn(Axis.PARTITION, UNKNOWN)]
    """Local log start offset."""
    end: Annotated[Longs, StateColumn(Axis.PARTITION, UNKNOWN)]
    ended_at: Annotated[Floats, StateColumn(Axis.PARTITION, 0.0)]
    """Time of the answer with `end`."""
    size: Annotated[Longs, StateColumn(Axis.PARTITION, UNKNOWN)]
    sized_at: Annotated[Floats, StateColumn(Axis.PARTITION, 0.0)]
    """Time of the answer with `size`; 0 before the first one."""


@dataclass(frozen=True, slots=True)
class BytesIn:
    """State of the fold."""

    previous: LeaderLogs
    """As of the previous poll."""
    sized: LeaderLogs
    """Each row as of the poll that brought the last answer of log dirs: end and start belong to that size."""
    per_offset: Annotated[Floats, StateColumn(Axis.PARTITION, np.nan)]
    """Learned bytes per offset of the whole log."""
    appended: Annotated[Floats, StateColumn(Axis.PARTITION, np.nan)]
    """Learned bytes per appended offset: in a compacted log much more than `per_offset`."""
    unpaced: Annotated[Bools, StateColumn(Axis.PARTITION, 0)]
    """Rows whose `per_offset` was learned before the pace of the log was known."""


def same_leader(before: LeaderLogs, now: LeaderLogs) -> Bools:
    """Rows (P,) whose leader and leader epoch are known and unchanged, so that two ends may be compared."""
    same: Bools = (now.leader != UNKNOWN) & (now.leader == before.leader) & (now.epoch == before.epoch)
    return same


def offsets_gained(before: LeaderLogs, now: LeaderLogs) -> Floats:
    """Offsets (P,) appended between two polls, NaN where unknown: first poll, new epoch, a falling end."""
    gained = now.end - before.end
    known = same_leader(before, now) & (before.end != UNKNOWN) & (now.end != UNKNOWN) & (gained >= 0)
    return np.where(known, gained, np.nan)


def messages_in_rate(before: LeaderLogs, now: LeaderLogs) -> Floats:
    """Offsets a second (P,) appended between two polls, NaN where unknown. Markers of transactions count, too."""
    return _over(offsets_gained(before, now), now.ended_at - before.ended_at)


def size_growth(sized: LeaderLogs, now: LeaderLogs) -> Floats:
    """Bytes (P,) by which the log grew between two answers of log dirs, NaN after a deletion or a new leader."""
    growth = now.size - sized.size
    fresh = (sized.size != UNKNOWN) & (now.size != UNKNOWN) & (now.sized_at > sized.sized_at)
    nothing_deleted = (now.start != UNKNOWN) & (now.start == sized.start)
    return np.where(same_leader(sized, now) & fresh & nothing_deleted & (growth >= 0), growth, np.nan)


def bytes_per_offset(logs: LeaderLogs, pace: Floats) -> Floats:
    """Bytes per offset (P,), NaN without an answer of log dirs. docs/spec/lag.md#bytes.

    size / (end - local start) of the leader's log, compacted or not: a follower copies what is left of it.

    `pace`: offsets a second (P,), NaN where unknown. The size is read after the end, and includes the bytes in
    between: a large part of a log that retention keeps to some seconds of traffic.
    """
    between = np.maximum(logs.sized_at - logs.ended_at, 0.0)
    held = logs.end - logs.start + np.nan_to_num(pace) * between
    found = (logs.size != UNKNOWN) & (logs.start != UNKNOWN) & (logs.end != UNKNOWN) & (held > 0)
    return np.where(found, logs.size / np.where(held > 0, held, 1), np.nan)


def learn_bytes_per_offset(state: BytesIn, now: LeaderLogs, pace: Floats) -> tuple[Floats, Bools]:
    """Bytes per offset, and where they were learned without a pace. Shapes (P,).

    Learned again in rows with an answer of log dirs in this poll, and from their last answer once the pace is known.
    """
    fresh, paced = now.sized_at > state.sized.sized_at, ~np.isnan(pace)
    found = bytes_per_offset(now, pace)
    relearned = (fresh | np.isnan(state.per_offset)) & ~np.isnan(found)
    found = np.where(relearned, found, bytes_per_offset(state.sized, pace))
    again = ~relearned & state.unpaced & paced & ~np.isnan(found)
    return np.where(relearned | again, found, state.per_offset), np.where(relearned, ~paced, state.unpaced & ~again)


def learn_appended(learned: Floats, per_offset: Floats, sized: LeaderLogs, now: LeaderLogs, compacted: Bools) -> Floats:
    """Bytes per appended offset (P,). docs/spec/lag.md#bytes-in.

    A compacted log lacks offsets, so there it is growth over offsets gained between two answers of log dirs, once there
    were two; until then, and of all other logs, `per_offset`.
    """
    return np.where(compacted & ~np.isnan(learned), _marginal(learned, sized, now), per_offset)


def _marginal(learned: Floats, sized: LeaderLogs, now: LeaderLogs) -> Floats:
    gained, growth = offsets_gained(sized, now), size_growth(sized, now)
    usable = (gained > 0) & (growth > 0)
    reading = np.where(usable, growth, 0.0) / np.where(usable, gained, 1.0)
    lower = learned + DOWNWARD_WEIGHT * (reading - learned)
    return np.where(usable, np.where(reading < learned, lower, reading), learned)


def bytes_in_rate(state: BytesIn, now: LeaderLogs, compacted: Bools) -> Floats:
    """Bytes a second (P,) appended to each leader, NaN where unknown, never negative. docs/spec/lag.md#bytes-in.

    Growth of the log between the last two answers of log dirs where nothing was deleted, else offsets gained since
    the previous poll x learned bytes per appended offset: 600 MB written while retention deletes 500 MB in 60 s is
    10 MB/s, not 1.7. No offsets gained is a known 0.
    """
    growth = np.where(compacted, np.nan, size_growth(state.sized, now))
    by_size = _over(growth, now.sized_at - state.sized.sized_at)
    gained = offsets_gained(state.previous, now)
    written = np.where(gained == 0, 0.0, gained * state.appended)
    by_offsets = _over(written, now.ended_at - state.previous.ended_at)
    return np.where(np.isnan(by_size), by_offsets, by_size)


def step(state: BytesIn, now: LeaderLogs, compacted: Bools) -> tuple[BytesIn, Floats]:
    """One poll: `(state, bytes a second)`. Absent on the first sample and on an epoch change until the next.

    The rows of `state` are those of `now`.
    """
    pace = messages_in_rate(state.previous, now)
    learned, unpaced = learn_bytes_per_offset(state, now, pace)
    appended = learn_appended(state.appended, learned, state.sized, now, compacted)
    rates = bytes_in_rate(replace(state, appended=appended), now, compacted)
    fresh = (now.size != UNKNOWN) & (now.sized_at > state.sized.sized_at)
    return BytesIn(now, _choose(fresh, now, state.sized), learned, appended, unpaced), rates


def _choose(condition: Bools, then: LeaderLogs, otherwise: LeaderLogs) -> LeaderLogs:
    names = [column.name for column in fields(LeaderLogs)]
    return LeaderLogs(**{name: np.where(condition, getattr(then, name), getattr(otherwise, name)) for name in names})


def _over(amount: Floats, seconds: Floats) -> Floats:
    rate = np.full(amount.shape, np.nan)
    np.divide(amount, seconds, out=rate, where=seconds > SHORTEST)
    return rate


SPAN: Final = 36.0
"""Seconds that a mean spans, once so many were measured."""

GRAIN: Final = SPAN / 12
"""Least seconds between two kept sums before the last two: this bounds their number at any poll interval."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Bytes in from the first poll up to one poll, as far as known."""

    clock: float
    bytes: Annotated[Floats, StateColumn(Axis.PARTITION, 0.0)]
    """(P,)"""
    seconds: Annotated[Floats, StateColumn(Axis.PARTITION, 0.0)]
    """(P,) seconds in which the rate was known."""


def add(before: Sums | None, clock: float, rates: Floats) -> Sums:
    """Add the rates (P,) since the sums before; NaN is unknown and counts for nothing."""
    if before is None:
        return Sums(clock, np.zeros(len(rates)), np.zeros(len(rates)))
    elapsed = np.where(np.isnan(rates), 0.0, max(clock - before.clock, 0.0))
    return Sums(clock, before.bytes + np.nan_to_num(rates) * elapsed, before.seconds + elapsed)


def step_mean(sums: tuple[Sums, ...], clock: float, rates: Floats) -> tuple[tuple[Sums, ...], Floats]:
    """Add the rates (P,) since the previous poll: `(sums, mean)`, time-weighted, in the unit of `rates`.

    `sums`: of the last polls, oldest first. A poll with NaN, which is unknown, does not count. A row without any known
    rate in the span is NaN.
    """
    now = add(sums[-1] if sums else None, clock, rates)
    sums = append(sums, now, SPAN, GRAIN)
    seconds = now.seconds - sums[0].seconds
    mean = np.full(len(rates), np.nan)
    np.divide(now.bytes - sums[0].bytes, seconds, out=mean, where=seconds > 0)
    return sums, mean


def elected(before: LeaderLogs, now: LeaderLogs) -> Bools:
    """Return (P,) which partitions have another leader than in the previous poll; False for new partitions."""
    changed: Bools = ~same_leader(before, now) & (before.epoch != UNKNOWN)
    return changed


def leader_logs(seen: IndexedSnapshot) -> LeaderLogs:
    """Return the leaders' logs."""
    partitions, replicas = seen.snapshot.partitions, seen.snapshot.replicas
    led = partitions.leader_row != UNKNOWN
    size, sized_at = np.full(len(led), UNKNOWN, np.int64), np.zeros(len(led))
    size[led] = replicas.size[partitions.leader_row[led]]
    sized_at[led] = replicas.sized_at[partitions.leader_row[led]]
    answered_at = np.array([seen.snapshot.offsets_at.get(broker, 0.0) for broker in seen.brokers.tolist()])
    return LeaderLogs(
        leader=partitions.leader,
        epoch=partitions.leader_epoch,
        start=partitions.start,
        end=seen.leader_end,
        ended_at=np.where(led, answered_at[seen.led_by], 0.0) if len(answered_at) else np.zeros(len(led)),
        size=size,
        sized_at=sized_at,
    )


def compacted(seen: IndexedSnapshot) -> Bools:
    """Return (P,) which partitions belong to compacted topics."""
    configs = seen.snapshot.topic_configs
    by_topic = np.array([(c := configs.get(name)) is not None and c.compacted for name in seen.snapshot.topics], bool)
    partitions = seen.snapshot.partitions
    return by_topic[partitions.topic] if len(by_topic) else np.zeros(len(partitions), bool)
