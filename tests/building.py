"""Snapshots and layouts made by hand: say what differs, the rest is a healthy cluster.

    snapshot({"t": [Partition(replicas=(1, 2), end=1000, lag={2: 10})]}, clock=20)

is what a poll sees 20 s after the first, of a cluster of two brokers, the second of which lacks ten messages. Every
broker answers every question; no limit, quota or bean is there until it is given.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from kafka_warden.derive import Derived, derive
from kafka_warden.model import (
    UNKNOWN,
    Broker,
    Parameters,
    PartitionTable,
    PollResult,
    ReplicaTable,
    Snapshot,
    Source,
    SourceStatus,
)
from kafka_warden.sources.metadata import Layout

EPOCH = 1_700_000_000.0
"""Unix time of the monotonic clock's 0."""

BYTES_PER_OFFSET = 100

T = TypeVar("T")


def known(value: T | None) -> T:
    """Return a value that must be known."""
    assert value is not None
    return value


def expect_snapshot(result: PollResult) -> Snapshot:
    """Return the result of a poll whose metadata a broker answered."""
    assert isinstance(result, Snapshot)
    return result


@dataclass(frozen=True, kw_only=True)
class Partition:
    """One partition. Its replicas are in sync unless they are being added."""

    replicas: Sequence[int] = (1, 2, 3)
    """Broker ids, those being added or removed included; the first one leads."""
    leader: int | None = None
    """Another leader; `UNKNOWN` for none."""
    epoch: int = 0
    out: Sequence[int] = ()
    """Brokers that are missing from the ISR, besides those being added."""
    eligible: Mapping[int, int] | None = field(default_factory=dict)
    """Broker to `IN_ELR` and `LAST_KNOWN_ELR`; `None` where no broker answered."""
    offline: Sequence[int] = ()
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()
    start: int = 0
    """Local log start offset of every replica."""
    end: int = 0
    """Log end offset of the leader."""
    tiered: int = UNKNOWN
    """Highest offset in remote storage; `NOTHING_TIERED` where there is none."""
    copy_due: int = UNKNOWN
    """Offset from which on records are younger than `remote.copy.lag.ms`."""
    lag: Mapping[int, int] = field(default_factory=dict)
    """Broker to the messages that it is behind."""
    silent: Sequence[int] = ()
    """Brokers that do not report their log end offset."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Broker to bytes on disk, where it is not `BYTES_PER_OFFSET` an offset; `UNKNOWN` before its first answer."""

    @property
    def led_by(self) -> int:
        return self.replicas[0] if self.leader is None else self.leader

    @property
    def isr(self) -> list[int]:
        return [broker for broker in self.replicas if broker not in (*self.out, *self.adding)]

    def end_at(self, broker: int) -> int:
        """Return the log end offset of one replica, whether or not its broker reports it."""
        return self.end - self.lag.get(broker, 0)

    def size_at(self, broker: int) -> int:
        """Return the bytes on disk of one replica."""
        return self.sizes.get(broker, max(self.end_at(broker) - self.start, 0) * BYTES_PER_OFFSET)


Topics = Mapping[str, Sequence[Partition]]
"""Topic name to its partitions, numbered from 0."""


def layout(topics: Topics, brokers: Mapping[int, Broker] | None = None, cluster_id: str = "cluster") -> Layout:
    """Make the data of a Metadata reply."""
    names = tuple(sorted(topics))
    rows = list(_partitions(topics))
    hosts = [[int(broker) for broker in partition.replicas] for _, _, partition in rows]
    first = np.cumsum([0, *(len(replicas) for replicas in hosts)])
    return Layout(
        cluster_id=cluster_id,
        brokers=brokers if brokers is not None else brokers_of(topics),
        topics=names,
        topic_ids=tuple(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:16] for name in names),
        topic=_ints(topic for topic, _, _ in rows),
        number=_ints(number for _, number, _ in rows),
        leader=_ints(partition.led_by for _, _, partition in rows),
        leader_epoch=_ints(partition.epoch for _, _, partition in rows),
        leader_row=_ints(
            first[row] + hosts[row].index(partition.led_by) if partition.led_by in hosts[row] else UNKNOWN
            for row, (_, _, partition) in enumerate(rows)
        ),
        partition=_ints(row for row, replicas in enumerate(hosts) for _ in replicas),
        broker=_ints(broker for replicas in hosts for broker in replicas),
        in_isr=_bools(broker in partition.isr for partition, broker in _replicas(topics)),
        offline=_bools(broker in partition.offline for partition, broker in _replicas(topics)),
    )


