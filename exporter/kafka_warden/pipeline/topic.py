"""The topic of history: its address, which offsets a batch reads, and its messages as rows of the tables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from json import dumps
from operator import and_
from pathlib import Path
from typing import Final, NamedTuple, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ConfigError
from kafka_warden.history import messages
from kafka_warden.history.schema import BY_NAME, COMMON
from kafka_warden.pipeline.landing import LATEST
from kafka_warden.pipeline.marts import of_rows
from kafka_warden.pipeline.timeline import POLL
from kafka_warden.settings.java_properties import read_properties

SCHEME: Final = "kafka://"
_ADDRESS: Final = re.compile(r"kafka://([^/]+)/([^/]+)")

PLACE: Final = "kafka:"
"""How the places of messages begin in `taken`."""

TASK: Final = 500
"""Messages of one task: at most 128 MB of JSON."""

MOST: Final = 20_000
"""Messages of one batch, of at most 256 KiB each: Spark keeps them in memory and on its local disk for all tables."""

HEAD: Final = tuple(column.name for column in COMMON)
_DDL: Final = (
    f"`table` string, {', '.join(f'`{column.name}` {column.type}' for column in COMMON)}, `rows` array<string>"
)


class Ends(NamedTuple):
    """The log of one partition."""

    first: int
    """Its first offset, or the next one if it is empty."""
    after: int
    """The offset that the next message will get."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of offsets of one partition."""

    partition: int
    first: int
    after: int
    """One more than the last offset; `first` if there are none."""


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


def spans(logs: Mapping[int, Ends], marks: Mapping[int, int], most: int = MOST) -> list[Span]:
    """Return what the next batch takes: at most `most` offsets, divided by what each partition has left.

    `marks`: partition to the next offset, for partitions that earlier batches know. An empty range only sets a mark.
    Each batch sets those of all partitions, since old marks are deleted. If no partition has new offsets: no range.
    """
    left = {}
    for partition, (first, after) in sorted(logs.items()):
        begin = max(first, marks.get(partition, 0))
        left[partition] = Span(partition, begin, max(begin, after))
    if all(partition in marks and each.after == marks[partition] for partition, each in left.items()):
        return []
    total = sum(each.after - each.first for each in left.values())
    if total <= most:
        return list(left.values())
    shares = {each.partition: -(-(each.after - each.first) * most // total) for each in left.values()}
    return [replace(each, after=each.first + shares[each.partition]) for each in left.values()]


def expired(wanted: Sequence[Span], logs: Mapping[int, Ends]) -> list[Span]:
    """Return the ranges that the topic deleted, given those that should be there."""
    gone = []
    for each in wanted:
        first = logs[each.partition].first if each.partition in logs else each.after
        if first > each.first and each.after > each.first:
            gone.append(replace(each, after=min(first, each.after)))
    return gone


def lost(logs: Mapping[int, Ends], marks: Mapping[int, int]) -> Iterator[Span]:
    """Yield what a topic deleted since the last batch. Without marks nothing is known; a new partition begins at 0."""
    for partition, (first, _) in sorted(logs.items()):
        mark = marks.get(partition, 0) if marks else first
        if first > mark:
            yield Span(partition, mark, first)


def truncated(logs: Mapping[int, Ends], marks: Mapping[int, int]) -> Iterator[Span]:
    """Yield offsets that were taken and that a partition no longer has at its end, as after an unclean election."""
    for partition, (_, after) in sorted(logs.items()):
        if after < marks.get(partition, 0):
            yield Span(partition, after, marks[partition])


def opened(read: DataFrame) -> DataFrame:
    """Parse what is in front of the rows of each message.

    Columns: `partition`, `value` (text), `table` (null if the message is not history), those of `HEAD`, and `rows`,
    their number. `read`: `partition` and `value` (text or bytes). `schema_version` is null without a poll.
    """
    text = F.col("value").cast("string")
    head = read.select("partition", text.alias("value"), F.from_json(text, _DDL).alias("head"))
    has_poll = reduce(and_, (F.col(f"head.{name}").isNotNull() for name in (*POLL, "time")))
    in_time = (F.col("head.time") >= 0) & (F.col("head.time") < LATEST)
    is_history = F.col("head.table").isin(*BY_NAME) & has_poll & in_time & F.col("head.rows").isNotNull()
    return head.select(
        "partition",
        "value",
        F.when(is_history, F.col("head.table")).alias("table"),
        *(F.when(has_poll, F.col(f"head.{name}")).alias(name) for name in HEAD),
        F.size("head.rows").alias("rows"),
    )


def table_of(opened_messages: DataFrame, name: str) -> DataFrame:
    """Return the rows of one table: the columns of docs/history-schema.md in their order."""
    rows = F.from_json("value", messages.ddl(BY_NAME[name]))["rows"]
    mine = opened_messages.where(F.col("table") == name).select(*HEAD, F.explode(rows).alias("row"))
    return mine.where(F.col("row").isNotNull()).select(*HEAD, "row.*")
