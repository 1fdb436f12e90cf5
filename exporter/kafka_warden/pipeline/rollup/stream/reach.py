"""Whether the topic can be read, and from where, asked before Spark tries for minutes; and what its failures mean."""

import re
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from kafka_warden.errors import (
    ConfigError,
    KafkaWardenError,
    MessagesLostError,
    TopicDeniedError,
    TopicMissingError,
    TopicUnreachableError,
)
from kafka_warden.pipeline.rollup.stream.topic import Topic

WITHIN: Final = 30
"""Seconds that the brokers have to answer."""

_PATIENCE: Final = "default.api.timeout.ms"
_CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"

_LOST: Final = ("KafkaIllegalStateException", "OffsetOutOfRangeException", "KAFKA_DATA_LOSS")
_AWAY: Final = ("errors.TimeoutException", "errors.DisconnectException", "errors.NetworkException")
_MISSING: Final = ("errors.UnknownTopicOrPartitionException", "errors.InvalidTopicException")
_DENIED: Final = ("AuthenticationException", "AuthorizationException")
"""Ends of the names of Java's classes."""


def beginnings(spark: SparkSession, topic: Topic) -> dict[int, int]:
    """Ask the brokers for the topic: the first offset of each partition, or the next one where it is empty.

    Raises:
        ConfigError: there are no jars of the connector, or Java's client does not take the properties.
        KafkaWardenError: as `named`.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # the client that the connector brings, and no second one
    _check_connector(spark, jvm)
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(_properties(jvm, topic))
    except Py4JJavaError as failure:
        causes = _causes(failure)
        raise ConfigError(f"--input, --kafka-properties: {topic.place}: {causes[-1].partition(': ')[2]}") from failure
    try:
        described = admin.describeTopics([topic.name]).allTopicNames().get()[topic.name]
        kafka, earliest = jvm.org.apache.kafka, jvm.org.apache.kafka.clients.admin.OffsetSpec.earliest()
        partitions = [each.partition() for each in described.partitions()]
        asked = {kafka.common.TopicPartition(topic.name, partition): earliest for partition in partitions}
        found = admin.listOffsets(asked).all().get()
        return {place.partition(): found[place].offset() for place in found}
    except Py4JJavaError as failure:
        raise named(topic, "\n".join(_causes(failure))) or failure from failure
    finally:
        admin.close(jvm.java.time.Duration.ZERO)


def named(topic: Topic, failure: str) -> KafkaWardenError | None:
    """Name what a failure of Kafka's client or of the connector means.

    Args:
        topic: what was read.
        failure: its text, with the names of Java's classes.
    """
    if any(name in failure for name in _LOST):
        return MessagesLostError(
            f"{topic.place}: messages were deleted before they were read{_which(failure)}, or the topic was made again."
            " --accept-loss goes on with those that are there, and counts the others"
        )
    if any(name in failure for name in _DENIED):
        return TopicDeniedError(
            f"{topic.place}: {_first(failure, _DENIED)}; see --kafka-properties, the principal needs Read and Describe"
        )
    if any(name in failure for name in _MISSING):
        return TopicMissingError(f"{topic.place}: the brokers have no such topic; make it, as docs/history.md says")
    if any(name in failure for name in _AWAY):
        return TopicUnreachableError(
            f"{topic.place}: no broker answers: {_first(failure, _AWAY)}; is it up, and does its listener want what"
            " --kafka-properties says? The next start goes on where this one was"
        )
    return None


def _which(failure: str) -> str:
    found = re.search(r"offset=(\d+).*?partition (\S+)", failure)
    return f" (offset {found[1]} of {found[2]} is gone)" if found else ""


def _first(failure: str, names: tuple[str, ...]) -> str:
    """What the first of these exceptions says."""
    line = next(line for line in failure.splitlines() if any(name in line for name in names))
    return line.rpartition("Exception: ")[2].strip().rstrip(".")


def _causes(failure: Py4JJavaError) -> list[str]:
    """Class and message of an exception and of what caused it, the outermost first."""
    found, cause = [], failure.java_exception
    while cause is not None:
        found.append(str(cause.toString()).splitlines()[0])
        cause = cause.getCause()
    return found


def _properties(jvm: Any, topic: Topic) -> Any:
    made = jvm.java.util.Properties()
    given = {**topic.properties, "bootstrap.servers": topic.servers}
    # Java refuses one that is shorter than request.timeout.ms.
    if "request.timeout.ms" not in given:
        given.setdefault(_PATIENCE, f"{1000 * WITHIN}")
    for key, value in given.items():
        made.setProperty(key, value)
    return made


def _check_connector(spark: SparkSession, jvm: Any) -> None:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource("org/apache/spark/sql/kafka010/KafkaSourceProvider.class") is None:
        raise ConfigError(
            f"--input: a topic needs Spark's connector: --conf spark.jars.packages={_CONNECTOR}:{spark.version}, or its"
            " jars by --conf spark.jars=FILE,FILE (docs/pipeline.md)"
        )
