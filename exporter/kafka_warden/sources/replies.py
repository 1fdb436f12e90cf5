"""Maps the rows of a reply that is grouped by topic to rows of the model's tables."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from kafka_warden.clients.kafka.columns import Shape
from kafka_warden.clients.kafka.repeated import Repeated
from kafka_warden.model import UNKNOWN, Longs
from kafka_warden.sources.metadata import Layout

TOPIC_BITS = 32
"""A key is the topic's place in the layout, shifted by so many bits, and the partition's number below."""


@dataclass(slots=True)
class RowIndex:
    """Some replicas of one broker. Brokers answer topics and partitions in an order of their own, hence the keys."""

    names: tuple[str, ...] = ()
    """All topics of the layout."""
    topics: Mapping[str, int] = field(default_factory=dict)
    """Name to place in the layout, shared by all brokers."""
    keys: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    """Ascending."""
    rows: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the `ReplicaTable`, one per key."""
    requests: dict[int, Repeated] = field(default_factory=dict, repr=False, compare=False)
    """ListOffsets requests for these replicas, by timestamp."""
    shape: Shape | None = field(default=None, repr=False, compare=False)
    """That of the last reply to one of them."""

    def __bool__(self) -> bool:
        return len(self.keys) > 0

    def __iter__(self) -> Iterator[tuple[str, list[int]]]:
        """Topic names, each with its partitions."""
        first, numbers = 0, self.numbers().tolist()
        for name, count in self.counted():
            yield name, numbers[first : first + count]
            first += count

    def numbers(self) -> Longs:
        """Partition numbers, in ascending order of topic and number."""
        return self.keys & ((1 << TOPIC_BITS) - 1)

    def counted(self) -> list[tuple[str, int]]:
        """Topic names, each with how many partitions it has."""
        places, counts = np.unique(self.keys >> TOPIC_BITS, return_counts=True)
        return [(self.names[place], count) for place, count in zip(places.tolist(), counts.tolist(), strict=True)]

    def find(self, names: Sequence[str], counts: Sequence[int], numbers: Longs) -> Longs:
        """Rows of partitions, `UNKNOWN` for those that are not among these.

        Of a reply: `names` of topics, `counts` of their partitions, `numbers` of the partitions of one after the other.
        """
        if not len(self.keys):
            return np.full(len(numbers), UNKNOWN, np.int64)
        places = np.array([self.topics.get(name, UNKNOWN) for name in names], dtype=np.int64)
        wanted = (np.repeat(places, np.array(counts, np.int64)) << TOPIC_BITS) | numbers
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.rows[found], UNKNOWN)


def find_partitions(topics: Sequence[Any], wanted: RowIndex) -> tuple[list[Any], Longs]:
    """Return the partitions of a decoded reply, one topic after the other, and their rows."""
    partitions = [partition for topic in topics for partition in topic.partitions]
    counts = [len(topic.partitions) for topic in topics]
    return partitions, wanted.find([topic.name for topic in topics], counts, column(partitions, "partition_index"))


def index_rows(layout: Layout, rows: Any) -> RowIndex:
    """Index some rows of the `ReplicaTable`, given in ascending order."""
    partition = layout.partition[rows]
    topic = layout.topic[partition].astype(np.int64)
    keys = (topic << TOPIC_BITS) | layout.number[partition]
    return RowIndex(layout.topics, _places(layout.topics), keys, rows.astype(np.int64))


@functools.lru_cache(maxsize=1)
def _places(topics: tuple[str, ...]) -> Mapping[str, int]:
    return {name: place for place, name in enumerate(topics)}


def column(rows: Sequence[Any], name: str) -> Longs:
    """One field of many rows of a reply."""
    return np.fromiter(map(attrgetter(name), rows), dtype=np.int64, count=len(rows))
