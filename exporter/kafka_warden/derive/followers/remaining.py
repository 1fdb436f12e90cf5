"""Bytes that adding replicas lack: from the sizes of one poll where possible, else from an estimate without a jump.

A jump from one estimate to another would look like progress of a move, or like a stall.
"""

from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Axis, Column
from kafka_warden.derive.columns import realign
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas import lag as formulas
from kafka_warden.model import UNKNOWN, Bools, Floats, Ints, Longs


@dataclass(frozen=True, slots=True)
class RemainingEstimate:
    """Bytes per offset that adding replicas lack, and the leader of the log. R rows."""

    per_offset: Annotated[Floats, Column(Axis.REPLICA, np.nan, "lacked_weight")]
    """Bytes per offset, NaN before they were learned."""
    leader: Annotated[Ints, Column(Axis.REPLICA, UNKNOWN, "lacked_of")]
    """Broker id of the leader, `UNKNOWN` for replicas that do not move."""
    size: Annotated[Longs, Column(Axis.REPLICA, UNKNOWN, "lacked_sizes", place=0)]
    """Of compacted logs: bytes of the replica's log when its size was last compared, `UNKNOWN` before."""
    leader_size: Annotated[Longs, Column(Axis.REPLICA, UNKNOWN, "lacked_sizes", place=1)]
    """And of its leader's."""
    cleaned: Annotated[Floats, Column(Axis.REPLICA, 0.0, "lacked_cleaned")]
    """Bytes by which cleaning changed the difference of the sizes."""


@dataclass(frozen=True, slots=True)
class Adding:
    """K adding replicas."""

    rows: Longs
    """In the `ReplicaTable`."""
    bytes: Floats
    """Bytes that each lacks, NaN where unknown."""
    estimate_reset: Bools
    """Another leader, or another estimate, than in the previous poll: the bytes are not comparable."""


def estimate_remaining(
    indexed: IndexedSnapshot, lacking: Longs, average: Floats, compacted: Bools, before: RemainingEstimate
) -> tuple[RemainingEstimate, Adding]:
    """Estimate the bytes that adding replicas lack. docs/spec/moves.md#bytes-to-copy.

    The difference of the sizes where they are comparable. Else offsets x bytes per offset of the last comparison, or of
    the leader's whole log before the first one. Each broker cleans a compacted log at its own time: the difference then
    excludes the change by cleaning, which is no progress.

    `lacking` (R,) are the offsets that each replica must copy, `average` (P,) bytes per offset of the leader's log.
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
    # The change by cleaning is an estimate, and must not end a move too early.
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
    """Bytes of K logs and of their leaders', at the last comparison."""

    comparable: Bools
    """Both sizes are of this poll, and the logs start at the same offset."""
    size: Longs
    leader: Longs
    cleaned: Floats


def _compare(indexed: IndexedSnapshot, rows: Longs, before: RemainingEstimate, other: Bools) -> _Sizes:
    """Compare K logs with those of their leaders; `other` (K,) have another leader than before."""
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    leader_row = partitions.leader_row[replicas.partition[rows]]
    sized_at, clock = replicas.sized_at, indexed.snapshot.clock
    fresh = (sized_at[rows] >= clock) & (sized_at[leader_row] >= clock)
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
    """Keep the estimate of moving replicas (`now`), and of earlier ones: reassignments may be unknown for a poll."""
    done = indexed.snapshot.replicas.in_isr
    if not len(rows) and (before.leader == UNKNOWN).all():
        return before  # mostly nothing moves
    kept: RemainingEstimate = realign(before, {Axis.REPLICA: np.where(done, UNKNOWN, np.arange(len(done)))})
    for column in fields(RemainingEstimate):
        getattr(kept, column.name)[rows] = getattr(now, column.name)
    return kept
