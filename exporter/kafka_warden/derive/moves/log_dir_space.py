"""The log directory of each replica that a move waits for: online, free space (docs/spec/moves.md#causes)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_warden.derive.flows.changes import MoveKey
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import LogDir, for_new_replicas

Place = tuple[int, str | None]
"""Broker and path; `None` while the directory is unknown."""


@dataclass(frozen=True, slots=True)
class Disks:
    """Log directories of the replicas that moves wait for. Bytes."""

    indexed: IndexedSnapshot
    keys: Mapping[int, MoveKey]
    """Row of each replica to the key of its move."""
    remaining: Mapping[int, float | None]
    """Row of each replica to the bytes that it lacks."""
    _directories: dict[int, list[LogDir]] = field(default_factory=dict)
    _arriving: dict[Place, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add up arriving bytes by directory."""
        for directory in self.indexed.snapshot.log_dirs:
            self._directories.setdefault(directory.broker, []).append(directory)
        for row, left in self.remaining.items():
            place = self._place(row)
            self._arriving[place] = self._arriving.get(place, 0.0) + (left or 0.0)

    def lost(self, row: int, *, settled: bool) -> bool:
        """Whether the directory of a replica is offline: one is, and no other directory holds the replica.

        A replica without any size may not exist yet: False before the move has `settled`. A replica in another
        directory is not affected.
        """
        broker, path = self._place(row)
        directories = self._directories.get(broker, [])
        if path is not None:
            return not all(directory.online for directory in directories if directory.path == path)
        sized = self.indexed.snapshot.replicas.sized_at[row] > 0
        return any(not directory.online for directory in directories) and (bool(sized) or settled)

    def usable(self, row: int) -> float | None:
        """Free bytes in the directory of a replica; while unknown, the most in one that the broker may choose."""
        broker, path = self._place(row)
        directories = self._directories.get(broker, [])
        if path is None:
            directories = for_new_replicas(directories)
        usable = [each.usable_bytes for each in directories if each.online and path in {None, each.path}]
        return None if not usable or min(usable) < 0 else float(max(usable))

    def arriving(self, row: int) -> float:
        """Bytes still to arrive in the log directory of this replica."""
        return self._arriving[self._place(row)]

    def _place(self, row: int) -> Place:
        _, topic, number, broker = self.keys[row]
        return broker, self.indexed.snapshot.placed.get(broker, {}).get((topic, number))
