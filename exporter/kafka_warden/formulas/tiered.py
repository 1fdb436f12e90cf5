"""Tiered storage, KIP-956: bytes that are overdue to be copied to remote storage. docs/spec/tiered.md.

The lag beans freeze while copying is throttled or fails; these formulas do not.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.arrays import UNKNOWN, Axis, Column, Floats, Longs

NOTHING_TIERED = -2
"""In a column of latest tiered offsets: the leader reports that nothing has been copied. Kafka's own value is -1,
which here is `UNKNOWN`."""


def overdue_bytes(uncopied: Floats, per_offset: Floats, segment_bytes: Floats) -> Floats:
    """Bytes (P,) that should have been copied: those beyond what an active segment may hold, never below 0.

    `uncopied`: offsets that are not in remote storage; the active segment never is. docs/spec/tiered.md#overdue.
    """
    return np.maximum(uncopied * per_offset - segment_bytes, 0.0)


def uncopied_offsets(end: Longs, start: Longs, tiered: Longs) -> Longs:
    """Offsets (P,) not yet in remote storage. `tiered` is the highest one there, inclusive; none counts from the start.

    All three must be known; a caller without an answer to `-5` leaves the partition out.
    """
    copied_to = np.where(tiered == NOTHING_TIERED, start, tiered + 1)
    return np.maximum(end - np.maximum(copied_to, start), 0)


def first_copied(start: Longs, tiered: Longs) -> Longs:
    """First offset of the local log that is not in remote storage, where an empty follower may begin. KIP-1023.

    `tiered` may be `UNKNOWN` or `NOTHING_TIERED`: then that is where the local log starts.
    """
    return np.where(tiered >= 0, np.maximum(tiered + 1, start), start)


@dataclass(frozen=True, slots=True)
class Lag:
    """What may be left uncopied on purpose, by partition (P,): KIP-1241, Kafka 4.4. No lag: both are 0."""

    seconds: Floats
    """Age at which a closed segment is copied, `+inf` if its age does not matter."""
    bytes: Floats
    """Bytes behind it at which it is copied, whichever comes first; as above."""
    due: Longs
    """Offset from which on records are younger than `seconds`, `UNKNOWN` where not known; needed for finite ones."""


def partition_overdue(
    end: Longs, start: Longs, tiered: Longs, per_offset: Floats, segment_bytes: Floats, lag: Lag
) -> Floats:
    """Overdue bytes (P,), NaN where a part is unknown. Without uncopied offsets no bytes per offset are needed.

    A segment is overdue as soon as one of both limits is passed: by all of its records, or by the bytes behind it.
    """
    known = (end != UNKNOWN) & (start != UNKNOWN) & (tiered != UNKNOWN)
    uncopied = np.where(known, uncopied_offsets(end, start, tiered), np.nan)
    weight = np.where(uncopied == 0, 0.0, per_offset)
    due = np.where(lag.seconds == 0, end, np.where(np.isinf(lag.seconds), 0, lag.due))
    old = np.where(due == UNKNOWN, np.nan, uncopied - np.clip(end - due, 0, uncopied))
    by_age = overdue_bytes(np.where(uncopied == 0, 0.0, old), weight, segment_bytes)
    overdue: Floats = np.maximum(by_age, overdue_bytes(uncopied, weight, segment_bytes + lag.bytes))
    return overdue


def latest_tiered(before: Longs, reported: Longs, end: Longs) -> Longs:
    """Highest offset in remote storage (P,): the one reported now, or the one before where that is higher.

    A broker that has just started, or just become leader, reports nothing or too little until its remote log manager
    has read the state (docs/spec/tiered.md#overdue): everything would be overdue for half a minute. A copied offset
    stays copied, unless the log was truncated below it. `UNKNOWN` where nothing is reported now.
    """
    kept = (reported != UNKNOWN) & (before >= 0) & (reported < before) & (before < end)
    return np.where(kept, before, reported)


@dataclass(frozen=True, slots=True)
class Copying:
    """State of the fold `stalled`: P rows. Seconds are monotonic; NaN while nothing is overdue."""

    tiered: Annotated[Longs, Column(Axis.PARTITION, UNKNOWN, "tiered")]
    """`UNKNOWN` before the first answer."""
    since: Annotated[Floats, Column(Axis.PARTITION, np.nan, "tiered_since", time=True)]


def stalled(state: Copying, clock: float, tiered: Longs, overdue: Floats) -> tuple[Copying, Floats]:
    """Seconds (P,) since the latest tiered offset last moved while something is overdue; 0 where nothing is.

    `overdue`: bytes. Where it is unknown (NaN) so are the seconds, and the clock neither starts nor ends.
    """
    known = ~np.isnan(overdue)
    begins = (tiered != state.tiered) | np.isnan(state.since)
    since = np.where(overdue > 0, np.where(begins, clock, np.fmin(state.since, clock)), np.nan)
    after = Copying(np.where(known, tiered, state.tiered), np.where(known, since, state.since))
    return after, np.where(known, np.where(np.isnan(since), 0.0, clock - since), np.nan)
