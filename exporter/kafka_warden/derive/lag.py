"""Lag of followers in messages and in bytes, and sums that are withheld when a part is unknown.

docs/spec/lag.md#messages, docs/spec/lag.md#bytes. Offsets are log ends as each broker reports them, the follower asked
first.

Bytes that adding replicas lack are from the sizes of one poll where possible, else from an estimate without a jump: a
jump from one estimate to another would look like progress of a move, or like a stall. docs/spec/moves.md#bytes-to-copy.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, StateColumn
from kafka_warden.derive.columns import realign
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.tiered import first_copied, skips_tiered
from kafka_warden.model import UNKNOWN, Bools, Floats, Ints, Longs

UNEVEN: Final = 10.0
"""Factor by which bytes per offset of the missing part may differ from those of the whole log."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Lag per replica, `UNKNOWN` where unknown, and how many negative differences were set to 0."""

    values: Longs
    clamped: int


@dataclass(frozen=True, slots=True)
class Sums:
    """One sum per group, NaN where a part of it is unknown, and the number of unknown parts."""

    values: Floats
    unknown: Annotated[Longs, "number of unknown parts"]


def messages(end: Longs, leader_end: Longs, elected: Bools | None = None) -> Messages:
    """Lag of R replicas in messages. Shapes (R,); `UNKNOWN` in either end gives `UNKNOWN`.

    Where the leader is newly `elected`, a follower's end above the leader's is of the old epoch and will be truncated:
    its lag is unknown, not 0. docs/spec/lag.md#messages.
    """
    known = (end != UNKNOWN) & (leader_end != UNKNOWN)
    difference = leader_end - end
    negative = known & (difference < 0)
    if elected is not None:
        known = known & ~(negative & elected)
    values = np.where(known, np.maximum(difference, 0), UNKNOWN)
    return Messages(values, int(np.count_nonzero(negative & known)))


def to_copy(lag: Longs, held: Longs) -> Longs:
    """Offsets that R replicas must copy, at most what their leader holds. Shapes (R,).

    `held`: offsets that the leader has locally, `UNKNOWN` if its start is; then nothing is capped.
    """
    return np.where(held == UNKNOWN, lag, np.minimum(lag, held))


def offsets_to_bytes(lacking: Longs, per_offset: Floats) -> Floats:
    """Bytes of R runs of offsets, NaN where unknown. Shapes (R,).

    `per_offset`: of the leader's log, NaN before the first answer of log dirs. No offsets are no bytes, whatever else
    is unknown.
    """
    known = np.where(lacking == UNKNOWN, np.nan, lacking * per_offset)
    return np.where(lacking == 0, 0.0, known)


def lag_bytes_by_size(size: Longs, leader_size: Longs, cleaned: Floats | float = 0.0) -> Floats:
    """Lag of R adding replicas whose local log starts where their leader's does: the sizes' difference.

    docs/spec/moves.md#bytes-to-copy. Both sizes are of one poll. `cleaned`: bytes by which cleaning changed the
    difference. NaN where a size is unknown, never negative.
    """
    known = (size != UNKNOWN) & (leader_size != UNKNOWN)
    return np.where(known, np.maximum(leader_size - size + cleaned, 0), np.nan)


def cleaned_bytes(then: Longs, leader_then: Longs, size: Longs, leader_size: Longs, before: Floats) -> Floats:
    """Bytes by which cleaning changed the difference of R sizes: `before`, plus the change since then.

    A log that got smaller was cleaned. The follower copies nothing again; of the leader's cleaned bytes the share that
    was still to be copied counts. Bytes that both lose were deleted, or cleaned alike. 0 where an older size is
    `UNKNOWN`.
    """
    known = (then != UNKNOWN) & (leader_then != UNKNOWN)
    own, leaders = np.maximum(then - size, 0), np.maximum(leader_then - leader_size, 0)
    both = np.minimum(own, leaders)
    left = np.clip(leader_then - then + before, 0, leader_then)
    share = left / np.where(leader_then > 0, leader_then, 1)
    return np.where(known, before - (own - both) + (leaders - both) * (1 - share), 0.0)


