"""Offsets of logs: ListOffsets with replica id -2, which followers answer, too (docs/spec/lag.md#log-ends).

A reply is grouped by topic, in an order of the broker's own: `RowIndex` finds the rows of its partitions.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, Final

import numpy as np

from kafka_warden.clients.kafka.columns.fields import write_name
from kafka_warden.clients.kafka.columns.offsets import ReplyShape, write_request
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import (
    COPY_DUE,
    LOCAL_STARTS,
    TIERED_ENDS,
    ListOffsetsRequest,
    Repeated,
    Undecoded,
    request_offsets,
)
from kafka_warden.model import NOTHING_TIERED, UNKNOWN, Longs
from kafka_warden.sources.metadata import Layout

TOPIC_BITS = 32
"""A key is the topic's place in the layout, shifted by so many bits, and the partition's number below."""


@dataclass(slots=True)
class RowIndex:
    """Some replicas of one broker. They have keys, since brokers answer in an order of their own."""

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
    shape: ReplyShape | None = field(default=None, repr=False, compare=False)
    """That of the last reply to one of them."""

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


LATEST: Final = -1
EARLIEST: Final = -2
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
SEARCH_MS: Final = 1000
"""For how long a broker may search by time."""
NO_OFFSET: Final = -1
"""What a broker answers to -5 while nothing is in remote storage, and to a time that no record reaches."""


def encode_request(wanted: RowIndex, timestamp: int, version: int) -> bytes:
    """Encode `request_offsets` in a version of the protocol, in flexible ones without an object for each partition."""
    if not ListOffsetsRequest.flexible_version_q(version):
        return bytes(request_offsets(wanted, timestamp).encode(version=version))
    empty = request_offsets((), timestamp).encode(version=version)
    names, (places, counts) = written_names(wanted.names), wanted.counted()
    return write_request(empty, [names[place] for place in places], counts, wanted.numbers(), timestamp)


async def read_ends(link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs) -> None:
    """Ask one broker for the log ends of its replicas and write them to their rows.

    Raises:
        SourceError: it did not answer. Partitions that it does not know stay unknown.
    """
    parse_offsets(await link.ask(_request(wanted, LATEST), timeout_at), wanted, target)


async def read_starts(link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs) -> None:
    """Ask one broker where the local logs of its replicas start and write that to their rows.

    Raises:
        SourceError: it did not answer.
    """
    local = await link.supports(LOCAL_STARTS, timeout_at)
    request = _request(wanted, EARLIEST_LOCAL if local else EARLIEST)
    parse_offsets(await link.ask(request, timeout_at), wanted, target)


async def read_tiered(link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs) -> None:
    """Ask one broker what is in remote storage of the partitions it leads and write that to their rows.

    The broker answers from memory, for partitions with remote storage only, so every poll asks. With an older answer,
    segments that were copied since would count as overdue.

    Raises:
        SourceError: it did not answer. Brokers before Kafka 3.9 are not asked, and their rows stay unknown.
    """
    if await link.supports(TIERED_ENDS, timeout_at):
        parse_tiered(await link.ask(_request(wanted, LATEST_TIERED), timeout_at), wanted, target)


async def read_copy_due(
    link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs, times: Mapping[str, int], ends: Longs
) -> None:
    """Ask one broker for the first offset of each topic's time or later, and write that to their rows.

    `times`: topic to milliseconds of Unix time. `ends` (R,): log ends, the answer where all records are earlier. The
    broker searches the index of its log, and looks first whether remote storage has such a record: then it reads there,
    for `SEARCH_MS` at most.

    Raises:
        SourceError: it did not answer. Brokers that do not know `COPY_DUE` are not asked.
    """
    if await link.supports(COPY_DUE, timeout_at):
        request = request_offsets(wanted, times, SEARCH_MS)
        rows, offsets = _answered(await link.ask(request, timeout_at), wanted)
        target[rows] = np.where(offsets == NO_OFFSET, ends[rows], offsets)


def _request(wanted: RowIndex, timestamp: int) -> Repeated:
    """Return the request of the previous poll, or make it."""
    bodies = wanted.requests.setdefault(timestamp, {})
    return Repeated(ListOffsetsRequest, partial(encode_request, wanted, timestamp), bodies)


def parse_offsets(reply: Any, wanted: RowIndex, target: Longs) -> None:
    """Write the offsets of a ListOffsetsResponse to their rows; those with an error code stay as they are."""
    rows, offsets = _answered(reply, wanted)
    target[rows] = offsets


def parse_tiered(reply: Any, wanted: RowIndex, target: Longs) -> None:
    """Write the answers to -5 to their rows: -1 there means `NOTHING_TIERED`, which is not the same as unknown."""
    rows, offsets = _answered(reply, wanted)
    target[rows] = np.where(offsets == NO_OFFSET, NOTHING_TIERED, offsets)


def _answered(reply: Any, wanted: RowIndex) -> tuple[Longs, Longs]:
    """Return the rows that the reply has without an error, and their offsets. An offset below -1 is no answer."""
    rows, errors, offsets = _columns(reply, wanted)
    good = (rows != UNKNOWN) & (errors == 0) & (offsets >= NO_OFFSET)
    return rows[good], offsets[good]


def _columns(reply: Any, wanted: RowIndex) -> tuple[Longs, Longs, Longs]:
    """Return rows, error codes and offsets of all partitions of the reply."""
    if isinstance(reply, Undecoded) and ListOffsetsRequest.flexible_version_q(reply.version):
        if wanted.shape is None or not wanted.shape.fits(reply.body):
            wanted.shape = ReplyShape.read(reply.body, wanted.places, wanted.find)
        if (shape := wanted.shape) is not None:
            return shape.rows, shape.values(reply.body, "error"), shape.values(reply.body, "offset")
    reply = reply.decode() if isinstance(reply, Undecoded) else reply
    partitions, rows = find_partitions(reply.topics, wanted)
    return rows, column(partitions, "error_code"), column(partitions, "offset")
