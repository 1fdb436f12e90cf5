"""The columns that outlive a poll, and how they follow when partitions come, go or move."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafka_warden.arrays import carry
from kafka_warden.model import UNKNOWN, Bools, Floats, Ints, Longs
from kafka_warden.replies import LogGaps, MissingLog, StrayLog
from kafka_warden.sources.cluster import Reassignments
from kafka_warden.sources.log_dirs import LogDirs
from kafka_warden.sources.metadata import Layout
from kafka_warden.sources.offsets import RowIndex, index_rows

YOUNG: Final = 3
"""Answers that are needed for a log that was empty or absent at first. End and size of a log that has just begun are
read too far apart to be compared, and the next question about all logs may be a minute away."""

NEW: Final = {"size": UNKNOWN, "sized_at": 0.0, "start": UNKNOWN, "young": YOUNG, "copy_due": UNKNOWN, "due_at": 0.0}
"""Columns of the answers to their values for a replica that is new."""


@dataclass(slots=True)
class Columns:
    """Per replica row: the brokers' last answers about their logs.

    The snapshots of a window share these arrays, so the first change after a snapshot copies them.
    """

    size: Longs
    sized_at: Floats
    start: Longs
    young: Ints
    """Answers that a log still needs."""
    copy_due: Longs
    """As in the `PartitionTable`, of leaders."""
    due_at: Floats
    """Unix time that `copy_due` was asked for; 0 before."""
    shared: bool = False
    """Whether a snapshot has these arrays."""

    @classmethod
    def unknown(cls, rows: int) -> "Columns":
        """Make columns without any known value."""
        nothing = np.full(rows, UNKNOWN, np.int64)
        return cls(nothing, np.zeros(rows), nothing.copy(), np.ones(rows, np.int32), nothing.copy(), np.zeros(rows))

    def measure(self, rows: Longs, sizes: Longs, starts: Longs, starts_after: Longs, clock: float) -> None:
        """Take over what is known of some rows of the sizes and starts (R,), as answered at a monotonic time.

        A log whose start moved between the two questions about it lost a segment before or after its size was read.
        Which is unknown, so it keeps its last answer, and is asked again in the next poll.
        """
        self._own()
        rows = rows[sizes[rows] != UNKNOWN]
        moved = starts[rows] != starts_after[rows]
        self.young[rows[moved]] = np.maximum(self.young[rows[moved]], 1)
        rows = rows[~moved]
        self.size[rows], self.sized_at[rows] = sizes[rows], clock
        self.young[rows] = np.where(sizes[rows] > 0, np.maximum(self.young[rows] - 1, 0), YOUNG)
        rows = rows[starts[rows] != UNKNOWN]
        self.start[rows] = starts[rows]

    def expire(self, oldest: float) -> None:
        """Drop the sizes that were answered before a monotonic time, and the starts, which were asked with them."""
        old = (self.size != UNKNOWN) & (self.sized_at < oldest)
        if old.any():
            self._own()
            for name in ("size", "sized_at", "start"):
                getattr(self, name)[old] = NEW[name]

    def lead(self, rows: Longs) -> None:
        """Drop the log starts of replicas that lead from now on: they were last asked when they last led, if ever."""
        self._own()
        self.start[rows] = UNKNOWN
        self.young[rows] = np.maximum(self.young[rows], 1)

    def search(self, rows: Longs, times: Floats, most: int) -> Longs:
        """Return which of some rows to search for the offset of a time: `most` of them, the oldest answers first.

        `times`: Unix seconds, by row. An answer for a later time than that is no answer: the allowed lag has grown.
        """
        later = rows[self.due_at[rows] > times]
        if len(later):
            self._own()
            self.copy_due[later], self.due_at[later] = UNKNOWN, 0.0
        return np.sort(rows[np.argsort(self.due_at[rows], kind="stable")[:most]])

    def searched(self, rows: Longs, times: Floats, offsets: Longs) -> None:
        """Take over the offsets of some rows, as asked for these times. Without an answer the last one is kept."""
        self._own()
        self.copy_due[rows] = np.where(offsets == UNKNOWN, self.copy_due[rows], offsets)
        self.due_at[rows] = times

    def carried(self, rows: Longs) -> "Columns":
        """Move the known values to other rows, given as of `match_replicas`; a replica that is new is unknown."""
        moved = {name: carry(getattr(self, name), rows, new) for name, new in NEW.items()}
        return replace(self, shared=False, **moved)

    def _own(self) -> None:
        if self.shared:
            for name in NEW:
                setattr(self, name, getattr(self, name).copy())
            self.shared = False


class Rows:
    """The rows that each broker is asked about. Made once per layout, used by every poll until it changes."""

    def __init__(self, layout: Layout) -> None:
        leading = np.zeros(len(layout.partition), dtype=bool)
        leading[layout.leader_row[layout.leader_row >= 0]] = True
        self.leading = leading
        # A broker may have none: a default one is empty.
        self.followed, self.led, self.hosted = (defaultdict[int, RowIndex](RowIndex) for _ in range(3))
        order = np.argsort(layout.broker, kind="stable")
        brokers, firsts = np.unique(layout.broker[order], return_index=True)
        for broker, first, last in zip(brokers.tolist(), firsts, np.append(firsts, len(order))[1:], strict=True):
            rows = order[first:last]
            self.hosted[broker] = index_rows(layout, rows)
            self.followed[broker] = index_rows(layout, rows[~leading[rows]])
            self.led[broker] = index_rows(layout, rows[leading[rows]])
        self._remote: tuple[frozenset[str], dict[int, RowIndex]] = frozenset(), {}

    def remote(self, layout: Layout, topics: frozenset[str]) -> dict[int, RowIndex]:
        """Return what each broker leads of some topics, those with remote storage. Made again only when they change.

        `layout`: the one that these rows were made of.
        """
        if topics != self._remote[0]:
            places = [place for place, name in enumerate(layout.topics) if name in topics]
            rows = np.flatnonzero(self.leading & np.isin(layout.topic, places)[layout.partition])
            hosts = layout.broker[rows]
            self._remote = (
                topics,
                {broker: index_rows(layout, rows[hosts == broker]) for broker in np.unique(hosts).tolist()},
            )
        return self._remote[1]


def mark_moves(layout: Layout, reassignments: Reassignments) -> tuple[Bools, Bools, Bools]:
    """Turn reassignments into columns: reassigning (per partition), adding and removing (per replica)."""
    reassigning = np.zeros(len(layout.topic), bool)
    adding, removing = np.zeros(len(layout.partition), bool), np.zeros(len(layout.partition), bool)
    if not reassignments:
        return reassigning, adding, removing
    for partition, row in partition_rows(layout, reassignments).items():
        change = reassignments[partition]
        reassigning[row] = True
        first, last = np.searchsorted(layout.partition, [row, row + 1])
        adding[first:last] = np.isin(layout.broker[first:last], list(change.adding))
        removing[first:last] = np.isin(layout.broker[first:last], list(change.removing))
    return reassigning, adding, removing


def recently_finished(layout: Layout, before: Reassignments, now: Reassignments) -> Reassignments:
    """Return reassignments that ended after the layout was read. It still shows them, so they count for this poll."""
    kept: Reassignments = {}
    for partition, row in partition_rows(layout, before.keys() - now.keys()).items():
        change = before[partition]
        first, last = np.searchsorted(layout.partition, [row, row + 1])
        replicas = set(layout.broker[first:last].tolist())
        in_sync = set(layout.broker[first:last][layout.in_isr[first:last]].tolist())
        if replicas >= change.adding | change.removing and not in_sync >= change.adding:
            kept[partition] = change
    return kept


def partition_rows(layout: Layout, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Find the rows of some partitions, given by topic name and number; unknown ones are left out."""
    index = {name: position for position, name in enumerate(layout.topics)}
    rows: dict[tuple[str, int], int] = {}
    for name, number in partitions:
        if name in index:
            first, last = np.searchsorted(layout.topic, [index[name], index[name] + 1])
            row = int(first + np.searchsorted(layout.number[first:last], number))
            if row < last and layout.number[row] == number:
                rows[name, number] = row
    return rows


def log_gaps(layout: Layout, broker: int, sizes: Longs, answer: LogDirs, clock: float) -> LogGaps:
    """Compare the metadata with a broker's answer about all its logs, of the same poll.

    `sizes`: per replica, of this answer alone. `clock`: monotonic time of the poll.
    """
    absent = np.flatnonzero((layout.broker == broker) & (sizes == UNKNOWN))
    partition = layout.partition[absent]
    numbered = zip(layout.topic[partition].tolist(), layout.number[partition].tolist(), strict=True)
    missing = frozenset(MissingLog(layout.topics[topic], layout.topic_ids[topic], number) for topic, number in numbered)
    all_online = all(directory.online for directory in answer.directories)
    stray = None if answer.more_stray else frozenset(StrayLog(*log) for log in answer.stray)
    return LogGaps(clock, missing if all_online else None, stray)
