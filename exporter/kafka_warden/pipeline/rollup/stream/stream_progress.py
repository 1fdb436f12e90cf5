"""A stream's progress: how far it is, and how many rows were late or lost.

One file per batch, written last. A repeated batch reads the file of the batch before, so it decides as the first time.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from kafka_warden.errors import CheckpointError, MessagesLostError
from kafka_warden.pipeline.storage import Storage

_BEGINNING: Final = "beginning.json"


@dataclass(frozen=True, slots=True)
class Read:
    """A batch's messages of one partition of a topic."""

    partition: int
    first: int
    last: int
    """Offsets, inclusive."""
    messages: int


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """After one batch."""

    batch: int = -1
    newest: float = -math.inf
    """Unix seconds of the newest row, at most this machine's time: a fast clock must not close the current hour."""
    rows: int = 0
    """Rows in time, duplicates included."""
    late: dict[str, int] = field(default_factory=dict)
    """Table to rows of closed hours, duplicates included."""
    unreadable: int = 0
    """Messages that are not history."""
    offsets: dict[str, int] = field(default_factory=dict)
    """Partition of the topic to the offset after the last message that was read."""
    lost: int = 0
    """Messages that the topic deleted before they were read."""

    def watermark(self, delay: float) -> float:
        """Return the Unix time up to which hours are closed."""
        return self.newest - delay

    def after(self, batch: int, newest: float, rows: int, late: Mapping[str, int], unreadable: int) -> "StreamProgress":
        """Add a batch."""
        tables = {*self.late, *late}
        return replace(
            self,
            batch=batch,
            newest=max(self.newest, newest),
            rows=self.rows + rows,
            late={name: self.late.get(name, 0) + late.get(name, 0) for name in sorted(tables)},
            unreadable=self.unreadable + unreadable,
        )

    def passed(self, beginnings: Mapping[int, int]) -> "StreamProgress":
        """Count messages that were deleted unread, given each partition's first offset; a new partition starts at 0."""
        lost, offsets = self.lost, dict(self.offsets)
        for partition, first in beginnings.items():
            expected = offsets.get(str(partition), 0)
            lost += max(first - expected, 0)
            offsets[str(partition)] = max(first, expected)
        return replace(self, lost=lost, offsets=offsets)

    def read(self, read: Sequence[Read]) -> "StreamProgress":
        """Add a batch's messages, and count those that are missing before and between them.

        Raises:
            MessagesLostError: an offset is smaller than before: the topic was created again.
        """
        lost, offsets = self.lost, dict(self.offsets)
        for part in read:
            expected = offsets.get(str(part.partition), 0)
            if part.first < expected:
                raise MessagesLostError(
                    f"partition {part.partition} of the topic restarted at offset {part.first} after {expected}: the"
                    " topic was deleted and created again; use new folders for --checkpoint and --output"
                )
            lost += part.last + 1 - expected - part.messages
            offsets[str(part.partition)] = part.last + 1
        return replace(self, lost=lost, offsets=offsets)


class ProgressStore:
    """The progress files of the last two batches."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._folder = folder

    def open(self, offsets: Mapping[int, int]) -> None:
        """Store, once and before the first batch, each partition's first offset: earlier messages are not lost."""
        if not self._is_begun() and not self._batches():
            first = {str(partition): offset for partition, offset in offsets.items()}
            self._write(f"{self._folder}/{_BEGINNING}", StreamProgress(offsets=first))

    def before(self, batch: int) -> StreamProgress:
        """Read the progress of the last batch before this one, or of the start.

        Raises:
            CheckpointError: the file is damaged.
        """
        earlier = [self._file(number) for number in self._batches() if number < batch]
        if not earlier and not self._is_begun():
            return StreamProgress()
        file = earlier[-1] if earlier else f"{self._folder}/{_BEGINNING}"
        try:
            found = json.loads(self._storage.read(file))
            return StreamProgress(**{**found, "newest": float(found["newest"])})
        except (ValueError, TypeError, KeyError) as problem:
            raise CheckpointError(
                f"{file}: damaged ({problem}); delete the whole checkpoint, and the roll-up starts at the beginning"
            ) from problem

    def put(self, progress: StreamProgress) -> None:
        """Store the progress of a batch, and delete files that no restart needs."""
        self._write(self._file(progress.batch), progress)
        for number in self._batches():
            if number < progress.batch - 1:
                self._storage.delete(self._file(number))

    def _write(self, file: str, progress: StreamProgress) -> None:
        self._storage.write(file, json.dumps({**asdict(progress), "newest": str(progress.newest)}))

    def _is_begun(self) -> bool:
        return _BEGINNING in self._storage.names(self._folder)

    def _batches(self) -> list[int]:
        names = [name.removesuffix(".json") for name in self._storage.names(self._folder) if name.endswith(".json")]
        return sorted(int(name) for name in names if name.isdigit())

    def _file(self, batch: int) -> str:
        return f"{self._folder}/{batch:09d}.json"
