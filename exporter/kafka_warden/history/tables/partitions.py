"""`partitions`: one row per partition, and what every table of partitions or replicas starts with."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafka_warden.history.column import Coded, Column, Role, Table, judged, taken
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.history.shapes import INT, STRING
from kafka_warden.model import Ints


@dataclass(frozen=True, slots=True)
class Partitions:
    """Rows in the order of the `PartitionTable`, or of another table that tells the partition of each."""

    poll: Poll
    row: Ints
    """Row in the `PartitionTable`."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def topic(self) -> Ints:
        """Index of each row's topic."""
        return self.poll.snapshot.partitions.topic[self.row]


def _rows(poll: Poll) -> Partitions:
    return Partitions(poll, np.arange(len(poll.snapshot.partitions), dtype=np.int32))


def _topic(rows: Partitions) -> Coded:
    return Coded(rows.topic, rows.poll.snapshot.topics)


def _topic_id(rows: Partitions) -> Coded:
    return Coded(rows.topic, [topic_id_text(topic_id) for topic_id in rows.poll.snapshot.topic_ids])


def _number(rows: Partitions) -> np.ndarray:
    return rows.poll.snapshot.partitions.number[rows.row]


PARTITION_KEY: Final[tuple[Column[Any], ...]] = (
    Column("topic", Role.KEY, "", "topic name", ("snapshot.topics", "snapshot.partitions.topic"), STRING, _topic),
    Column(
        "topic_id",
        Role.KEY,
        "",
        "topic id as Kafka's tools write it, `AAAA...` before Kafka 2.8; a topic made anew has another one",
        ("snapshot.topic_ids",),
        STRING,
        _topic_id,
    ),
    Column("partition", Role.KEY, "", "partition number", ("snapshot.partitions.number",), INT, _number),
)

PARTITIONS: Final = Table(
    "partitions",
    "One row per partition.",
    ("topic", "topic_id", "partition"),
    (
        *PARTITION_KEY,
        taken("leader", "", "broker id of the leader; null where there is none", "snapshot.partitions.leader"),
        taken("leader_epoch", "", "leader epoch", "snapshot.partitions.leader_epoch"),
        taken("start", "offset", "local log start of the leader", "snapshot.partitions.start"),
        taken(
            "tiered",
            "offset",
            "highest offset in remote storage, -2 where there is none, null where the leader did not tell",
            "snapshot.partitions.tiered",
        ),
        taken("reassigning", "", "is being reassigned", "snapshot.partitions.reassigning"),
        judged("bytes_in", "bytes/s", "appended to the leader's log", "derived.bytes_in"),
        judged(
            "under_replicated",
            "",
            "a replica other than an adding one is missing from the ISR",
            "derived.cluster.under_replicated",
        ),
        judged("under_min_isr", "", "fewer in the ISR than `min.insync.replicas`", "derived.cluster.under_min_isr"),
        judged("at_min_isr", "", "just as many", "derived.cluster.at_min_isr"),
        judged("offline", "", "has no leader", "derived.cluster.offline"),
        judged("under_since", "monotonic s", "since when it is under-replicated", "derived.ages.under_since"),
        judged("under_seconds", "s", "for how long it is", "derived.ages.under_seconds"),
    ),
    _rows,
)
