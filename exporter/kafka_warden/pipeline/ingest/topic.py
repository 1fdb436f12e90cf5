"""The topic of history: its address, and its messages as Spark reads them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from pathlib import Path
from typing import Final, Self

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline.frames import of_rows
from kafka_warden.pipeline.ingest.offsets import Span
from kafka_warden.settings.java_properties import read_properties

SCHEME: Final = "kafka://"
_ADDRESS: Final = re.compile(r"kafka://([^/]+)/([^/]+)")

PLACE: Final = "kafka:"
"""How the places of messages begin in `landing`."""

TASK: Final = 500
"""Messages of one task: at most 128 MB of JSON."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and how to read it."""

    servers: str
    """`HOST:PORT,HOST:PORT`."""
    name: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """As for Java clients. They may have passwords."""

    @classmethod
    def at(cls, place: str, properties: Path | None) -> Self:
        """Read an address, `kafka://HOST:PORT,.../TOPIC`, and a file of client properties.

        Raises:
            ConfigError: an unusable address or file.
        """
        found = _ADDRESS.fullmatch(place)
        if found is None:
            raise ConfigError(f"--input: expected kafka://HOST:PORT,HOST:PORT/TOPIC, got {place!r}")
        return cls(found[1], found[2], _read(properties) if properties else {})

    @property
    def place(self) -> str:
        """Its address."""
        return f"{SCHEME}{self.servers}/{self.name}"

    def read(self, spark: SparkSession, spans: Sequence[Span]) -> DataFrame:
        """Read ranges of offsets: `value`, `partition` and other columns of Spark's connector.

        Offsets that the topic does not have, for example of transactions, are left out.
        """
        wanted = [each for each in spans if each.after > each.first]
        if not wanted:
            return of_rows(spark, [], "value binary, partition int")
        options = {f"kafka.{key}": value for key, value in self.properties.items()}
        options |= {"kafka.bootstrap.servers": self.servers, "failOnDataLoss": "false"}
        options |= {
            name: dumps({self.name: offsets})
            for name, offsets in (
                ("assign", [each.partition for each in wanted]),
                ("startingOffsets", {str(each.partition): each.first for each in wanted}),
                ("endingOffsets", {str(each.partition): each.after for each in wanted}),
            )
        }
        options["maxRecordsPerPartition"] = str(TASK)
        return spark.read.format("kafka").options(**options).load()


def is_topic(place: str) -> bool:
    """Return whether an input is a topic: `kafka://HOST:PORT,.../TOPIC`."""
    return place.startswith(SCHEME)


def _read(file: Path) -> dict[str, str]:
    try:
        found = read_properties(file, frozenset())
    except ConfigError as problem:
        raise ConfigError(f"--kafka-properties: {problem}") from None
    for name, each in found.items():
        if each.is_lost(name):
            raise ConfigError(f"--kafka-properties: {file}: line {each.line}: expected key=value")
    return {name: each.value for name, each in found.items()}
