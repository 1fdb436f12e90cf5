"""Replicas that move to another log directory of their broker: remaining bytes, ETA (KIP-113); space for all moves.

docs/spec/moves.md#between-log-directories, docs/spec/moves.md#causes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kafka_warden.arrays import as_known
from kafka_warden.derive import copy_rates, etas, law
from kafka_warden.derive.copy_rates import MoveKey
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import Throttles
from kafka_warden.model import UNKNOWN, Floats, Side
from kafka_warden.replies import FutureReplica, LogDir, for_new_replicas

LogDirKey = tuple[bytes, str, int, int, str]
"""Topic id, topic name, partition, broker and target directory."""

REMEMBERED = 3 * 60.0
"""Seconds of answers that a slope may span: log directories of idle replicas are read once a minute."""


@dataclass(frozen=True, slots=True)
class LogDirMove:
    """One future replica. Bytes, seconds; `None` is unknown."""

    topic: str
    partition: int
    broker: int
    remaining_bytes: float | None
    eta: float | None


@dataclass(frozen=True, slots=True)
class Track:
    """State of one future replica: the answers under its present limit, and their times."""

    limit: float | None
    times: tuple[float, ...] = ()
    remaining: tuple[float, ...] = ()


LogDirMovesMemory = Mapping[LogDirKey, Track]
"""State from poll to poll, by move, so no rows have to be matched."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """One future replica, with the replica that it replaces."""

    key: LogDirKey
    future: FutureReplica
    track: Track
    remaining: float | None
    bytes_in: float | None


def derive_log_dir_moves(
    indexed: IndexedSnapshot, throttles: Throttles, bytes_in: Floats, memory: LogDirMovesMemory
) -> tuple[LogDirMovesMemory, tuple[LogDirMove, ...]]:
    """Return every future replica of the latest answers with its ETA."""
    clock, future = indexed.snapshot.clock, indexed.snapshot.future_replicas
    topics = {name: index for index, name in enumerate(indexed.snapshot.topics)} if future else {}
    copies = [
        _copy(indexed, throttles, bytes_in, memory, moving, topics[moving.topic])
        for moving in future
        if moving.topic in topics
    ]
    of_broker: dict[int, list[_Copy]] = {}
    for copy in copies:
        of_broker.setdefault(copy.future.broker, []).append(copy)
    together = {broker: _eta(group, clock) for broker, group in of_broker.items()}
    evaluated = tuple(
        LogDirMove(
            copy.future.topic,
            copy.future.partition,
            copy.future.broker,
            copy.remaining,
            min(
                (eta for eta in (_own_eta(copy, clock), together[copy.future.broker]) if eta is not None), default=None
            ),
        )
        for copy in copies
    )
    return {copy.key: copy.track for copy in copies}, evaluated


def _copy(
    indexed: IndexedSnapshot,
    throttles: Throttles,
    bytes_in: Floats,
    memory: LogDirMovesMemory,
    moving: FutureReplica,
    topic: int,
) -> _Copy:
    key = (indexed.snapshot.topic_ids[topic], moving.topic, moving.partition, moving.broker, moving.log_dir)
    row = indexed.find_replica(topic, moving.partition, moving.broker)
    replicas = indexed.snapshot.replicas
    limit = throttles.limit(moving.broker, Side.LOG_DIRS)
    before = memory.get(key)
    track = before if before is not None and before.limit == limit else Track(limit)
    if row is None or replicas.size[row] == UNKNOWN or moving.size == UNKNOWN:
        return _Copy(key, moving, track, None, None)
    remaining = float(max(int(replicas.size[row]) - moving.size, 0))
    answered_at = float(replicas.sized_at[row])
    if not track.times or answered_at > track.times[-1]:
        kept = copy_rates.first_kept(track.times, answered_at - REMEMBERED)
        track = Track(limit, (*track.times[kept:], answered_at), (*track.remaining[kept:], remaining))
    return _Copy(key, moving, track, remaining, as_known(float(bytes_in[replicas.partition[row]])))


def _own_eta(copy: _Copy, clock: float) -> float | None:
    """ETA by its own slope; `None` while it waits for its turn, as a broker copies few replicas at a time."""
    measured = copy_rates.slope(copy.track.times, copy.track.remaining)
    if copy.remaining is None or measured is None or measured.rate >= 0:
        return 0.0 if copy.remaining == 0 else None
    return max(copy.remaining / -measured.rate - (clock - copy.track.times[-1]), 0.0)


def _eta(copies: list[_Copy], clock: float) -> float | None:
    """Seconds until a broker has copied everything: from the slope of the sum, or its limit before there is one."""
    left = [copy.remaining for copy in copies if copy.remaining is not None]
    if len(left) < len(copies):
        return None
    total, limit = sum(left), copies[0].track.limit
    if limit == 0 and total > 0:
        return math.inf
    net = _measured(copies)
    if net is None:
        inbound = [copy.bytes_in for copy in copies if copy.bytes_in is not None]
        if limit is None or math.isinf(limit) or len(inbound) < len(copies):
            return None
        net = law.net(limit, sum(inbound))
    answered_at = min(copy.track.times[-1] for copy in copies)
    return max(etas.eta(total, net) - (clock - answered_at), 0.0)


def _measured(copies: list[_Copy]) -> float | None:
    """Net rate of all copies of a broker, over the answers that all of them have."""
    common = min(len(copy.track.times) for copy in copies)
    if not common or len({copy.track.times[-common:] for copy in copies}) > 1:
        return None
    total = np.sum([copy.track.remaining[-common:] for copy in copies], axis=0).tolist()
    measured = copy_rates.slope(copies[0].track.times[-common:], total)
    return None if measured is None else -measured.rate


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