def lacking_bytes_per_offset(by_size: Floats, lacking: Longs, average: Floats) -> Floats:
    """Bytes per offset that R adding replicas lack, NaN where `by_size` is NaN or nothing is lacking. Shapes (R,).

    `average`: bytes per offset of the leader's whole log. Ends are read before sizes: for the last few offsets the
    quotient can be anything, so it is kept within `UNEVEN` times the average.
    """
    usable = (by_size > 0) & (lacking > 0)
    quotient = np.where(usable, by_size, np.nan) / np.where(usable, lacking, 1)
    return np.clip(quotient, average / UNEVEN, average * UNEVEN)


def sums(group: Ints, parts: Floats, groups: int, of: Bools | None = None) -> Sums:
    """Sums of `parts` (R,) by `group` (R,), each in [0, groups) or `UNKNOWN`; withheld where a part is NaN.

    `of` picks the rows that count, for example followers. Rows of group `UNKNOWN` belong to no sum.
    docs/spec/lag.md#sums.
    """
    counted = group != UNKNOWN if of is None else of & (group != UNKNOWN)
    rows, values = group[counted], parts[counted]
    missing = np.isnan(values)
    unknown = np.bincount(rows[missing], minlength=groups)
    total = np.bincount(rows, weights=np.where(missing, 0.0, values), minlength=groups)
    return Sums(np.where(unknown > 0, np.nan, total), unknown.astype(np.int64))


def as_parts(values: Longs) -> Floats:
    """Integers with `UNKNOWN` as floats with NaN, which is how `sums` takes its parts."""
    parts = values.astype(np.float64)
    parts[values == UNKNOWN] = np.nan
    return parts


def out_of_sync_by_time(behind: Floats, limit: Floats | float) -> Bools:
    """Kafka's rule and ours: behind for longer than `replica.lag.time.max.ms`. docs/spec/lag.md#time-behind.

    Seconds (K,); False where the time behind or the limit is unknown (NaN).
    """
    out: Bools = behind > limit
    return out


def first_offsets(indexed: IndexedSnapshot) -> Longs:
    """Return (R,) the first offset that a replica copies if it is empty, `UNKNOWN` where the leader's start is."""
    snapshot, start = indexed.snapshot, indexed.snapshot.partitions.start
    partitions, replicas = snapshot.partitions, snapshot.replicas
    first = start[replicas.partition]
    if not any(config.follower_fetch_last_tiered for config in snapshot.broker_configs.values()):
        return first
    # From the start of a whole log a follower copies all of it.
    empty = np.flatnonzero((replicas.end == 0) & (first > 0))
    configs, brokers = snapshot.topic_configs, snapshot.broker_configs
    topics = [snapshot.topics[place] for place in partitions.topic[replicas.partition[empty]].tolist()]
    hosts = replicas.broker[empty].tolist()
    skips = [skips_tiered(configs.get(topic), brokers.get(host)) for topic, host in zip(topics, hosts, strict=True)]
    rows = empty[np.array(skips, bool)]
    first[rows] = first_copied(start, partitions.tiered)[replicas.partition[rows]]
    return first


@dataclass(frozen=True, slots=True)
class RemainingEstimate:
    """Bytes per offset that adding replicas lack, and the leader of the log. R rows."""

    per_offset: Annotated[Floats, StateColumn(Axis.REPLICA, np.nan, "lacked_weight")]
    """Bytes per offset, NaN before they were learned."""
    leader: Annotated[Ints, StateColumn(Axis.REPLICA, UNKNOWN, "lacked_of")]
    """Broker id of the leader, `UNKNOWN` for replicas that do not move."""
    size: Annotated[Longs, StateColumn(Axis.REPLICA, UNKNOWN, "lacked_size")]
    """Of compacted logs: bytes of the replica's log when its size was last compared, `UNKNOWN` before."""
    leader_size: Annotated[Longs, StateColumn(Axis.REPLICA, UNKNOWN, "lacked_leader_size")]
    """And of its leader's."""
    cleaned: Annotated[Floats, StateColumn(Axis.REPLICA, 0.0, "lacked_cleaned")]
    """Bytes by which cleaning changed the difference of the sizes."""


@dataclass(frozen=True, slots=True)
class Adding:
    """K adding replicas."""

    rows: Longs
    """In the `ReplicaTable`."""
    bytes: Floats
    """Bytes that each lacks, NaN where unknown."""
    estimate_reset: Bools
    """Another leader, log or estimate than in the previous poll: the bytes are not comparable."""


