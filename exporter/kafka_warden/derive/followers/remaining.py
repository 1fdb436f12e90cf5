"""Bytes that adding replicas lack: by the sizes of one poll where those tell it, and without a jump where they do not.

A jump from one estimate to another would be read as a move that got further, or as one that stands still.
"""

from dataclasses import dataclass, fields

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas import lag as formulas
from kafka_warden.formulas.rows import carry
from kafka_warden.model import UNKNOWN, Bools, Floats, Ints, Longs


@dataclass(frozen=True, slots=True)
class RemainingEstimate:
    """What the offsets weigh that adding replicas lack, and of whose log. R rows."""

    per_offset: Floats
    """Bytes per offset, NaN before they were learned."""
    leader: Ints
    """Broker id of the leader, `UNKNOWN` of what does not move."""
    size: Longs
    """Of compacted logs: bytes of the replica's log when its size was last compared, `UNKNOWN` before."""
    leader_size: Longs
    """And of its leader's."""
    cleaned: Floats
    """Bytes that cleaning has changed the difference of the sizes by, and not what is to be copied."""


@dataclass(frozen=True, slots=True)
class Adding:
    """K adding replicas."""

    rows: Longs
    """In the `ReplicaTable`."""
    bytes: Floats
    """What each lacks, NaN where that is not known."""
    estimate_reset: Bools
    """Another leader, or another estimate, than in the previous poll: its bytes are not comparable with those."""


def blank(rows: int) -> RemainingEstimate:
    """The weights of so many replicas of which nothing was learned."""
    never = np.full(rows, UNKNOWN, np.int64)
    return RemainingEstimate(np.full(rows, np.nan), np.full(rows, UNKNOWN, np.int32), never, never, np.zeros(rows))


def realign(estimate: RemainingEstimate, rows: Longs) -> RemainingEstimate:
    """Bring the weights to the rows of another snapshot, `rows` as of `match_replicas`."""
    return RemainingEstimate(
        carry(estimate.per_offset, rows, np.nan),
        carry(estimate.leader, rows, UNKNOWN),
        carry(estimate.size, rows, UNKNOWN),
        carry(estimate.leader_size, rows, UNKNOWN),
        carry(estimate.cleaned, rows, 0.0),
    )


def estimate_remaining(
    indexed: IndexedSnapshot, lacking: Longs, average: Floats, compacted: Bools, before: RemainingEstimate
) -> tuple[RemainingEstimate, Adding]:
    """Tell what adding replicas lack. judgement.md 1, 5.

    The difference of the sizes where they may be compared. Else offsets x what those weighed when they last could be;
    the average of the leader's log if they never could. Of a compacted log, which each broker cleans when it likes, the
    difference without what cleaning changed: it is no progress, nor a lack of it.

    Args:
        indexed: the snapshot.
        lacking: (R,) offsets that each replica must copy, `UNKNOWN` where that is not known.
        average: (P,) bytes per offset of the leader's log, NaN where unknown.
        compacted: (P,)
        before: (R,) as of the previous poll, in the rows of this one.
    """
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    rows = np.flatnonzero(replicas.adding & ~indexed.is_leader)
    partition = replicas.partition[rows]
    of, led = before.leader[rows], partitions.leader_row[partition] != UNKNOWN
    leader = np.where(led, partitions.leader[partition], of)
    other = (of != UNKNOWN) & (of != leader)
    known = np.where(other, np.nan, before.per_offset[rows])
    sizes = _compare(indexed, rows, before, other)
    cleaned = np.where(compacted[partition], sizes.cleaned, 0.0)
    by_size = np.where(sizes.comparable, formulas.lag_bytes_by_size(sizes.size, sizes.leader, cleaned), np.nan)
    # What cleaning changed is an estimate, and must not end a move before it ends.
    least = np.where(compacted[partition], formulas.least_bytes(lacking[rows], average[partition]), np.nan)
    by_size = np.where(np.isnan(by_size), by_size, np.fmax(by_size, least))
    found = formulas.lacking_bytes_per_offset(by_size, lacking[rows], average[partition])
    weight = np.where(np.isnan(found), known, found)
    by_offsets = formulas.offsets_to_bytes(lacking[rows], np.where(np.isnan(weight), average[partition], weight))
    by_estimate = np.where(np.isnan(by_size), by_offsets, by_size)
    now = RemainingEstimate(weight, leader, sizes.size, sizes.leader, cleaned)
    return _keep(indexed, before, rows, now), Adding(
        rows=rows,
        bytes=np.where(lacking[rows] == 0, 0.0, by_estimate),
        estimate_reset=(of != UNKNOWN) & (other | (np.isnan(known) & ~np.isnan(weight))),
    )


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Bytes of K logs and of their leaders', as they were compared last."""

    comparable: Bools
    """Both were told in this poll, and the logs start alike."""
    size: Longs
    leader: Longs
    cleaned: Floats


def _compare(indexed: IndexedSnapshot, rows: Longs, before: RemainingEstimate, other: Bools) -> _Sizes:
    """Compare K logs with those of their leaders; `other` (K,) have another leader than before."""
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    leader_row = partitions.leader_row[replicas.partition[rows]]
    told, clock = replicas.sized_at, indexed.snapshot.clock
    fresh = (told[rows] >= clock) & (told[leader_row] >= clock)
    alike = (replicas.start[rows] != UNKNOWN) & (replicas.start[rows] == replicas.start[leader_row])
    size, leader = replicas.size[rows], replicas.size[leader_row]
    comparable = (leader_row != UNKNOWN) & fresh & alike & (size != UNKNOWN) & (leader != UNKNOWN)
    then = np.where(other, UNKNOWN, before.size[rows])
    leader_then = np.where(other, UNKNOWN, before.leader_size[rows])
    kept = np.where(other, 0.0, before.cleaned[rows])
    cleaned = formulas.cleaned(then, leader_then, size, leader, kept)
    return _Sizes(
        comparable=comparable,
        size=np.where(comparable, size, then),
        leader=np.where(comparable, leader, leader_then),
        cleaned=np.where(comparable, cleaned, kept),
    )


def _keep(
    indexed: IndexedSnapshot, before: RemainingEstimate, rows: Longs, now: RemainingEstimate
) -> RemainingEstimate:
    """Keep what is known of what moves (`now`, of the rows), and of what did: for a poll nobody may tell of it."""
    done = indexed.snapshot.replicas.in_isr
    kept = realign(before, np.where(done, UNKNOWN, np.arange(len(done))))
    for column in fields(RemainingEstimate):
        getattr(kept, column.name)[rows] = getattr(now, column.name)
    return kept
