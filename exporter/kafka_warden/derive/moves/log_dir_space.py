"""The log directory that each adding replica lies in: whether it is online, and what room it has (judgement.md 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_warden.derive.flows.changes import MoveKey
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import LogDir

Place = tuple[int, str | None]
"""Broker and path; `None` while it is not known which of them a replica lies in."""


@dataclass(frozen=True, slots=True)
class Disks:
    """Where adding replicas lie. Bytes."""

    indexed: IndexedSnapshot
    keys: Mapping[int, MoveKey]
    """Row of each adding replica to what it is."""
    remaining: Mapping[int, float | None]
    """Row of each adding replica to the bytes that it lacks."""
    _directories: dict[int, list[LogDir]] = field(default_factory=dict)
    _arriving: dict[Place, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add up what arrives where."""
        for directory in self.indexed.snapshot.log_dirs:
            self._directories.setdefault(directory.broker, []).append(directory)
        for row, left in self.remaining.items():
            place = self._place(row)
            self._arriving[place] = self._arriving.get(place, 0.0) + (left or 0.0)

    def lost(self, row: int, *, settled: bool) -> bool:
        """Whether the directory that a replica lies in is offline: one is, and the others do not hold it any more.

        What was never told may not be there yet: of that nothing is said before the move has `settled`. A replica that
        another directory holds goes on as if nothing was.
        """
        broker, path = self._place(row)
        directories = self._directories.get(broker, [])
        if path is not None:
            return not all(directory.online for directory in directories if directory.path == path)
        told = self.indexed.snapshot.replicas.sized_at[row] > 0
        return any(not directory.online for directory in directories) and (bool(told) or settled)

    def usable(self, row: int) -> float | None:
        """Bytes left where a replica lies, in the roomiest directory while that is not known: the broker chooses."""
        broker, path = self._place(row)
        usable = [
            directory.usable_bytes
            for directory in self._directories.get(broker, [])
            if directory.online and path in {None, directory.path}
        ]
        return None if not usable or min(usable) < 0 else float(max(usable))

    def arriving(self, row: int) -> float:
        """Bytes that all replicas lack which lie where this one does."""
        return self._arriving[self._place(row)]

    def _place(self, row: int) -> Place:
        _, topic, number, broker = self.keys[row]
        return broker, self.indexed.snapshot.placed.get(broker, {}).get((topic, number))
