"""`partitions`: one row per partition, `replicas`: one row per replica; and back."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from kafka_warden.derive.replica_state import STATES
from kafka_warden.errors import HistoryRowsError
from kafka_warden.history.column import DictionaryColumn, HistoryColumn, HistoryTable, column, columns
from kafka_warden.history.column_types import INT
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.model import SIDES, UNKNOWN, Ints, PartitionTable, ReplicaTable, Side

Partitions = Ints
"""The partition of each row, as a row of the `PartitionTable`."""


def _topics(poll: Poll, rows: Partitions) -> Ints:
    return poll.snapshot.partitions.topic[rows]


def _topic_ids(poll: Poll) -> list[str]:
    return [topic_id_text(uid) for uid in poll.snapshot.topic_ids]


PARTITION_KEY: Final = (
    column(
        "topic",
        "snapshot.topics",
        read=lambda poll, rows: DictionaryColumn(_topics(poll, rows), poll.snapshot.topics),
        type_=str,
    ),
    column(
        "topic_id",
        "snapshot.topic_ids",
        read=lambda poll, rows: DictionaryColumn(_topics(poll, rows), _topic_ids(poll)),
        type_=str,
    ),
    column(
        "partition",
        "snapshot.partitions.number",
        read=lambda poll, rows: poll.snapshot.partitions.number[rows],
    ),
)

PARTITIONS: Final = HistoryTable(
    "partitions",
    "One row per partition.",
    ("topic", "topic_id", "partition"),
    (
        *PARTITION_KEY,
        *columns(column, "snapshot.partitions", "leader", "leader_epoch", "start", "tiered"),
        *columns(column, "snapshot.partitions", "copy_due", "reassigning"),
        column("bytes_in", "derived.bytes_in"),
        *columns(column, "derived.cluster", "under_replicated", "under_min_isr", "at_min_isr", "offline"),
        *columns(column, "derived.ages", "under_since", "under_seconds"),
    ),
    lambda poll: np.arange(len(poll.snapshot.partitions), dtype=np.int32),
)


def _position(_: Poll, rows: Partitions) -> Ints:
    # Replicas are grouped by partition: each counts from the first row of its own.
    first = np.searchsorted(rows, rows)
    return (np.arange(len(rows)) - first).astype(np.int32)


def _listed(side: Side) -> HistoryColumn:
    return column(
        f"{side}_listed",
        "derived.throttles.listed[]",
        read=lambda poll, _: poll.derived.throttles.listed[side],
        text=f"`{side}.replication.throttled.replicas` lists it",
    )


REPLICAS: Final = HistoryTable(
    "replicas",
    "One row per replica, leaders included.",
    ("topic", "topic_id", "partition", "broker"),
    (
        *PARTITION_KEY,
        column("broker", "snapshot.replicas.broker"),
        column("position", read=_position, type_=INT, text="position in the assignment; 0: preferred leader"),
        *columns(column, "snapshot.replicas", "in_isr", "offline", "adding", "removing", "end", "size"),
        column(
            "sized_at",
            "snapshot.replicas.sized_at",
            read=lambda poll, _: np.where((at := poll.snapshot.replicas.sized_at) == 0, np.nan, at),
        ),
        *columns(column, "snapshot.replicas", "start", "eligible"),
        column("lag_messages", "derived.lag.messages"),
        column("lag_bytes", "derived.lag.bytes"),
        column("known_end", "derived.lag.end"),
        column("following", "derived.lag.following"),
        column("lagging", "derived.lag.shown"),
        column("shown", "derived.replicas.times.shown"),
        column("estimate_reset", "derived.lag.estimate_reset"),
        *columns(column, "derived.replicas.times", "lag_seconds", "behind_seconds"),
        *columns(column, "derived.replicas.times", "caught_up", "late", "caught_up_at", "passed_at"),
        column(
            "state",
            "derived.replicas.state",
            read=lambda poll, _: DictionaryColumn(poll.derived.replicas.state, list(map(str, STATES))),
            type_=str,
        ),
        *columns(column, "derived.ages", "out_since", "out_seconds"),
        *map(_listed, SIDES),
    ),
    lambda poll: poll.snapshot.replicas.partition,
)

_DTYPES: Final = {"boolean": np.bool_, "int": np.int32, "bigint": np.int64, "double": np.float64}


def restore(
    partitions: Mapping[str, Any], replicas: Mapping[str, Any], topics: Mapping[str, int]
) -> tuple[PartitionTable, ReplicaTable]:
    """Restore both tables of the model from the values of their columns; `topics` has the index of each topic.

    Raises:
        HistoryRowsError: a topic or a partition is missing.
    """
    topic = np.array([topics.get(name, UNKNOWN) for name in partitions["topic"]], np.int32)
    if (topic == UNKNOWN).any():
        raise HistoryRowsError("partitions: some have topics that configs does not have; read all rows of the poll")
    order = np.lexsort((np.array(partitions["partition"], np.int32), topic))
    led = _arrays(PARTITIONS, "snapshot.partitions.", partitions, order)
    row_of = {key: row for row, key in enumerate(zip(topic[order].tolist(), led["number"].tolist(), strict=True))}
    named = zip(replicas["topic"], replicas["partition"], strict=True)
    try:
        partition = np.array([row_of[topics[name], number] for name, number in named], np.int32)
    except KeyError as missing:
        raise HistoryRowsError(f"replicas: one has a partition that is missing: {missing}") from missing
    by_position = np.lexsort((np.array(replicas["position"], np.int32), partition))
    copies, partition = _arrays(REPLICAS, "snapshot.replicas.", replicas, by_position), partition[by_position]
    copies["sized_at"] = np.nan_to_num(copies["sized_at"], nan=0.0)
    leads = np.flatnonzero(led["leader"][partition] == copies["broker"])
    leader_row = np.full(len(order), UNKNOWN, np.int32)
    leader_row[partition[leads]] = leads
    return PartitionTable(topic=topic[order], leader_row=leader_row, **led), ReplicaTable(partition, **copies)


def _arrays(table: HistoryTable, prefix: str, rows: Mapping[str, Any], order: np.ndarray) -> dict[str, np.ndarray]:
    """Return the fields whose paths begin with a prefix, in the order of the model."""
    found = {}
    for each in table.columns:
        for path in each.sources:
            if path.startswith(prefix):
                values = [each.type.read(value) for value in rows[each.name]]
                found[path.removeprefix(prefix)] = np.array(values, _DTYPES[str(each.type)])[order]
    return found
