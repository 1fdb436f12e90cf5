"""Asks the brokers of the topic for its id and its offsets, through librdkafka."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.errors import (
    ConfigError,
    HistoryTopicError,
)
from kafka_warden.pipeline.topic import PLACE, Ends, Topic

WITHIN: Final = 30.0
"""Seconds that the brokers have for all answers to one question."""

_ENDS: Final[Any] = OffsetSpec
"""Untyped."""

_DENIED: Final = {
    KafkaError._AUTHENTICATION,  # noqa: SLF001  # librdkafka's own errors have such names
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}
_MISSING: Final = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_EXCEPTION}


@dataclass(frozen=True, slots=True)
class Described:
    """A topic as the brokers have it now."""

    cluster: str
    """Kafka's cluster id."""
    name: str
    topic_id: str
    logs: Mapping[int, Ends]
    """Partition to its offsets."""

    @property
    def prefix(self) -> str:
        """The places of topics of this name."""
        return f"{PLACE}{self.cluster}/{self.name}/"

    @property
    def place(self) -> str:
        """The places of its partitions, without their numbers: a topic that is created again has others."""
        return f"{self.prefix}{self.topic_id}/"


def describe(topic: Topic) -> Described:
    """Ask for a topic.

    Raises:
        ConfigError: a client property cannot be used.
        HistoryTopicError: by the cause.
    """
    errors: list[Any] = []
    client = _client(topic, errors)
    try:
        cluster = client.describe_cluster(request_timeout=WITHIN).result(WITHIN)
        (asked,) = client.describe_topics(TopicCollection([topic.name]), request_timeout=WITHIN).values()
        found = asked.result(WITHIN)
        partitions = [each.id for each in found.partitions]
        first, after = (_offsets(client, topic.name, partitions, end) for end in (_ENDS.earliest(), _ENDS.latest()))
    except (KafkaException, TimeoutError) as failure:
        client.poll(0)
        raise _named(topic, failure, errors) from None
    logs = {partition: Ends(first[partition], after[partition]) for partition in partitions}
    # As Kafka's tools write it, without slashes.
    topic_id = str(found.topic_id).translate(str.maketrans("+/", "-_"))
    return Described(cluster.cluster_id, topic.name, topic_id, logs)


def _offsets(client: Any, name: str, partitions: list[int], spec: Any) -> dict[int, int]:
    asked = {TopicPartition(name, partition): spec for partition in partitions}
    answers = client.list_offsets(asked, request_timeout=WITHIN)
    return {place.partition: answer.result(WITHIN).offset for place, answer in answers.items()}


def _client(topic: Topic, errors: list[Any]) -> Any:
    try:
        known = librdkafka(translate({**topic.properties, "bootstrap.servers": topic.servers}))
        # Errors are collected; librdkafka would write them to stderr.
        quiet: dict[str, Any] = {"error_cb": errors.append, "log_level": 0}
        return AdminClient({**known, **quiet})
    except ConfigError as problem:
        raise ConfigError(f"--kafka-properties: {problem}") from None
    except KafkaException as problem:
        raise ConfigError(f"--kafka-properties: {problem.args[0].str()}") from None


def _named(topic: Topic, failure: Exception, errors: list[Any]) -> HistoryTopicError:
    """Return our error. A refused login shows only among `errors`: the request itself just takes too long."""
    given = [failure.args[0]] if isinstance(failure, KafkaException) else []
    codes = {each.code(): each.str() for each in [*errors, *given]}
    denied = next((text for code, text in codes.items() if code in _DENIED), None)
    if denied is not None:
        return HistoryTopicError(
            f"{topic.place}: {denied}; check --kafka-properties; the principal needs Read and Describe on the topic"
        )
    if codes.keys() & _MISSING:
        return HistoryTopicError(f"{topic.place}: there is no such topic; create it as in docs/history.md")
    text = next(iter(codes.values()), "no answer")
    return HistoryTopicError(
        f"{topic.place}: no broker answers: {text}; check that one is up and that --kafka-properties fits its"
        " listener. The next call continues from here"
    )
