"""Bytes on disk: DescribeLogDirs, which every broker answers for itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import request_log_dirs
from kafka_warden.errors import AuthorizationError
from kafka_warden.model import UNKNOWN, Bools, Longs
from kafka_warden.replies import FutureReplica, LogDir
from kafka_warden.sources.offsets import RowIndex, column, find_partitions

MOST_OTHERS = 50_000
"""Logs of a broker that are kept beside those of its known replicas: each takes 200 bytes, until the next answer. A
sidecar that may describe few topics does not know the replicas of the others, of which a broker may have more."""


@dataclass(slots=True)
class LogDirs:
    """The answer of one broker.

    `stray`: topic and partition of the logs that the metadata does not assign to the broker, `MOST_OTHERS` at most, and
    `more_stray`: whether there are more. `placed`: topic and partition of the watched logs, with the path of the
    directory of each.
    """

    directories: list[LogDir] = field(default_factory=list)
    future: list[FutureReplica] = field(default_factory=list)
    stray: set[tuple[str, int]] = field(default_factory=set)
    more_stray: bool = False
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
    reply = await link.ask(request_log_dirs(wanted), timeout_at)
    if fault := error_code_fault(reply.error_code, None, link.address):
        raise fault
    if not reply.results:
        raise AuthorizationError(
            f"{link.address}: DescribeLogDirs returned no log directory, as Kafka before 3.2 does without the right;"
            " docs/reference/acls.md lists the ACLs that each source needs"
        )
    return parse_log_dirs(reply, broker, known, sizes, watched)


def parse_log_dirs(reply: Any, broker: int, known: RowIndex, sizes: Longs, watched: Bools | None = None) -> LogDirs:
    """Turn a DescribeLogDirsResponse into directories and future replicas, and write sizes to their rows."""
    answer, room = LogDirs(), MOST_OTHERS
    for directory in reply.results:
        partitions, rows = find_partitions(directory.topics, known)
        size = column(partitions, "partition_size")
        current = column(partitions, "is_future_key") == 0
        placed = current & (rows != UNKNOWN)
        sizes[rows[placed]] = size[placed]
        others = np.flatnonzero((rows == UNKNOWN) & current)
        answer.more_stray |= len(others) > room
        answer.stray.update(_named(directory, partitions, others[:room]))
        room -= len(others[:room])
        if watched is not None:
            seen = np.flatnonzero(placed)[watched[rows[placed]]]
            answer.placed |= dict.fromkeys(_named(directory, partitions, seen), directory.log_dir)
        others = np.flatnonzero((rows == UNKNOWN) & ~current)
        answer.future += _future(directory, broker, partitions, np.flatnonzero((rows != UNKNOWN) & ~current))
        answer.future += _future(directory, broker, partitions, others[:room])
        room -= len(others[:room])
        answer.directories.append(
            LogDir(
                broker=broker,
                path=directory.log_dir,
                online=(online := directory.error_code == 0),
                # It lists no logs while it is offline, which does not mean that it has none.
                bytes=int(size.sum()) if online else UNKNOWN,
                usable_bytes=directory.usable_bytes,
                total_bytes=directory.total_bytes,
                cordoned=directory.is_cordoned,
            ),
        )
    return answer


def _named(directory: Any, partitions: Sequence[Any], places: Longs) -> Iterable[tuple[str, int]]:
    """Return topic and partition of some logs of one directory, given by their index in it."""
    ends = np.cumsum([len(topic.partitions) for topic in directory.topics])
    topics = np.searchsorted(ends, places, side="right").tolist()
    for topic, place in zip(topics, places.tolist(), strict=True):
        yield directory.topics[topic].name, partitions[place].partition_index


def _future(directory: Any, broker: int, partitions: Sequence[Any], places: Longs) -> Iterable[FutureReplica]:
    named = zip(_named(directory, partitions, places), places.tolist(), strict=True)
    return [
        FutureReplica(
            topic, number, broker, directory.log_dir, partitions[place].partition_size, partitions[place].offset_lag
        )
        for (topic, number), place in named
    ]
