"""`configs`: one row per topic, and per broker whose configuration is known."""

from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.column_types import DOUBLE, STRING, column_type_of
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.history.tables.entities import OPTIONAL_INT, OPTIONAL_STRING, Entities, column
from kafka_warden.model import BrokerConfig, TopicConfig


@dataclass(frozen=True, slots=True)
class Configured:
    """A broker or a topic. `place` is the index of a topic in the snapshot; `None` if the metadata does not list it."""

    broker: int | None = None
    topic: str | None = None
    place: int | None = None


def _rows(poll: Poll) -> Entities[Configured]:
    snapshot = poll.snapshot
    brokers = [Configured(broker=broker) for broker in sorted(snapshot.broker_configs)]
    topics = [Configured(topic=topic, place=place) for place, topic in enumerate(snapshot.topics)]
    gone = sorted(snapshot.topic_configs.keys() - set(snapshot.topics))
    return Entities(poll, [*brokers, *topics, *(Configured(topic=topic) for topic in gone)])


def _size(poll: Poll) -> int:
    snapshot = poll.snapshot
    gone = snapshot.topic_configs.keys() - snapshot.topics
    return len(snapshot.broker_configs) + len(snapshot.topics) + len(gone)


def _of_topic(name: str, text: str, attribute: str, unit: str) -> Column[Any]:
    def read(poll: Poll, item: Configured) -> float | None:
        return None if item.place is None else getattr(poll.derived.tiered, attribute)[item.place]

    return column(name, DOUBLE, text, (f"derived.tiered.{attribute}",), read, unit=unit)


CONFIGS: Final = Table(
    "configs",
    "One row per broker whose configuration is known, and per topic. `topic_config` is null if it is not known.",
    ("kind", "broker", "topic", "topic_id"),
    (
        column(
            "kind",
            STRING,
            "`broker` or `topic`",
            (),
            lambda _, item: "topic" if item.topic is not None else "broker",
            role=Role.KEY,
        ),
        column("broker", OPTIONAL_INT, "broker id", role=Role.KEY),
        column("topic", OPTIONAL_STRING, "topic name", role=Role.KEY),
        column(
            "topic_id",
            OPTIONAL_STRING,
            "topic id; null if the metadata does not list the topic",
            (),
            lambda poll, item: None if item.place is None else topic_id_text(poll.snapshot.topic_ids[item.place]),
            role=Role.KEY,
        ),
        column(
            "broker_config",
            column_type_of(BrokerConfig),
            "answer to DescribeConfigs of the broker",
            ("snapshot.broker_configs[]",),
            lambda poll, item: poll.snapshot.broker_configs.get(item.broker),
        ),
        column(
            "topic_config",
            column_type_of(TopicConfig),
            "answer to DescribeConfigs of the topic",
            ("snapshot.topic_configs[]",),
            lambda poll, item: poll.snapshot.topic_configs.get(item.topic),
        ),
        _of_topic("overdue_bytes", "bytes that should have been copied to remote storage", "overdue", "bytes"),
        _of_topic("copy_stalled_seconds", "time for which no overdue bytes were copied", "stalled", "s"),
    ),
    _rows,
    _size,
)
