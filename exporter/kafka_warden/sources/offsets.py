"""Offsets of logs: ListOffsets with replica id -2, which followers answer, too (docs/spec/lag.md#log-ends)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafka_warden.clients.kafka.columns import Shape, write_topics
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.repeated import Repeated, Undecoded
from kafka_warden.clients.kafka.requests import ListOffsetsRequest
from kafka_warden.model import NOTHING_TIERED, UNKNOWN, Longs
from kafka_warden.sources.replies import RowIndex, column, find_partitions, written_names

DEBUGGING_REPLICA: Final = -2
LATEST: Final = -1
EARLIEST: Final = -2
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_LOCAL_VERSION: Final = 8
"""First version of ListOffsets that knows -4 (Kafka 3.5). Before, the log's start is the local one."""
LATEST_TIERED_VERSION: Final = 9
"""First version of ListOffsets that knows -5 (Kafka 3.9). Before, no broker reports what is in remote storage."""
COPY_LAG_VERSION: Final = 11
"""The version of ListOffsets of Kafka 4.3, the last one before `remote.copy.lag.ms`."""
SEARCH_MS: Final = 1000
"""For how long a broker may search by time."""
NO_OFFSET: Final = -1
"""What a broker answers to -5 while nothing is in remote storage, and to a time that no record reaches."""

FLEXIBLE_VERSION: Final = 6
ASKED: Final = np.dtype([("number", ">i4"), ("epoch", ">i4"), ("timestamp", ">i8"), ("tags", "u1")])
"""A partition in a request, from the flexible version on."""
ANSWERED: Final = np.dtype(
    [("number", ">i4"), ("error", ">i2"), ("timestamp", ">i8"), ("offset", ">i8"), ("epoch", ">i4"), ("tags", "u1")]
)
"""A partition in a reply."""
AFTER_THROTTLE_TIME: Final = 4

_Topic = ListOffsetsRequest.ListOffsetsTopic
_Partition = _Topic.ListOffsetsPartition


def request_offsets(wanted: RowIndex, timestamp: int) -> Any:
    """Build one request for all the given replicas of one broker. No duplicates: the broker refuses them."""
    return ListOffsetsRequest(
        replica_id=DEBUGGING_REPLICA,
        isolation_level=0,
        topics=[
            _Topic(
                name=name,
                partitions=[
                    _Partition(partition_index=number, timestamp=timestamp, current_leader_epoch=-1)
                    for number in numbers
                ],
            )
            for name, numbers in wanted
        ],
    )


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """The same request, encoded without an object for each partition."""

    wanted: RowIndex
    timestamp: int

    def encode(self, version: int) -> bytes:
        """Encode it in a version of the protocol."""
        if version < FLEXIBLE_VERSION:
            return bytes(request_offsets(self.wanted, self.timestamp).encode(version=version))
        records = np.zeros(len(self.wanted.keys), ASKED)
        records["number"], records["epoch"], records["timestamp"] = self.wanted.numbers(), -1, self.timestamp
        # An empty array is one byte, after replica id and isolation level.
        empty = request_offsets(RowIndex(), self.timestamp).encode(version=version)
        places, counts = self.wanted.counted()
        names = written_names(self.wanted.names)
        return bytes(empty[:5] + write_topics([names[place] for place in places], counts, records) + empty[6:])


async def read_ends(link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs) -> None:
    """Ask one broker for the log ends of its replicas and write them to their rows.

    Raises:
        SourceError: it did not answer. Partitions that it does not know stay unknown.
    """
    for reply, part in await _ask(link, wanted, LATEST, timeout_at):
        parse_offsets(reply, part, target)


async def read_starts(link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs) -> None:
    """Ask one broker where the local logs of its replicas start and write that to their rows.

    Raises:
        SourceError: it did not answer.
    """
    local = await link.supports(ListOffsetsRequest, EARLIEST_LOCAL_VERSION, timeout_at)
    for reply, part in await _ask(link, wanted, EARLIEST_LOCAL if local else EARLIEST, timeout_at):
        parse_offsets(reply, part, target)


