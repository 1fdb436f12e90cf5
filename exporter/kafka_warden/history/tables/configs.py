"""`configs`: one row per topic, and per broker whose configuration is known."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from kafka_warden.history.column import Column, Role, Table, annotation_at
from kafka_warden.history.column_types import STRING, column_type_of
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


def _of_topic(name: str, text: str, source: str, unit: str = "") -> Column[Any]:
    values = attrgetter(source)

    def read(poll: Poll, item: Configured) -> float | None:
        return None if item.place is None else values(poll)[item.place]

    return column(name, column_type_of(annotation_at(source)), text, (source,), read, unit=unit)


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
        _of_topic(
            "overdue_bytes", "bytes that should have been copied to remote storage", "derived.tiered.overdue", "bytes"
        ),
        _of_topic("copy_stalled_seconds", "time for which no overdue bytes were copied", "derived.tiered.stalled", "s"),
        _of_topic("offline_partitions", "partitions without a leader", "derived.topics.offline"),
        _of_topic(
            "under_min_isr_partitions",
            "partitions whose ISR is smaller than `min.insync.replicas`; null while that is not known",
            "derived.topics.under_min_isr",
        ),
        _of_topic(
            "non_preferred_leader_partitions",
            "partitions that are led by another replica than the first one",
            "derived.topics.non_preferred_leader",
        ),
        _of_topic("log_bytes", "size of all logs of its replicas", "derived.topics.bytes", "bytes"),
        _of_topic("messages_in", "offsets appended", "derived.topics.messages_in", "1/s"),
        _of_topic(
            "isr_shrinks",
            "replicas that left the ISR since the process first saw the topic",
            "derived.topics.isr_shrinks",
        ),
        _of_topic(
            "isr_expands",
            "replicas that joined the ISR since the process first saw the topic",
            "derived.topics.isr_expands",
        ),
    ),
    _rows,
    _size,
)
