"""The topic of history as a stream, through Spark's Kafka connector."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline.rollup.stream.rows import of_messages

_ADDRESS: Final = re.compile(r"kafka://([^/]+)/([^/]+)")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and how to read it."""

    servers: str
    """`HOST:PORT,HOST:PORT`."""
    name: str
    properties: dict[str, str]
    """As for Java clients."""
    accept_loss: bool = False
    """Count messages that were deleted unread, and continue."""

    @classmethod
    def at(cls, place: str, properties: Path | None, *, accept_loss: bool = False) -> Self:
        """Read an address, `kafka://HOST:PORT,.../TOPIC`, and a file of client properties.

        Raises:
            ConfigError: an unusable address or file.
        """
        found = _ADDRESS.fullmatch(place)
        if found is None:
            raise ConfigError(f"--input: expected kafka://HOST:PORT,HOST:PORT/TOPIC, got {place!r}")
        servers, name = found.groups()
        return cls(servers, name, read_properties(properties) if properties else {}, accept_loss)

    @property
    def place(self) -> str:
        """Its address."""
        return f"kafka://{self.servers}/{self.name}"


def is_topic(place: str) -> bool:
    """Return whether an input is a topic: `kafka://HOST:PORT,.../TOPIC`."""
    return place.startswith("kafka://")


def of_topic(spark: SparkSession, topic: Topic) -> DataFrame:
    """Stream the messages of a topic, from its beginning at the first start.

    The topic exists, and the session has the connector's jars (`kafka_preflight.beginnings`).
    """
    options = {f"kafka.{key}": value for key, value in topic.properties.items()}
    options |= {"kafka.bootstrap.servers": topic.servers, "subscribe": topic.name, "startingOffsets": "earliest"}
    options["failOnDataLoss"] = "false" if topic.accept_loss else "true"
    return of_messages(spark.readStream.format("kafka").options(**options).load())


def read_properties(file: Path) -> dict[str, str]:
    """Read a properties file of Java's form, one `key=value` per line.

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
