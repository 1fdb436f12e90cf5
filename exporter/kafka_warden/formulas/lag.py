"""Lag of followers in messages and in bytes, and sums that are withheld when a part is unknown.

docs/spec/lag.md; KIP-73, SumReplicaLag. Offsets are log ends as each broker reports them, the follower asked first.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import UNKNOWN, Bools, Floats, Ints, Longs

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


def last_known(end: Longs, before: Longs) -> Longs:
    """Ends; for brokers that do not answer their last known ones, which bound their lag from above.

    `before`: (R,) last known ends, `UNKNOWN` where there never was one. docs/spec/lag.md#log-ends.
    """
    return np.where(end == UNKNOWN, before, end)


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


def cleaned(then: Longs, leader_then: Longs, size: Longs, leader_size: Longs, before: Floats) -> Floats:
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


def least_bytes(lacking: Longs, average: Floats) -> Floats:
    """Least bytes that R adding replicas lack, NaN where unknown; `average` as in `lacking_bytes_per_offset`."""
    return np.where(lacking > 0, lacking * average / UNEVEN, np.nan)


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


def out_of_sync_by_count(lag: Longs, limit: int) -> Bools:
    """The rule before KIP-16, `replica.lag.max.messages`, kept to compare with. Hands-free Kafka replication."""
    out: Bools = lag >= limit
    return out


def out_of_sync_by_time(behind: Floats, limit: Floats | float) -> Bools:
    """Kafka's rule and ours: behind for longer than `replica.lag.time.max.ms`. docs/spec/lag.md#time-behind.

    Seconds (K,); False where the time behind or the limit is unknown (NaN).
    """
    out: Bools = behind > limit
    return out
