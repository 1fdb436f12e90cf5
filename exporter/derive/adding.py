"""Bytes that adding replicas lack: by the sizes of one poll where those tell it, and without a jump where they do not.

A jump from one estimate to another would be read as a move that got further, or as one that stands still.
"""

from dataclasses import dataclass

import numpy as np

from exporter.derive.frame import Frame
from exporter.formulas import lag as formulas
from exporter.formulas.rows import carry
from exporter.model import UNKNOWN, Bools, Floats, Ints, Longs


@dataclass(frozen=True, slots=True)
class Weights:
    """What the offsets weigh that adding replicas lack, and of whose log. R rows."""

    per_offset: Floats
    """Bytes per offset, NaN before they were learned."""
    leader: Ints
    """Broker id of the leader, `UNKNOWN` of what does not move."""


@dataclass(frozen=True, slots=True)
class Adding:
    """K adding replicas."""

    rows: Longs
    """In the `ReplicaTable`."""
    bytes: Floats
    """What each lacks, NaN where that is not known."""
    anew: Bools
    """Another leader, or another estimate, than in the previous poll: its bytes are not comparable with those."""


def blank(rows: int) -> Weights:
    """The weights of so many replicas of which nothing was learned."""
    return Weights(np.full(rows, np.nan), np.full(rows, UNKNOWN, np.int32))


def realign(weights: Weights, rows: Longs) -> Weights:
    """Bring the weights to the rows of another snapshot, `rows` as of `match_replicas`."""
    return Weights(carry(weights.per_offset, rows, np.nan), carry(weights.leader, rows, UNKNOWN))


def weigh_adding(
    frame: Frame, lacking: Longs, average: Floats, compacted: Bools, before: Weights
) -> tuple[Weights, Adding]:
    """Tell what adding replicas lack. judgement.md 1, 5.

    The difference of the sizes where they may be compared. Else offsets x what those weighed when they last could be;
    the average of the leader's log if they never could. Of a compacted log, which each broker cleans when it likes, x
    the average when the move was first seen: a cleaning is no progress, and what is written after it no lack of it.

    Args:
        frame: the snapshot.
        lacking: (R,) offsets that each replica must copy, `UNKNOWN` where that is not known.
        average: (P,) bytes per offset of the leader's log, NaN where unknown.
        compacted: (P,)
        before: (R,) as of the previous poll, in the rows of this one.
    """
    replicas, partitions = frame.snapshot.replicas, frame.snapshot.partitions
    rows = np.flatnonzero(replicas.adding & ~frame.is_leader)
    partition = replicas.partition[rows]
    of, led = before.leader[rows], partitions.leader_row[partition] != UNKNOWN
    leader = np.where(led, partitions.leader[partition], of)
    other = (of != UNKNOWN) & (of != leader)
    known = np.where(other, np.nan, before.per_offset[rows])
    by_size = np.where(compacted[partition], np.nan, _by_size(frame, rows))
    found = formulas.lacking_bytes_per_offset(by_size, lacking[rows], average[partition])
    first = np.where(compacted[partition] & (average[partition] > 0), average[partition], np.nan)
    weight = np.where(np.isnan(found), np.where(np.isnan(known), first, known), found)
    by_offsets = formulas.weighed(lacking[rows], np.where(np.isnan(weight), average[partition], weight))
    by_estimate = np.where(np.isnan(by_size), by_offsets, by_size)
    return _keep(frame, before, rows, weight, leader), Adding(
        rows=rows,
        bytes=np.where(lacking[rows] == 0, 0.0, by_estimate),
        anew=(of != UNKNOWN) & (other | (np.isnan(known) & ~np.isnan(weight))),
    )


def _by_size(frame: Frame, rows: Longs) -> Floats:
    """Difference of the sizes (K,) where both were told in this poll, of logs that start alike; else NaN."""
    replicas, partitions = frame.snapshot.replicas, frame.snapshot.partitions
    leader_row = partitions.leader_row[replicas.partition[rows]]
    told, clock = replicas.sized_at, frame.snapshot.clock
    fresh = (told[rows] >= clock) & (told[leader_row] >= clock)
    alike = (replicas.start[rows] != UNKNOWN) & (replicas.start[rows] == replicas.start[leader_row])
    comparable = (leader_row != UNKNOWN) & fresh & alike
    by_size = formulas.lag_bytes_by_size(replicas.size[rows], replicas.size[leader_row])
    return np.where(comparable, by_size, np.nan)


def _keep(frame: Frame, before: Weights, rows: Longs, weight: Floats, leader: Ints) -> Weights:
    """Weights of what moves, and of what did: nobody may tell for a poll that it still does."""
    done = frame.snapshot.replicas.in_isr
    per_offset, of = np.where(done, np.nan, before.per_offset), np.where(done, UNKNOWN, before.leader)
    per_offset[rows], of[rows] = weight, leader
    return Weights(per_offset, of.astype(np.int32))
