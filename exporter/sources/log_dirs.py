"""Bytes on disk: DescribeLogDirs, which every broker answers for itself (kafka-facts 8)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from exporter.clients.kafka.faults import error_code_fault
from exporter.clients.kafka.link import BrokerLink
from exporter.clients.kafka.requests import DescribeLogDirsRequest
from exporter.model import FutureReplica, LogDir, Longs
from exporter.sources.replies import RowIndex

STORAGE_ERROR: Final = 56
"""KAFKA_STORAGE_ERROR: this directory is offline, the others are not."""

_Topic = DescribeLogDirsRequest.DescribableLogDirTopic


@dataclass(slots=True)
class LogDirs:
    """What one broker told. `stray` counts logs of partitions that the metadata does not place there."""

    directories: list[LogDir] = field(default_factory=list)
    future: list[FutureReplica] = field(default_factory=list)
    stray: int = 0


async def read_log_dirs(
    link: BrokerLink,
    broker: int,
    wanted: RowIndex | None,
    known: RowIndex,
    timeout_at: float,
    sizes: Longs,
) -> LogDirs:
    """Ask one broker for the sizes of its logs and write them to their rows.

    Args:
        link: the broker.
        broker: its id.
        wanted: the replicas to ask about, or `None` for all.
        known: all replicas of that broker, by row.
        timeout_at: monotonic seconds.
        sizes: column of the `ReplicaTable`, written to.

    Raises:
        SourceError: it did not answer, or may not.
    """
    topics = None if wanted is None else [_Topic(topic=name, partitions=numbers) for name, numbers in wanted]
    reply = await link.ask(DescribeLogDirsRequest(topics=topics), timeout_at)
    fault = error_code_fault(reply.error_code, None, link.address)
    if fault:
        raise fault
    return parse_log_dirs(reply, broker, known, sizes)


def parse_log_dirs(reply: Any, broker: int, known: RowIndex, sizes: Longs) -> LogDirs:
    """Turn a DescribeLogDirsResponse into directories and future replicas, and write sizes to their rows."""
    told = LogDirs()
    for directory in reply.results:
        used = 0
        for topic in directory.topics:
            current = [partition for partition in topic.partitions if not partition.is_future_key]
            used += sum(partition.partition_size for partition in topic.partitions)
            numbers = [partition.partition_index for partition in current]
            told.stray += known.scatter(sizes, topic.name, numbers, (p.partition_size for p in current))
            told.future += _future(topic, broker, directory.log_dir)
        told.directories.append(
            LogDir(
                broker=broker,
                path=directory.log_dir,
                online=directory.error_code == 0,
                bytes=used,
                usable_bytes=directory.usable_bytes,
                total_bytes=directory.total_bytes,
            ),
        )
    return told


def _future(topic: Any, broker: int, path: str) -> Iterable[FutureReplica]:
    return [
        FutureReplica(topic.name, moving.partition_index, broker, path, moving.partition_size, moving.offset_lag)
        for moving in topic.partitions
        if moving.is_future_key
    ]
