"""The throttled lists: which replicas they name and hold back, and entries whose broker does not host the replica.

docs/spec/throttles.md#limits-and-lists, docs/spec/throttles.md#not-a-problem. Arrays: R rows per replica, B per broker.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import SIDES, UNKNOWN, Bools, Ints, Side, TopicConfig

WILDCARD = "*"
_ENTRY: Final = re.compile(r"\s*(\d{1,10}):(\d{1,10})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """One topic's throttled list of one side. `everything` is `*`: every partition on every broker."""

    everything: bool = False
    pairs: AbstractSet[tuple[int, int]] = frozenset()
    """(partition, broker)."""

    def names(self, partition: int, broker: int) -> bool:
        """Whether the list names that replica."""
        return self.everything or (partition, broker) in self.pairs

    def __bool__(self) -> bool:
        return self.everything or bool(self.pairs)


Lists = Mapping[int, ThrottledReplicas]
"""Of one side, by topic index, without empty ones."""


def parse_throttled(value: str) -> ThrottledReplicas:
    """`{leader,follower}.replication.throttled.replicas`: `*`, or `partition:broker,...`.

    docs/spec/throttles.md#limits-and-lists. Kafka validates the value, except the number of digits. An entry of another
    form names no replica.
    """
    text = value.strip()
    if text == WILDCARD:
        return ThrottledReplicas(everything=True)
    entries = map(_ENTRY.fullmatch, text.split(","))
    return ThrottledReplicas(pairs=frozenset((int(entry[1]), int(entry[2])) for entry in entries if entry))


def listed_rows(lists: Lists, topic: Ints, partition: Ints, broker: Ints) -> Bools:
    """Which of R replicas the lists name. `lists` by topic index; `topic`, `partition`, `broker` are (R,)."""
    listed: Bools = np.isin(topic, [index for index, names in lists.items() if names.everything])
    rows = np.flatnonzero(np.isin(topic, [index for index, names in lists.items() if not names.everything]))
    keys = zip(topic[rows].tolist(), partition[rows].tolist(), broker[rows].tolist(), strict=True)
    listed[rows] = [lists[index].names(number, host) for index, number, host in keys]
    return listed


def lists_of_side(indexed: IndexedSnapshot, side: Side) -> dict[int, ThrottledReplicas]:
    """Return the lists of one side by topic index, without empty and unknown ones."""
    found, unknown = {}, TopicConfig()
    for index, name in enumerate(indexed.snapshot.topics):
        config = indexed.snapshot.topic_configs.get(name, unknown)
        value = config.leader_throttled if side is Side.LEADER else config.follower_throttled
        if value and (parsed := parse_throttled(value)):
            found[index] = parsed
    return found


def lists_known_by_topic(indexed: IndexedSnapshot) -> Bools:
    """(T,) topics whose lists are known."""
    return np.array([name in indexed.snapshot.topic_configs for name in indexed.snapshot.topics], bool)


def listed_replicas(indexed: IndexedSnapshot, lists: Lists) -> Bools:
    """(R,) replicas that the list of their topic names."""
    if not lists:
        return np.zeros(len(indexed.snapshot.replicas), bool)
    snapshot = indexed.snapshot
    partition = snapshot.replicas.partition
    topic, number = snapshot.partitions.topic[partition], snapshot.partitions.number[partition]
    return listed_rows(lists, topic, number, snapshot.replicas.broker)


def held_rows(indexed: IndexedSnapshot, listed: Mapping[Side, Bools]) -> dict[Side, Bools]:
    """(R,) followers that a list of that side holds back: an entry of the leader counts for all its followers."""
    follower = ~indexed.is_leader
    leader_row = indexed.snapshot.partitions.leader_row[indexed.snapshot.replicas.partition]
    led = leader_row != UNKNOWN
    by_leader = np.zeros(len(follower), bool)
    by_leader[led] = listed[Side.LEADER][leader_row[led]]
    return {Side.LEADER: by_leader & follower, Side.FOLLOWER: listed[Side.FOLLOWER] & follower}


ListKey = tuple[bytes, str, Side]
"""Topic id, topic name and side: a topic that was created again has another list."""

Entry = tuple[int, int]
"""(partition, broker) of a list."""


@dataclass(frozen=True, slots=True)
class ListsMemory:
    """The last known lists, and which of their entries never had a replica."""

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
    indexed: IndexedSnapshot,
    lists: Mapping[Side, Lists],
    listed: Mapping[Side, Bools],
    known: Bools,
    memory: ListsMemory,
) -> tuple[ListsMemory, dict[Side, Named]]:
    """Find the brokers that the lists of both sides name. `listed`: (R,) replicas. `known`: (T,) topics."""
    named = {side: _named(indexed, lists[side], listed, side, memory) for side in SIDES}
    unknown = {_key(indexed, index, side) for side in SIDES for index in np.flatnonzero(~known).tolist()}
    kept = ListsMemory(
        lists={key: found for key, found in memory.lists.items() if key in unknown}
        | {_key(indexed, index, side): found for side in SIDES for index, found in lists[side].items()},
        unexplained={key: left for key, left in memory.unexplained.items() if key in unknown}
        | {_key(indexed, index, side): left for side in SIDES for index, left in named[side].unexplained.items()},
    )
    return kept, named


def _key(indexed: IndexedSnapshot, index: int, side: Side) -> ListKey:
    return indexed.snapshot.topic_ids[index], indexed.snapshot.topics[index], side


def _absent(indexed: IndexedSnapshot, lists: Lists, listed: Bools) -> dict[int, frozenset[Entry]]:
    """Find entries without a replica, only in topics that do not host all their entries."""
    explicit = {index: found.pairs for index, found in lists.items() if not found.everything}
    if not explicit:
        return {}
    partitions, replicas = indexed.snapshot.partitions, indexed.snapshot.replicas
    rows = np.flatnonzero(listed)
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
    listed: Mapping[Side, Bools],
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
    moved = _destinations(indexed, listed[Side.FOLLOWER], index) if side is Side.LEADER else frozenset()
    return frozenset(
        (number, broker)
        for number, broker in entries
        if number not in moved
        and (before is None or (number, broker) in never_there or not before.names(number, broker))
    )


def _destinations(indexed: IndexedSnapshot, listed: Bools, index: int) -> frozenset[int]:
    partitions, replicas = indexed.snapshot.partitions, indexed.snapshot.replicas
    partition = replicas.partition[listed & ~replicas.adding]
    return frozenset(partitions.number[partition[partitions.topic[partition] == index]].tolist())


def _named(
    indexed: IndexedSnapshot, lists: Lists, listed: Mapping[Side, Bools], side: Side, memory: ListsMemory
) -> Named:
    partitions, replicas = indexed.snapshot.partitions, indexed.snapshot.replicas
    absent = _absent(indexed, lists, listed[side])
    wild = [index for index, found in lists.items() if found.everything]
    rows = np.flatnonzero(listed[side])
    of_wild = np.isin(partitions.topic[replicas.partition[rows]], wild)
    elsewhere = {broker for entries in absent.values() for _, broker in entries}
    return Named(
        one_by_one=(indexed.hosted(rows[~of_wild]) > 0) | np.isin(indexed.brokers, list(elsewhere)),
        by_wildcard=indexed.hosted(rows[of_wild]) > 0,
        absent=absent,
        unexplained={
            index: left
            for index, entries in absent.items()
            if (left := _unexplained(indexed, listed, memory, side, index, entries))
        },
    )
