"""The part of the memory that survives a restart, as a document of plain JSON values and back.

What is kept: since when (out of the ISR, behind, under-replicated, a problem, a stalled copy), and where a move started
from (its least remaining, its cause, its last change). Rates, samples and windows are learned again in a few polls.
Times are Unix seconds, because the monotonic clock ends with the machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from kafka_warden.arrays import Axis, Keys
from kafka_warden.derive.columns import Row, SnapshotClock, read, rows_of, write, write_keyed
from kafka_warden.derive.evaluate import Memory, remembered, take
from kafka_warden.errors import StateError
from kafka_warden.model import Bools, BrokerConfig, Longs, Snapshot

LONGEST_ABSENCE: Final = 14 * 86400.0
"""Seconds after which a document is not used: a condition that holds again has most likely ended in between."""

AHEAD: Final = 86400.0
"""Seconds by which a document may be newer than the clock. One that was set to local time is wrong by hours."""

FORMAT: Final = 1
"""Version of the document: others are not read."""

Document = Mapping[str, Any]


def to_document(memory: Memory, snapshot: Snapshot) -> Document:
    """Return the document. `snapshot` is the last one of the memory."""
    replicas = np.flatnonzero(_lasting_replicas(memory, snapshot))
    partitions = np.flatnonzero(_lasting_partitions(memory))
    partitions = np.unique(np.concatenate([partitions, memory.keys.partition[replicas]]))
    keys = _subset(memory.keys, partitions, replicas)
    kept, clock = take(memory, keys, rows_of(memory.keys, keys, partitions, replicas)), SnapshotClock(snapshot)
    return {
        "format": FORMAT,
        "cluster_id": snapshot.cluster_id,
        "saved_at": snapshot.time,
        "partitions": _write_partitions(kept, clock),
        "replicas": _write_replicas(kept, clock),
        **write_keyed(memory, clock),
    }


def from_document(document: Document, snapshot: Snapshot) -> Memory:
    """Read it, for the first snapshot of a new process; the next step drops rows that no longer exist.

    Raises:
        StateError: it is of another cluster, format or time, or damaged.
    """
    found, cluster = document.get("format"), document.get("cluster_id")
    if found != FORMAT:
        raise StateError(f"its format is {found!r}, and this version reads {FORMAT}")
    if cluster != snapshot.cluster_id:
        raise StateError(f"it belongs to the cluster {cluster!r}, and this is {snapshot.cluster_id!r}")
    try:
        absence = snapshot.time - float(document["saved_at"])
        if not -AHEAD <= absence <= LONGEST_ABSENCE:
            saved = "after now" if absence < 0 else f"{absence / 86400:.0f} days ago"
            raise StateError(f"it was saved {saved}: one of the clocks was wrong, or it is too old")
        return _after_absence(_read(document, SnapshotClock(snapshot)), snapshot, absence)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError) as problem:
        raise StateError(f"it is damaged: {type(problem).__name__}: {problem}") from problem


def _after_absence(memory: Memory, snapshot: Snapshot, seconds: float) -> Memory:
    """Reset the times of followers in the ISR after a long absence: they caught up within replica.lag.time.max."""
    configs = snapshot.broker_configs.values()
    longest = max((config.replica_lag_time_max for config in configs), default=BrokerConfig().replica_lag_time_max)
    if seconds <= longest:
        return memory
    kept = remembered(memory, snapshot.keys)
    in_isr, before = snapshot.replicas.in_isr, kept.replicas
    caught_up_at, passed_at = (np.where(in_isr, np.nan, times) for times in (before.caught_up_at, before.passed_at))
    return replace(kept, replicas=replace(before, caught_up_at=caught_up_at, passed_at=passed_at))


def _read(document: Document, clock: SnapshotClock) -> Memory:
    partitions, replicas = document["partitions"], document["replicas"]
    keys = _read_keys(partitions, replicas)
    tables: dict[Any, Any] = {**document, Axis.PARTITION: partitions, Axis.REPLICA: replicas}
    return read(Memory, keys, tables, clock, keys=keys)


def _lasting_replicas(memory: Memory, snapshot: Snapshot) -> Bools:
    """(R,) replicas with state to keep: all except healthy ones."""
    late = memory.replicas.caught_up_at < snapshot.clock
    return ~np.isnan(memory.out_since) | memory.replicas.restarted | late


def _lasting_partitions(memory: Memory) -> Bools:
    """(P,) partitions with state to keep."""
    lasting: Bools = ~np.isnan(memory.under_since) | ~np.isnan(memory.tiered.copying.since)
    return lasting


def _subset(keys: Keys, partitions: Longs, replicas: Longs) -> Keys:
    """Keep some rows, and only the topics that they are of."""
    used, topic = np.unique(keys.topic[partitions], return_inverse=True)
    return Keys(
        topics=tuple(keys.topics[index] for index in used.tolist()),
        topic_ids=tuple(keys.topic_ids[index] for index in used.tolist()),
        topic=topic.astype(np.int32),
        number=keys.number[partitions],
        partition=np.searchsorted(partitions, keys.partition[replicas]).astype(np.int32),
        broker=keys.broker[replicas],
    )


def _write_partitions(memory: Memory, clock: SnapshotClock) -> list[Row]:
    keys, table = memory.keys, write(memory, Axis.PARTITION, len(memory.keys.topic), clock)
    return [
        {"topic": keys.topics[topic], "topic_id": keys.topic_ids[topic].hex(), "partition": number, **row}
        for topic, number, row in zip(keys.topic.tolist(), keys.number.tolist(), table, strict=True)
    ]


def _write_replicas(memory: Memory, clock: SnapshotClock) -> list[Row]:
    keys, table = memory.keys, write(memory, Axis.REPLICA, len(memory.keys.broker), clock)
    return [
        {"partition_row": partition, "broker": broker, **row}
        for partition, broker, row in zip(keys.partition.tolist(), keys.broker.tolist(), table, strict=True)
    ]


def _read_keys(partitions: Sequence[Row], replicas: Sequence[Row]) -> Keys:
    """Read the keys; a replica refers to its partition by the place in that table."""
    topics = sorted({(row["topic"], bytes.fromhex(row["topic_id"])) for row in partitions})
    index = {topic: place for place, topic in enumerate(topics)}
    if any(not 0 <= row["partition_row"] < len(partitions) for row in replicas):
        raise ValueError("a replica is of no partition")
    return Keys(
        topics=tuple(name for name, _ in topics),
        topic_ids=tuple(uid for _, uid in topics),
        topic=np.array([index[row["topic"], bytes.fromhex(row["topic_id"])] for row in partitions], np.int32),
        number=np.array([row["partition"] for row in partitions], np.int32),
        partition=np.array([row["partition_row"] for row in replicas], np.int32),
        broker=np.array([row["broker"] for row in replicas], np.int32),
    )
