"""Brokers that the throttled lists name, and entries whose broker does not host the replica."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import ThrottledReplicas, Throttles
from kafka_warden.model import SIDES, Bools, Side

ListKey = tuple[bytes, str, Side]
"""Topic id, topic name and side: a topic that was created again has another list."""

Entry = tuple[int, int]
"""(partition, broker) of a list."""


@dataclass(frozen=True, slots=True)
class ListsMemory:
    """The lists of the previous poll, and which of their entries never had a replica."""

    lists: Mapping[ListKey, ThrottledReplicas] = field(default_factory=dict)
    unexplained: Mapping[ListKey, frozenset[Entry]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Named:
    """Brokers that the lists of one side name. B brokers."""

    one_by_one: Bools
    """(B,) in an entry of its own, whether or not it hosts that replica."""
    by_wildcard: Bools
    """(B,) hosts a replica of a topic whose list is `*`."""
    absent: Mapping[int, frozenset[Entry]]
    """Topic index to the entries whose broker does not host that replica."""
    unexplained: Mapping[int, frozenset[Entry]]
    """Those of them that no move left behind."""

    @property
    def any(self) -> Bools:
        """(B,) named at all."""
        return self.one_by_one | self.by_wildcard


def derive_named(
    indexed: IndexedSnapshot, throttles: Throttles, memory: ListsMemory
) -> tuple[ListsMemory, dict[Side, Named]]:
    """Resolve the lists of both sides."""
    named = {side: _named(indexed, throttles, side, memory) for side in SIDES}
    kept = ListsMemory(
        lists={_key(indexed, index, side): found for side in SIDES for index, found in throttles.lists[side].items()},
        unexplained={
            _key(indexed, index, side): left for side in SIDES for index, left in named[side].unexplained.items()
        },
    )
    return kept, named


def _key(indexed: IndexedSnapshot, index: int, side: Side) -> ListKey:
    return indexed.snapshot.topic_ids[index], indexed.snapshot.topics[index], side


def _absent(indexed: IndexedSnapshot, throttles: Throttles, side: Side) -> dict[int, frozenset[Entry]]:
    """Find entries without a replica, only in topics that do not host all their entries."""
    explicit = {index: found.pairs for index, found in throttles.lists[side].items() if not found.everything}
    if not explicit:
        return {}
    partitions, replicas = indexed.snapshot.partitions, indexed.snapshot.replicas
    rows = np.flatnonzero(throttles.listed[side])
    topic = partitions.topic[replicas.partition[rows]]
    hosted = np.bincount(topic, minlength=len(indexed.snapshot.topics))
    absent = {}
    for index, pairs in explicit.items():
        if hosted[index] == len(pairs):
            continue
        there = rows[topic == index]
        numbers, brokers = partitions.number[replicas.partition[there]], replicas.broker[there]
        absent[index] = frozenset(pairs) - set(zip(numbers.tolist(), brokers.tolist(), strict=True))
    return absent


def _unexplained(
    indexed: IndexedSnapshot,
    throttles: Throttles,
    memory: ListsMemory,
    side: Side,
    index: int,
    entries: frozenset[Entry],
) -> frozenset[Entry]:
    """Leave out what a move left behind.

    That is an entry that had its replica while it was listed; and, for a sidecar that did not see the move, a leader's
    entry for a partition whose follower list names a replica that is there: sources and destination of a move.
    """
    key = _key(indexed, index, side)
    before, never_there = memory.lists.get(key), memory.unexplained.get(key, frozenset())
    moved = _destinations(indexed, throttles, index) if side is Side.LEADER else frozenset()
    return frozenset(
        (number, broker)
        for number, broker in entries
        if number not in moved
        and (before is None or (number, broker) in never_there or not before.names(number, broker))
    )


def _destinations(indexed: IndexedSnapshot, throttles: Throttles, index: int) -> frozenset[int]:
    partitions, replicas = indexed.snapshot.partitions, indexed.snapshot.replicas
    partition = replicas.partition[throttles.listed[Side.FOLLOWER] & ~replicas.adding]
    return frozenset(partitions.number[partition[partitions.topic[partition] == index]].tolist())


def _named(indexed: IndexedSnapshot, throttles: Throttles, side: Side, memory: ListsMemory) -> Named:
    partitions, replicas = indexed.snapshot.partitions, indexed.snapshot.replicas
    absent = _absent(indexed, throttles, side)
    wild = [index for index, found in throttles.lists[side].items() if found.everything]
    listed = np.flatnonzero(throttles.listed[side])
    of_wild = np.isin(partitions.topic[replicas.partition[listed]], wild)
    elsewhere = {broker for entries in absent.values() for _, broker in entries}
    return Named(
        one_by_one=(indexed.hosted(listed[~of_wild]) > 0) | np.isin(indexed.brokers, list(elsewhere)),
        by_wildcard=indexed.hosted(listed[of_wild]) > 0,
        absent=absent,
        unexplained={
            index: left
            for index, entries in absent.items()
            if (left := _unexplained(indexed, throttles, memory, side, index, entries))
        },
    )
