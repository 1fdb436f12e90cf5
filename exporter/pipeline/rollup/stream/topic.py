"""The topic of history as a stream, through Spark's own connector."""

import re
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from exporter.errors import ConfigError
from exporter.pipeline.rollup.stream.rows import of_messages

_ADDRESS: Final = re.compile(r"kafka://([^/]+)/([^/]+)")
_CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def is_topic(place: str) -> bool:
    """Tell whether an input is a topic: `kafka://HOST:PORT,.../TOPIC`."""
    return place.startswith("kafka://")


def of_topic(spark: SparkSession, place: str, properties: Path | None) -> DataFrame:
    """Stream the messages of a topic, from its beginning at the first start.

    Args:
        spark: a session with the connector's jars.
        place: `kafka://HOST:PORT,.../TOPIC`.
        properties: file of client properties, in the form of Java's clients.

    Raises:
        ConfigError: the address, the file or the jars cannot be used.
    """
    found = _ADDRESS.fullmatch(place)
    if found is None:
        raise ConfigError(f"--input: expected kafka://HOST:PORT,HOST:PORT/TOPIC, got {place!r}")
    servers, name = found.groups()
    _check_connector(spark)
    options = {f"kafka.{key}": value for key, value in (read_properties(properties) if properties else {}).items()}
    options |= {"kafka.bootstrap.servers": servers, "subscribe": name, "startingOffsets": "earliest"}
    return of_messages(spark.readStream.format("kafka").options(**options).load().select("value"))


def read_properties(file: Path) -> dict[str, str]:
    """Read properties of Java's form, one `key=value` a line.

    Raises:
        ConfigError: the file cannot be read, or a line has another form.
    """
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"--kafka-properties: {file} cannot be read: {problem}") from None
    found = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if line and line[0] not in "#!":
            key, equals, value = line.partition("=")
            if not equals:
                # The line itself may be a secret.
                raise ConfigError(f"--kafka-properties: {file}, line {number}: expected key=value")
            found[key.strip()] = value.strip()
    return found


def _check_connector(spark: SparkSession) -> None:
    loader = spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]  # noqa: SLF001  # no other way to ask for a class
    if loader.getResource("org/apache/spark/sql/kafka010/KafkaSourceProvider.class") is None:
        raise ConfigError(
            f"--input: a topic needs Spark's connector for Kafka: --conf spark.jars=FILE,... with the jars of"
            f" {_CONNECTOR}:{spark.version} (docs/pipeline.md)"
        )
