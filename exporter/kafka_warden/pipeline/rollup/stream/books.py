"""What a stream remembers from one batch to the next: how far it is, and what came too late.

A file per batch, written when all else of the batch is. A batch that is made again reads what the one before left, so
that it decides as it did the first time.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from kafka_warden.errors import CheckpointError, MessagesLostError
from kafka_warden.pipeline.storage import Storage

HOUR: Final = 3600
_BEGINNING: Final = "beginning.json"


@dataclass(frozen=True, slots=True)
class Read:
    """What a batch read of one partition of a topic."""

    partition: int
    first: int
    last: int
    """Offsets, both included."""
    messages: int


@dataclass(frozen=True, slots=True)
class Books:
    """After one batch."""

    batch: int = -1
    newest: float = -math.inf
    """Unix seconds of the newest row, and not after the clock of this machine: no clock ahead closes what is now."""
    rows: int = 0
    """Rows that were taken, duplicates included."""
    late: dict[str, int] = field(default_factory=dict)
    """Table to rows that came after their hour was closed, duplicates included."""
    unreadable: int = 0
    """Messages that were none of ours."""
    offsets: dict[str, int] = field(default_factory=dict)
    """Partition of the topic to the offset after the last message that was read."""
    lost: int = 0
    """Messages that the topic let go of before they were read."""

    def watermark(self, delay: float) -> float:
        """Hours that end at or before this time, in Unix seconds, are closed."""
        return self.newest - delay

    def after(self, batch: int, newest: float, rows: int, late: Mapping[str, int], unreadable: int) -> "Books":
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

    def passed(self, beginnings: Mapping[int, int]) -> "Books":
        """Count what a topic let go of before anybody read it. A partition that is younger than the stream begins at 0.

        Args:
            beginnings: of each partition, the offset of its first message now.
        """
        lost, offsets = self.lost, dict(self.offsets)
        for partition, first in beginnings.items():
            expected = offsets.get(str(partition), 0)
            lost += max(first - expected, 0)
            offsets[str(partition)] = max(first, expected)
        return replace(self, lost=lost, offsets=offsets)

    def read(self, read: Sequence[Read]) -> "Books":
        """Add what a batch read of a topic, and count what is missing in front of it and in between.

        Raises:
            MessagesLostError: offsets went back: the topic is another one.
        """
        lost, offsets = self.lost, dict(self.offsets)
        for part in read:
            expected = offsets.get(str(part.partition), 0)
            if part.first < expected:
                raise MessagesLostError(
                    f"partition {part.partition} of the topic begins anew, at offset {part.first} after {expected}: it"
                    " was deleted and made again; give --checkpoint a new folder, and --output one for its marts"
                )
            lost += part.last + 1 - expected - part.messages
            offsets[str(part.partition)] = part.last + 1
        return replace(self, lost=lost, offsets=offsets)


class Shelf:
    """The books of all batches that still matter: the last one, and the one before it."""

    def __init__(self, storage: Storage, folder: str) -> None:
        """Keep them in a folder, an address."""
        self._storage = storage
        self._folder = folder

    def open(self, offsets: Mapping[int, int]) -> None:
        """Note, once and before the first batch, where a topic begins: what is gone by then is no loss.

        Args:
            offsets: of the first message of each partition.
        """
        if not self._is_begun() and not self._batches():
            first = {str(partition): offset for partition, offset in offsets.items()}
            self._write(f"{self._folder}/{_BEGINNING}", Books(offsets=first))

    def before(self, batch: int) -> Books:
        """Find the books of the last batch before this one, or of the beginning.

        Raises:
            CheckpointError: they cannot be read.
        """
        earlier = [self._file(number) for number in self._batches() if number < batch]
        if not earlier and not self._is_begun():
            return Books()
        file = earlier[-1] if earlier else f"{self._folder}/{_BEGINNING}"
        try:
            found = json.loads(self._storage.read(file))
            return Books(**{**found, "newest": float(found["newest"])})
        except (ValueError, TypeError, KeyError) as problem:
            raise CheckpointError(
                f"{file}: damaged ({problem}); delete the whole checkpoint, and the roll-up starts at the beginning"
            ) from problem

    def put(self, books: Books) -> None:
        """Keep the books of a batch, and let go of those that no restart needs."""
        self._write(self._file(books.batch), books)
        for number in self._batches():
            if number < books.batch - 1:
                self._storage.delete(self._file(number))

    def _write(self, file: str, books: Books) -> None:
        self._storage.write(file, json.dumps({**asdict(books), "newest": str(books.newest)}))

    def _is_begun(self) -> bool:
        return _BEGINNING in self._storage.names(self._folder)

    def _batches(self) -> list[int]:
        names = [name.removesuffix(".json") for name in self._storage.names(self._folder) if name.endswith(".json")]
        return sorted(int(name) for name in names if name.isdigit())

    def _file(self, batch: int) -> str:
        return f"{self._folder}/{batch:09d}.json"
