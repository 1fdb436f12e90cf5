"""`configs`: one row per topic, and per broker whose configuration is known."""

from typing import Any, Final

from kafka_warden.history.column import (
    Columns,
    HistoryColumn,
    HistoryTable,
    KeyedRow,
    column,
    columns,
    entries,
    entry_column,
)
from kafka_warden.history.column_types import INT
from kafka_warden.history.poll import Poll, topic_id_bytes, topic_id_text


def _rows(poll: Poll) -> list[KeyedRow]:
    snapshot = poll.snapshot
    brokers = [KeyedRow(broker, None) for broker in sorted(snapshot.broker_configs)]
    topics = [KeyedRow(topic, place) for place, topic in enumerate(snapshot.topics)]
    gone = sorted(snapshot.topic_configs.keys() - set(snapshot.topics))
    return [*brokers, *topics, *(KeyedRow(topic, None) for topic in gone)]


def _size(poll: Poll) -> int:
    snapshot = poll.snapshot
    gone = snapshot.topic_configs.keys() - snapshot.topics
    return len(snapshot.broker_configs) + len(snapshot.topics) + len(gone)


def _topic_id(poll: Poll, row: KeyedRow) -> str | None:
    return None if row.place is None else topic_id_text(poll.snapshot.topic_ids[row.place])


def _key(name: str, of: type, type_: Any, text: str) -> HistoryColumn:
    return column(name, each=lambda _, row: row.key if isinstance(row.key, of) else None, type_=type_, text=text)


CONFIGS: Final = HistoryTable(
    "configs",
    "One row per topic, and per broker with known configuration.",
    ("kind", "broker", "topic", "topic_id"),
    (
        column(
            "kind",
            each=lambda _, row: "topic" if isinstance(row.key, str) else "broker",
            type_=str,
            text="`broker` or `topic`",
        ),
        _key("broker", int, INT, "broker id"),
        _key("topic", str, str, "topic name"),
        column("topic_id", each=_topic_id, type_=str, text="topic id; null if not in the metadata"),
        entry_column("broker_config", "snapshot.broker_configs[]"),
        entry_column("topic_config", "snapshot.topic_configs[]"),
        entry_column("overdue_bytes", "derived.tiered.overdue"),
        entry_column("copy_stalled_seconds", "derived.tiered.stalled"),
        entry_column("offline_partitions", "derived.topics.offline"),
        entry_column("under_min_isr_partitions", "derived.topics.under_min_isr"),
        entry_column("non_preferred_leader_partitions", "derived.topics.non_preferred_leader"),
        entry_column("log_bytes", "derived.topics.bytes"),
        *columns(entry_column, "derived.topics", "messages_in", "isr_shrinks", "isr_expands"),
    ),
    _rows,
    _size,
)


def restore(rows: Columns) -> dict[str, Any]:
    """Restore the topics of a `Snapshot` and all configurations."""
    topics = sorted((topic, uid) for topic, uid in zip(rows["topic"], rows["topic_id"], strict=True) if uid is not None)
    return {
        "topics": tuple(topic for topic, _ in topics),
        "topic_ids": tuple(topic_id_bytes(uid) for _, uid in topics),
        "broker_configs": entries(CONFIGS.columns, "snapshot.broker_configs[]", rows["broker"], rows),
        "topic_configs": entries(CONFIGS.columns, "snapshot.topic_configs[]", rows["topic"], rows),
    }
