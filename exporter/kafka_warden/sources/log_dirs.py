"""Bytes on disk: DescribeLogDirs, which every broker answers for itself (kafka-facts 8)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import DescribeLogDirsRequest
from kafka_warden.errors import AuthorizationError, ProtocolError
from kafka_warden.model import UNKNOWN, Bools, FutureReplica, LogDir, Longs
from kafka_warden.sources.replies import RowIndex, column, find_partitions

MOST_OTHERS = 50_000
"""Stray logs and future replicas of a broker. A reply with more is wrong, and each would take 200 bytes."""

_Topic = DescribeLogDirsRequest.DescribableLogDirTopic


@dataclass(slots=True)
class LogDirs:
    """The answer of one broker.

    `stray`: topic and partition of the logs that the metadata does not assign to the broker. `placed`: topic and
    partition of the watched logs, with the path of the directory of each.
    """

    directories: list[LogDir] = field(default_factory=list)
    future: list[FutureReplica] = field(default_factory=list)
    stray: set[tuple[str, int]] = field(default_factory=set)
    placed: dict[tuple[str, int], str] = field(default_factory=dict)


async def read_log_dirs(
    link: BrokerLink,
    broker: int,
    wanted: RowIndex | None,
    known: RowIndex,
    timeout_at: float,
    sizes: Longs,
    watched: Bools | None = None,
) -> LogDirs:
    """Ask one broker for the sizes of its logs and write them to their rows of `sizes`, a column of the `ReplicaTable`.

    `wanted`: the replicas to ask about, or `None` for all. `known`: all replicas of that broker, by row. `timeout_at`:
    monotonic seconds. `watched` (R,): replicas whose directory is needed.

    Raises:
        SourceError: it did not answer, or may not.
    """
    topics = None if wanted is None else [_Topic(topic=name, partitions=numbers) for name, numbers in wanted]
    reply = await link.ask(DescribeLogDirsRequest(topics=topics), timeout_at)
    if fault := error_code_fault(reply.error_code, None, link.address):
        raise fault
    if not reply.results:
        raise AuthorizationError(
            f"{link.address}: DescribeLogDirs returned no log directory, as Kafka before 3.2 does without the right;"
            " docs/security.md lists the ACLs that each source needs"
        )
    return parse_log_dirs(reply, broker, known, sizes, watched)


def parse_log_dirs(reply: Any, broker: int, known: RowIndex, sizes: Longs, watched: Bools | None = None) -> LogDirs:
    """Turn a DescribeLogDirsResponse into directories and future replicas, and write sizes to their rows.

    Raises:
        ProtocolError: it has more than `MOST_OTHERS` stray logs and future replicas.
    """
    answer, others = LogDirs(), 0
    for directory in reply.results:
        partitions, rows = find_partitions(directory.topics, known)
        size = column(partitions, "partition_size")
        current = column(partitions, "is_future_key") == 0
        placed = current & (rows != UNKNOWN)
        others += int(np.count_nonzero(~placed))
        if others > MOST_OTHERS:
            raise ProtocolError(f"broker {broker} lists over {MOST_OTHERS} logs that are of none of its replicas")
        sizes[rows[placed]] = size[placed]
        answer.stray |= _names(directory, partitions, np.flatnonzero(current & ~placed))
        if watched is not None:
            seen = np.flatnonzero(placed)[watched[rows[placed]]]
            answer.placed |= dict.fromkeys(_names(directory, partitions, seen), directory.log_dir)
        answer.future += _future(directory, broker)
        answer.directories.append(
            LogDir(
                broker=broker,
                path=directory.log_dir,
                online=directory.error_code == 0,
                bytes=int(size.sum()),
                usable_bytes=directory.usable_bytes,
                total_bytes=directory.total_bytes,
            ),
        )
    return answer


def _names(directory: Any, partitions: Sequence[Any], places: Longs) -> set[tuple[str, int]]:
    """Return topic and partition of some logs of one directory, given by their index in it."""
    ends = np.cumsum([len(topic.partitions) for topic in directory.topics])
    topics = np.searchsorted(ends, places, side="right").tolist()
    return {
        (directory.topics[topic].name, partitions[place].partition_index)
        for topic, place in zip(topics, places.tolist(), strict=True)
    }


def _future(directory: Any, broker: int) -> Iterable[FutureReplica]:
    return [
        FutureReplica(
            topic.name,
            moving.partition_index,
            broker,
            directory.log_dir,
            moving.partition_size,
            moving.offset_lag,
        )
        for topic in directory.topics
        for moving in topic.partitions
        if moving.is_future_key
    ]
