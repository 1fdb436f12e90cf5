"""Tiered storage, KIP-956: what should have been copied to remote storage and has not been. judgement.md 7.

The beans' own lag freezes while copying is held back or fails; this does not.
"""

from dataclasses import dataclass

import numpy as np

from exporter.formulas.ops import Bools, Floats, Longs, Ops, V

NOTHING_TIERED = -1
"""Answer of `ListOffsets -5` (latest tiered offset) while nothing has been copied."""


def overdue_bytes(ops: Ops[V], uncopied: V, per_offset: V, segment_bytes: V) -> V:
    """Bytes of a partition that should have been copied: those beyond what an active segment may hold, never below 0.

    `uncopied`: offsets that are not in remote storage; the active segment never is. judgement.md 7.
    """
    excess: V = uncopied * per_offset - segment_bytes
    return ops.greatest(excess, ops.lit(0.0))


def uncopied_offsets(end: Longs, start: Longs, tiered: Longs) -> Longs:
    """Offsets (P,) not yet in remote storage. `tiered` is the highest one there, inclusive; -1 counts from the start.

    All three must be known; a caller without an answer to `-5` leaves the partition out.
    """
    copied_to = np.where(tiered == NOTHING_TIERED, start, tiered + 1)
    return np.maximum(end - np.maximum(copied_to, start), 0)


@dataclass(frozen=True, slots=True)
class Copying:
    """State of the fold `stalled`: P rows. Seconds are monotonic; NaN while nothing is overdue."""

    tiered: Longs
    since: Floats


def stalled(state: Copying | None, clock: float, tiered: Longs, overdue: Bools) -> tuple[Copying, Floats]:
    """Seconds (P,) since the latest tiered offset last moved while something is overdue; 0 where nothing is."""
    if state is None:
        since = np.where(overdue, clock, np.nan)
    else:
        begins = (tiered != state.tiered) | np.isnan(state.since)
        since = np.where(overdue, np.where(begins, clock, np.fmin(state.since, clock)), np.nan)
    return Copying(tiered, since), np.where(np.isnan(since), 0.0, clock - since)


def copy_quota_upheld(quota: V, segment_bytes: V, window: V) -> bool:
    """Whether a copy quota can be upheld: a segment is copied whole, so it must not exceed quota x window.

    1 GiB in 11 s needs 97.6 MB/s. judgement.md 7, `copy_quota_below_segment`.
    """
    return bool(quota * window >= segment_bytes)
