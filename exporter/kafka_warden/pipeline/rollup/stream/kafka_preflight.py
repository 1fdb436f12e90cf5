"""Checks that the topic can be read before Spark retries for minutes; turns Kafka's failures into our errors."""

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

_API_TIMEOUT: Final = "default.api.timeout.ms"
_CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"

_LOST: Final = ("KafkaIllegalStateException", "OffsetOutOfRangeException", "KAFKA_DATA_LOSS")
_AWAY: Final = ("errors.TimeoutException", "errors.DisconnectException", "errors.NetworkException")
_MISSING: Final = ("errors.UnknownTopicOrPartitionException", "errors.InvalidTopicException")
_DENIED: Final = ("AuthenticationException", "AuthorizationException")
"""Suffixes of Java class names."""


def beginnings(spark: SparkSession, topic: Topic) -> dict[int, int]:
    """Ask the brokers for the first offset of each partition, or the next one of an empty partition.

    Raises:
        ConfigError: the connector's jars are missing, or Java's client rejects the properties.
        KafkaWardenError: as `named`.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # Java's client, which the connector includes
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
    """Return the error for a failure of Kafka's client or of the connector, by the Java class names in its text."""
    if any(name in failure for name in _LOST):
        found = re.search(r"offset=(\d+).*?partition (\S+)", failure)
        which = f" (offset {found[1]} of {found[2]} is gone)" if found else ""
        return MessagesLostError(
            f"{topic.place}: messages were deleted before they were read{which}, or the topic was created"
            " again. --accept-loss counts the lost messages and continues with the others"
        )
    if any(name in failure for name in _DENIED):
        return TopicDeniedError(
            f"{topic.place}: {_first(failure, _DENIED)}; check --kafka-properties; the principal needs Read, Describe"
        )
    if any(name in failure for name in _MISSING):
        return TopicMissingError(f"{topic.place}: there is no such topic; create it as in docs/history.md")
    if any(name in failure for name in _AWAY):
        return TopicUnreachableError(
            f"{topic.place}: no broker answers: {_first(failure, _AWAY)}; check that one is up and that"
            " --kafka-properties fits its listener. The next start continues from here"
        )
    return None


def _first(failure: str, names: tuple[str, ...]) -> str:
    """Return the message of the first of these exceptions."""
    line = next(line for line in failure.splitlines() if any(name in line for name in names))
    return line.rpartition("Exception: ")[2].strip().rstrip(".")


def _causes(failure: Py4JJavaError) -> list[str]:
    """Return class and message of an exception and of its causes, the outermost first."""
    found, cause = [], failure.java_exception
    while cause is not None:
        found.append(str(cause.toString()).splitlines()[0])
        cause = cause.getCause()
    return found


def _properties(jvm: Any, topic: Topic) -> Any:
    made = jvm.java.util.Properties()
    given = {**topic.properties, "bootstrap.servers": topic.servers}
    # Java rejects one that is shorter than request.timeout.ms.
    if "request.timeout.ms" not in given:
        given.setdefault(_API_TIMEOUT, f"{1000 * WITHIN}")
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