def estimate_remaining(
    indexed: IndexedSnapshot,
    lacking: Longs,
    average: Floats,
    compacted: Bools,
    restarted: Bools,
    before: RemainingEstimate,
) -> tuple[RemainingEstimate, Adding]:
    """Estimate the bytes that adding replicas lack. docs/spec/moves.md#bytes-to-copy.

    The difference of the sizes where they are comparable. Else offsets x bytes per offset of the last comparison, or of
    the leader's whole log before the first one. Each broker cleans a compacted log at its own time: the difference then
    excludes the change by cleaning, which is no progress.

    `lacking` (R,) are the offsets that each replica must copy, `average` (P,) bytes per offset of the leader's log.
    `restarted` (R,): the log is not the one of the previous poll.
    """
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    rows = np.flatnonzero(replicas.adding & ~indexed.is_leader)
    partition = replicas.partition[rows]
    of, led = before.leader[rows], partitions.leader_row[partition] != UNKNOWN
    leader = np.where(led, partitions.leader[partition], of)
    other = (of != UNKNOWN) & ((of != leader) | restarted[rows])
    known = np.where(other, np.nan, before.per_offset[rows])
    leader_row, sized_at, clock = partitions.leader_row[partition], replicas.sized_at, indexed.snapshot.clock
    size, leader_size = replicas.size[rows], replicas.size[leader_row]
    # Both sizes are of this poll, and the logs start at the same offset.
    fresh = (sized_at[rows] >= clock) & (sized_at[leader_row] >= clock)
    alike = (replicas.start[rows] != UNKNOWN) & (replicas.start[rows] == replicas.start[leader_row])
    comparable = led & fresh & alike & (size != UNKNOWN) & (leader_size != UNKNOWN)
    then, leader_then = (np.where(other, UNKNOWN, each[rows]) for each in (before.size, before.leader_size))
    kept = np.where(other, 0.0, before.cleaned[rows])
    changed = np.where(comparable, cleaned_bytes(then, leader_then, size, leader_size, kept), kept)
    cleaned = np.where(compacted[partition], changed, 0.0)
    by_size = np.where(comparable, lag_bytes_by_size(size, leader_size, cleaned), np.nan)
    # The change by cleaning is an estimate, and must not end a move too early.
    lacks = compacted[partition] & (lacking[rows] > 0)
    least = np.where(lacks, lacking[rows] * average[partition] / UNEVEN, np.nan)
    by_size = np.where(np.isnan(by_size), by_size, np.fmax(by_size, least))
    found = lacking_bytes_per_offset(by_size, lacking[rows], average[partition])
    weight = np.where(np.isnan(found), known, found)
    by_offsets = offsets_to_bytes(lacking[rows], np.where(np.isnan(weight), average[partition], weight))
    by_estimate = np.where(np.isnan(by_size), by_offsets, by_size)
    sizes = np.where(comparable, size, then), np.where(comparable, leader_size, leader_then)
    now = RemainingEstimate(weight, leader, *sizes, cleaned)
    return _keep(indexed, before, rows, now), Adding(
        rows=rows,
        bytes=np.where(lacking[rows] == 0, 0.0, by_estimate),
        estimate_reset=(of != UNKNOWN) & (other | (np.isnan(known) & ~np.isnan(weight))),
    )


def _keep(
    indexed: IndexedSnapshot, before: RemainingEstimate, rows: Longs, now: RemainingEstimate
) -> RemainingEstimate:
    """Keep the estimate of moving replicas (`now`), and of earlier ones: reassignments may be unknown for a poll."""
    done = indexed.snapshot.replicas.in_isr
    if not len(rows) and (before.leader == UNKNOWN).all():
        return before  # mostly nothing moves
    kept: RemainingEstimate = realign(before, {Axis.REPLICA: np.where(done, UNKNOWN, np.arange(len(done)))})
    for column in fields(RemainingEstimate):
        getattr(kept, column.name)[rows] = getattr(now, column.name)
    return kept


