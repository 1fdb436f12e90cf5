"""Maps the rows of a reply that is grouped by topic to rows of the model's tables."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np

from kafka_warden.clients.kafka.columns import Shape, write_name
from kafka_warden.model import UNKNOWN, Longs
from kafka_warden.sources.metadata import Layout

TOPIC_BITS = 32
"""A key is the topic's place in the layout, shifted by so many bits, and the partition's number below."""


@dataclass(slots=True)
class RowIndex:
    """Some replicas of one broker. Brokers answer topics and partitions in an order of their own, hence the keys."""

    names: tuple[str, ...] = ()
    """All topics of the layout."""
    places: Mapping[bytes, int] = field(default_factory=dict)
    """Name as of `write_name` to place in the layout, shared by all brokers."""
    keys: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    """Ascending."""
    rows: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the `ReplicaTable`, one per key."""
    requests: dict[int, dict[int, bytes]] = field(default_factory=dict, repr=False, compare=False)
    """Encoded ListOffsets requests for these replicas, by timestamp and version of the protocol."""
    shape: Shape | None = field(default=None, repr=False, compare=False)
    """That of the last reply to one of them."""
    gone: int = 0
    """Other replicas that the requests still name: they were among these in an earlier layout."""
    parts: tuple["RowIndex", ...] = field(default=(), repr=False, compare=False)
    """These replicas in two parts, which are asked about in place of all: those with last requests, and added ones."""

    def __bool__(self) -> bool:
        return len(self.keys) > 0

    def __iter__(self) -> Iterator[tuple[str, list[int]]]:
        """Topic names, each with its partitions."""
        first, numbers = 0, self.numbers().tolist()
        for place, count in zip(*self.counted(), strict=True):
            yield self.names[place], numbers[first : first + count]
            first += count

    def numbers(self) -> Longs:
        """Partition numbers, in ascending order of topic and number."""
        return self.keys & ((1 << TOPIC_BITS) - 1)

    def counted(self) -> tuple[list[int], list[int]]:
        """Places of topics, and how many partitions each has."""
        topics = self.keys >> TOPIC_BITS
        firsts = np.flatnonzero(np.diff(topics, prepend=UNKNOWN))
        return topics[firsts].tolist(), np.diff(firsts, append=len(topics)).tolist()

    def reuse(self, last: "RowIndex", moved: Longs, gone: int) -> None:
        """Take the requests of an index of the last layout, which name these replicas and others that are `gone`.

        `moved` (R + 1,): for each row of that layout the row now, `UNKNOWN` for replicas that are not among these, and
        for `UNKNOWN` itself.
        """
        self.requests, self.gone = last.requests, gone
        self.shape = None if last.shape is None else replace(last.shape, rows=moved[last.shape.rows])

    def renew(self) -> None:
        """Drop requests that name other replicas, or not all of these."""
        if self.parts or self.gone:
            self.requests, self.shape, self.gone, self.parts = {}, None, 0, ()

    def find(self, topics: Longs, counts: Longs, numbers: Longs) -> Longs:
        """Rows of partitions, `UNKNOWN` for those that are not among these.

        Of a reply: places of `topics`, `counts` of their partitions, `numbers` of the partitions of one after the
        other.
        """
        if not len(self.keys):
            return np.full(len(numbers), UNKNOWN, np.int64)
        wanted = (np.repeat(topics, counts) << TOPIC_BITS) | numbers
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.rows[found], UNKNOWN)


def find_partitions(topics: Sequence[Any], wanted: RowIndex) -> tuple[list[Any], Longs]:
    """Return the partitions of a decoded reply, one topic after the other, and their rows."""
    partitions = [partition for topic in topics for partition in topic.partitions]
    counts = np.array([len(topic.partitions) for topic in topics], np.int64)
    places = np.array([wanted.places.get(write_name(topic.name.encode()), UNKNOWN) for topic in topics], np.int64)
    return partitions, wanted.find(places, counts, column(partitions, "partition_index"))


def index_rows(layout: Layout, rows: Any) -> RowIndex:
    """Index some rows of the `ReplicaTable`, given in ascending order."""
    partition = layout.partition[rows]
    topic = layout.topic[partition].astype(np.int64)
    keys = (topic << TOPIC_BITS) | layout.number[partition]
    return RowIndex(layout.topics, _places(layout.topics), keys, rows.astype(np.int64))


@functools.lru_cache(maxsize=1)
def _places(topics: tuple[str, ...]) -> Mapping[bytes, int]:
    return {name: place for place, name in enumerate(written_names(topics))}


@functools.lru_cache(maxsize=1)
def written_names(topics: tuple[str, ...]) -> Sequence[bytes]:
    """Return the names of a layout's topics as requests have them."""
    return [write_name(name.encode()) for name in topics]


def column(rows: Sequence[Any], name: str) -> Longs:
    """One field of many rows of a reply."""
    return np.fromiter(map(attrgetter(name), rows), dtype=np.int64, count=len(rows))
