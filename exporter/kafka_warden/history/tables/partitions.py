"""`partitions`: one row per partition; and the key columns that tables of partitions and replicas share."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafka_warden.history.column import Column, DictionaryColumn, Role, Table, array_column
from kafka_warden.history.column_types import INT, STRING
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.model import Ints


@dataclass(frozen=True, slots=True)
class Partitions:
    """Rows of the `PartitionTable`, or of a table that refers to it."""

    poll: Poll
    row: Ints
    """Row in the `PartitionTable`."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def topic(self) -> Ints:
        """Index of each row's topic."""
        return self.poll.snapshot.partitions.topic[self.row]


PARTITION_KEY: Final[tuple[Column[Any], ...]] = (
    Column(
        "topic",
        Role.KEY,
        "topic name",
        ("snapshot.topics", "snapshot.partitions.topic"),
        STRING,
        lambda rows: DictionaryColumn(rows.topic, rows.poll.snapshot.topics),
    ),
    Column(
        "topic_id",
        Role.KEY,
        "topic id as Kafka's tools write it, `AAAA...` before Kafka 2.8; a topic that is created again has a new one",
        ("snapshot.topic_ids",),
        STRING,
        lambda rows: DictionaryColumn(rows.topic, [topic_id_text(uid) for uid in rows.poll.snapshot.topic_ids]),
    ),
    Column(
        "partition",
        Role.KEY,
        "partition number",
        ("snapshot.partitions.number",),
        INT,
        lambda rows: rows.poll.snapshot.partitions.number[rows.row],
    ),
)

PARTITIONS: Final = Table(
    "partitions",
    "One row per partition.",
    ("topic", "topic_id", "partition"),
    (
        *PARTITION_KEY,
        array_column(
            "leader",
            "broker id of the leader; null if there is none, -2 if it lacks the sidecar's listener",
            "snapshot.partitions.leader",
        ),
        array_column("leader_epoch", "leader epoch", "snapshot.partitions.leader_epoch"),
        array_column("start", "local log start of the leader", "snapshot.partitions.start", "offset"),
        array_column(
            "tiered",
            "highest offset in remote storage; -2 if there is none, null if it is not known",
            "snapshot.partitions.tiered",
            "offset",
        ),
        array_column(
            "copy_due",
            "first offset that is younger than `remote.copy.lag.ms`, as last asked; null if it is not known",
            "snapshot.partitions.copy_due",
            "offset",
        ),
        array_column("reassigning", "is being reassigned", "snapshot.partitions.reassigning"),
        array_column("bytes_in", "rate at which the leader's log grows", "derived.bytes_in", "bytes/s"),
        array_column(
            "under_replicated",
            "a replica is missing from the ISR; adding replicas do not count",
            "derived.cluster.under_replicated",
        ),
        array_column(
            "under_min_isr",
            "ISR is smaller than `min.insync.replicas`; false while that is not known",
            "derived.cluster.under_min_isr",
        ),
        array_column("at_min_isr", "ISR is as large as `min.insync.replicas`, and a replica is missing", "derived.cluster.at_min_isr"),
        array_column("offline", "has no leader", "derived.cluster.offline"),
        array_column("under_since", "start of the under-replication", "derived.ages.under_since", "monotonic s"),
        array_column("under_seconds", "time for which it has been under-replicated", "derived.ages.under_seconds", "s"),
    ),
    lambda poll: Partitions(poll, np.arange(len(poll.snapshot.partitions), dtype=np.int32)),
)