@dataclass(frozen=True, slots=True)
class Lag:
    """R replicas, B brokers. NaN and `UNKNOWN` are unknown."""

    messages: Annotated[Longs, "messages behind", "messages"]
    """(R,)"""
    bytes: Annotated[Floats, "bytes behind", "bytes"]
    """(R,)"""
    estimate: RemainingEstimate
    """For adding replicas."""
    estimate_reset: Annotated[Bools, "adding, not comparable with the previous poll"]
    """(R,)"""
    end: Annotated[Longs, "last known log end", "offset"]
    """(R,)"""
    clamped: Annotated[int, "negative differences set to 0 in this poll"]
    following: Annotated[Bools, "it does not lead, and has other replicas"]
    """(R,)"""
    shown: Annotated[Bools, "behind, out of sync or moving"]
    """(R,) only these have series of their own."""
    sum_messages: Annotated[Sums, "SumReplicaLag", "messages"]
    """(B,) by hosting broker."""
    sum_bytes: Annotated[Sums, "SumReplicaLag in bytes", "bytes"]
    led_bytes: Annotated[Sums, "lag of its followers", "bytes"]
    """(B,) by leader."""


def derive_lag(
    indexed: IndexedSnapshot,
    known_end: Longs,
    previous_leader_end: Longs,
    per_offset: Floats,
    elected: Bools,
    compacted: Bools,
    estimate: RemainingEstimate,
) -> Lag:
    """Compute the lag of every follower.

    `known_end` and `estimate` (R,) and `previous_leader_end` (P,) are as of the previous poll; `per_offset` (P,) is in
    bytes of the leader's log; `elected` (P,) marks another leader or epoch since the previous poll.
    """
    replicas = indexed.snapshot.replicas
    # The last known end of a broker that does not answer bounds its lag from above: docs/spec/lag.md#log-ends. A
    # follower on a broker that cannot be asked goes on, unlike one that is down.
    unseen = np.isin(replicas.broker, list(indexed.hidden))
    end = np.where(replicas.end == UNKNOWN, np.where(unseen, UNKNOWN, known_end), replicas.end)
    leader_end = indexed.leader_end[replicas.partition]
    # The remembered end of a silent follower is not compared where it is above, like one from before an election.
    silent = replicas.end == UNKNOWN
    found = messages(end, leader_end, elected[replicas.partition] | silent)
    first = first_offsets(indexed)
    # The start is from a later answer than the end: records may have been deleted in between.
    held = np.where((leader_end == UNKNOWN) | (first == UNKNOWN), UNKNOWN, np.maximum(leader_end - first, 0))
    lacking = to_copy(found.values, held)
    # A disk was replaced, or the move was cancelled and started again. An election truncates, which is no new log.
    restarted = (replicas.end != UNKNOWN) & (replicas.end < known_end) & ~elected[replicas.partition]
    estimate, adding = estimate_remaining(indexed, lacking, per_offset, compacted, restarted, estimate)
    lag_bytes = offsets_to_bytes(lacking, per_offset[replicas.partition])
    lag_bytes[adding.rows] = adding.bytes
    estimate_reset = np.zeros(len(replicas), bool)
    estimate_reset[adding.rows] = adding.estimate_reset
    # The only replica of a partition has no leader to follow, also while the partition has no leader.
    replicated = indexed.of_partitions(np.ones(len(replicas), bool)) > 1
    following = ~indexed.is_leader & replicated[replicas.partition]
    brokers = len(indexed.brokers)
    return Lag(
        messages=found.values,
        bytes=lag_bytes,
        estimate=estimate,
        estimate_reset=estimate_reset,
        end=end,
        clamped=found.clamped,
        following=following,
        shown=following & _behind(indexed, end, found.values, previous_leader_end),
        sum_messages=sums(indexed.host, as_parts(found.values), brokers, following),
        sum_bytes=sums(indexed.host, lag_bytes, brokers, following),
        led_bytes=sums(indexed.led_by[replicas.partition], lag_bytes, brokers, following),
    )


def _behind(indexed: IndexedSnapshot, end: Longs, messages: Longs, previous_leader_end: Longs) -> Bools:
    """(R,) replicas that are out of sync or moving, below their leader's last end, or lag and do not answer."""
    replicas = indexed.snapshot.replicas
    before = previous_leader_end[replicas.partition]
    late = (end != UNKNOWN) & (before != UNKNOWN) & (end < before)
    silent = replicas.end == UNKNOWN
    behind: Bools = ~replicas.in_isr | replicas.adding | ((messages > 0) & (late | silent))
    return behind