def snapshot(
    topics: Topics, *, clock: float = 0.0, brokers: Mapping[int, Broker] | None = None, **fields: Any
) -> Snapshot:
    """Make what a poll would see at a time of the monotonic clock.

    Args:
        topics: what there is.
        clock: seconds; `time` is `EPOCH` later.
        brokers: those that host replicas, when not given.
        fields: of the `Snapshot`, in place of what is made up.
    """
    seen = layout(topics, brokers)
    replicas = list(_replicas(topics))
    reassigning = _bools(bool(partition.adding or partition.removing) for _, _, partition in _partitions(topics))
    made: dict[str, Any] = {
        "time": EPOCH + clock,
        "clock": clock,
        "cluster_id": seen.cluster_id,
        "topics": seen.topics,
        "topic_ids": seen.topic_ids,
        "partitions": PartitionTable(
            topic=seen.topic,
            number=seen.number,
            leader=seen.leader,
            leader_epoch=seen.leader_epoch,
            leader_row=seen.leader_row,
            start=_longs(partition.start for _, _, partition in _partitions(topics)),
            tiered=_longs(partition.tiered for _, _, partition in _partitions(topics)),
            copy_due=_longs(partition.copy_due for _, _, partition in _partitions(topics)),
            reassigning=reassigning,
        ),
        "replicas": ReplicaTable(
            partition=seen.partition,
            broker=seen.broker,
            in_isr=seen.in_isr,
            offline=seen.offline,
            adding=_bools(broker in partition.adding for partition, broker in replicas),
            removing=_bools(broker in partition.removing for partition, broker in replicas),
            end=_longs(
                UNKNOWN if broker in partition.silent else partition.end_at(broker) for partition, broker in replicas
            ),
            size=_longs(partition.size_at(broker) for partition, broker in replicas),
            sized_at=np.full(len(replicas), clock),
            start=_longs(partition.start for partition, _ in replicas),
            eligible=_ints(
                UNKNOWN if partition.eligible is None else partition.eligible.get(broker, 0)
                for partition, broker in replicas
            ),
        ),
        "brokers": seen.brokers,
        "offsets_at": dict.fromkeys(seen.brokers, clock),
        "status": {(Source.OFFSETS, str(broker)): answered(clock) for broker in seen.brokers},
    }
    return Snapshot(**{**made, **fields})


def brokers_of(topics: Topics) -> dict[int, Broker]:
    """Make the brokers that host the replicas of these topics."""
    ids = {broker for partition, broker in _replicas(topics)}
    return {broker: Broker(broker, f"broker-{broker}.example", 9092) for broker in sorted(ids)}


def answered(clock: float = 0.0, duration: float = 0.01) -> SourceStatus:
    """Make the status of a source that answered."""
    return SourceStatus(up=True, duration=duration, last_success=EPOCH + clock, errors={})


def judge(*snapshots: Snapshot, parameters: Parameters | None = None) -> Derived:
    """Derive the last of some snapshots, poll after poll as the sidecar does."""
    return judge_each(*snapshots, parameters=parameters)[-1]


def judge_each(*snapshots: Snapshot, parameters: Parameters | None = None) -> list[Derived]:
    """Derive some snapshots, poll after poll as the sidecar does, and return the result of each."""
    memory, judged = None, list[Derived]()
    for seen in snapshots:
        memory, derived = derive(seen, memory, parameters or Parameters())
        judged.append(derived)
    return judged


def _partitions(topics: Topics) -> Iterator[tuple[int, int, Partition]]:
    for topic, name in enumerate(sorted(topics)):
        for number, partition in enumerate(topics[name]):
            yield topic, number, partition


def _replicas(topics: Topics) -> Iterator[tuple[Partition, int]]:
    return ((partition, broker) for _, _, partition in _partitions(topics) for broker in partition.replicas)


def _ints(values: Iterator[int]) -> np.ndarray:
    return np.array(list(values), dtype=np.int32)


def _longs(values: Iterator[int]) -> np.ndarray:
    return np.array(list(values), dtype=np.int64)


def _bools(values: Iterator[bool]) -> np.ndarray:
    return np.array(list(values), dtype=np.bool_)