async def read_tiered(link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs) -> None:
    """Ask one broker what is in remote storage of the partitions it leads and write that to their rows.

    The broker answers from memory, for partitions with remote storage only, so every poll asks. With an older answer,
    segments that were copied since would count as overdue.

    Raises:
        SourceError: it did not answer. Brokers before Kafka 3.9 are not asked, and their rows stay unknown.
    """
    if await link.supports(ListOffsetsRequest, LATEST_TIERED_VERSION, timeout_at):
        for reply, part in await _ask(link, wanted, LATEST_TIERED, timeout_at):
            parse_tiered(reply, part, target)


async def read_copy_due(
    link: BrokerLink, wanted: RowIndex, timeout_at: float, target: Longs, times: Mapping[str, int], ends: Longs
) -> None:
    """Ask one broker for the first offset of each topic's time or later, and write that to their rows.

    `times`: topic to milliseconds of Unix time. `ends` (R,): log ends, the answer where all records are earlier. The
    broker searches the index of its log, and looks first whether remote storage has such a record: then it reads there,
    for `SEARCH_MS` at most.

    Raises:
        SourceError: it did not answer. Brokers before Kafka 4.4 are not asked.
    """
    if await link.supports(ListOffsetsRequest, COPY_LAG_VERSION, timeout_at):
        request = request_offsets(wanted, LATEST)
        request.timeout_ms = SEARCH_MS
        for topic in request.topics:
            for partition in topic.partitions:
                partition.timestamp = times[topic.name]
        rows, offsets = _answered(await link.ask(request, timeout_at), wanted)
        target[rows] = np.where(offsets == NO_OFFSET, ends[rows], offsets)


async def _ask(
    link: BrokerLink, wanted: RowIndex, timestamp: int, timeout_at: float
) -> Sequence[tuple[Undecoded, RowIndex]]:
    """Return the replies to the parts of a question once all of them are there."""
    parts = wanted.parts or (wanted,)
    return [(await link.ask(_request(part, timestamp), timeout_at), part) for part in parts]


def _request(wanted: RowIndex, timestamp: int) -> Repeated:
    """Return the request of the previous poll, or make it."""
    bodies = wanted.requests.setdefault(timestamp, {})
    return Repeated(ListOffsetsRequest, lambda: OffsetsRequest(wanted, timestamp), undecoded=True, bodies=bodies)


def parse_offsets(reply: Any, wanted: RowIndex, target: Longs) -> None:
    """Write the offsets of a ListOffsetsResponse to their rows; those with an error code stay as they are."""
    rows, offsets = _answered(reply, wanted)
    target[rows] = offsets


def parse_tiered(reply: Any, wanted: RowIndex, target: Longs) -> None:
    """Write the answers to -5 to their rows: -1 there means `NOTHING_TIERED`, which is not the same as unknown."""
    rows, offsets = _answered(reply, wanted)
    target[rows] = np.where(offsets == NO_OFFSET, NOTHING_TIERED, offsets)


def _answered(reply: Any, wanted: RowIndex) -> tuple[Longs, Longs]:
    """Return the rows that the reply has without an error, and their offsets."""
    if isinstance(reply, Undecoded) and reply.version >= FLEXIBLE_VERSION:
        if wanted.shape is None or not wanted.shape.fits(reply.body):
            wanted.shape = Shape.read(reply.body, AFTER_THROTTLE_TIME, ANSWERED.itemsize, wanted.places, wanted.find)
        if wanted.shape is not None:
            rows, errors, offsets = wanted.shape.rows, *wanted.shape.columns(reply.body, ANSWERED, "error", "offset")
            good = (rows != UNKNOWN) & (errors == 0)
            return rows[good], offsets[good]
    reply = reply.decode() if isinstance(reply, Undecoded) else reply
    partitions, rows = find_partitions(reply.topics, wanted)
    good = (rows != UNKNOWN) & (column(partitions, "error_code") == 0)
    return rows[good], column(partitions, "offset")[good]
