"""One batch of a stream: what it brings, beside what is there of its hours, makes these hours anew.

Spark's own windows and watermark are not used: with them a duplicate can be known, or an hour that is still open shown,
and not both; one clock that is ahead closes the hours of every cluster; and what is late is dropped without a word.

Every step puts a whole thing in a place that is named after the batch or the hour. So a batch that was killed anywhere
and is made again, as Spark does after a restart with the same rows, leaves what it would have left.

1. Rows go to `rows/window=HOUR/batch=N`; those of hours that are closed to `late/batch=N`.
2. Of each hour that is touched all rows are read, duplicates taken away, and its part of every mart is written.
3. The books of the batch are written (`books.py`).
4. The batch after it, which Spark begins when this one is done, deletes the rows of hours that are closed by then.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.errors import JobError, KafkaWardenError, NewerSchemaError
from kafka_warden.history.parquet.footers import check_file
from kafka_warden.history.schema import VERSION
from kafka_warden.pipeline import marts
from kafka_warden.pipeline.failures import told
from kafka_warden.pipeline.marts import Mart
from kafka_warden.pipeline.marts.rollup import MARTS
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.rollup.rollup import Target, roll_up
from kafka_warden.pipeline.rollup.samples import COLUMNS, distinct
from kafka_warden.pipeline.rollup.stream.books import HOUR, Books, Read, Shelf
from kafka_warden.pipeline.rollup.stream.rows import MESSAGE, PLACE, UNREADABLE, table_of
from kafka_warden.pipeline.session import kept, spread
from kafka_warden.pipeline.storage import Storage, literal

ROWS: Final = "rows"
LATE: Final = "late"
BOOKS: Final = "books"


@dataclass(frozen=True, slots=True)
class Brought:
    """What a batch brings of one table and hour."""

    table: str
    hour: int
    """Hours since 1970."""
    rows: int
    newest: float
    """Unix seconds."""

    def is_late(self, watermark: float) -> bool:
        """Tell whether its hour is closed."""
        return (self.hour + 1) * HOUR <= watermark


class Batches:
    """Makes the batches of one stream, for `foreachBatch`."""

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: str,
        output: str,
        delay: float,
        progress: Progress,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Say where things are.

        Args:
            spark: what reads and writes besides the stream.
            checkpoint: folder of what is remembered, an address.
            output: folder of marts.
            delay: seconds for which an hour stays open after the newest row is past it.
            progress: told of each batch.
            now: Unix seconds of this machine.
        """
        self.failure: KafkaWardenError | None = None
        """What a batch failed with; Spark only hands on its text."""
        self._spark = spark
        self._checkpoint = checkpoint
        self._output = output
        self._delay = delay
        self._progress = progress
        self._now = now
        self._storage = Storage(spark)
        self._swept = False
        self._beginnings: Mapping[int, int] = {}
        self._shelf = Shelf(self._storage, f"{checkpoint}/{BOOKS}")

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Take note of where a topic begins at this start.

        Args:
            offsets: of the first message of each partition.
        """
        self._shelf.open(offsets)
        self._beginnings = offsets

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Make one batch."""
        try:
            hourly = rows.withColumn("window", F.floor(F.col("time") / HOUR))
            with self._progress.step(f"batch {number}"), kept(hourly) as batch:
                books = self._make(batch, number)
            self._progress.say(self._told(books))
        except KafkaWardenError as failure:
            self.failure = failure
            raise
        except (PySparkException, Py4JError) as failure:
            self.failure = JobError(f"rollup: batch {number}: Spark gave up: {told(failure)}")
            raise

    def _make(self, rows: DataFrame, number: int) -> Books:
        check(rows)
        self._sweep()
        before = self._shelf.before(number).passed(self._beginnings).read(read(rows))
        watermark = before.watermark(self._delay)
        self._forget(watermark)
        brought = bring(rows)
        late = [each for each in brought if each.is_late(watermark)]
        taken = [each for each in brought if not each.is_late(watermark)]
        hours = sorted({each.hour for each in taken})
        if hours:
            self._stage(rows.where(F.col("window").isin(hours)), number)
            self._roll_up(hours)
        if late:
            closed = sorted({each.hour for each in late})
            self._set_aside(rows.where(F.col("window").isin(closed)), number)
        books = before.after(
            number,
            min(max((each.newest for each in taken), default=-math.inf), self._now()),
            sum(each.rows for each in taken),
            {table: sum(each.rows for each in late if each.table == table) for table in {each.table for each in late}},
            rows.where(F.col("table") == UNREADABLE).count(),
        )
        self._shelf.put(books)
        return books

    def _stage(self, rows: DataFrame, number: int) -> None:
        kept = rows.drop(*PLACE).withColumn("batch", F.lit(number)).hint("rebalance", "window")
        writer = kept.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.partitionBy("window", "batch").parquet(f"{self._checkpoint}/{ROWS}")

    def _set_aside(self, rows: DataFrame, number: int) -> None:
        rows.coalesce(1).write.mode("overwrite").parquet(f"{self._checkpoint}/{LATE}/batch={number}")

    def _roll_up(self, hours: Sequence[int]) -> None:
        folder = f"{self._checkpoint}/{ROWS}"
        reader = self._spark.read.option("basePath", folder)
        rows = reader.parquet(*(literal(f"{folder}/window={hour}") for hour in hours))
        spread(self._spark, rows.count())
        samples = {name: distinct(name, table_of(rows, name)) for name in COLUMNS}

        def put(mart: Mart, frame: DataFrame) -> None:
            marts.write_parts(mart, frame, self._output)

        def get(mart: Mart) -> DataFrame:
            return marts.read(self._spark, mart, self._output).where(within(hours))

        roll_up(samples, Target(put, get), lambda _: nullcontext())

    def _forget(self, watermark: float) -> None:
        folder = f"{self._checkpoint}/{ROWS}"
        for name in self._storage.names(folder):
            hour = name.removeprefix("window=")
            if hour.lstrip("-").isdigit() and (int(hour) + 1) * HOUR <= watermark:
                self._storage.delete(f"{folder}/{name}")

    def _sweep(self) -> None:
        """Delete, once, what a process that was killed had begun to write: Spark writes it beside, and forgets it."""
        folders = [f"{self._checkpoint}/{ROWS}", *(marts.place_of(mart, self._output) for mart in MARTS)]
        for folder in folders if not self._swept else ():
            for name in self._storage.names(folder):
                if name.startswith(".spark-staging-"):
                    self._storage.delete(f"{folder}/{name}")
        self._swept = True

    def _told(self, books: Books) -> str:
        parts = [f"{books.rows} rows so far"]
        if math.isfinite(books.newest):
            closed = datetime.fromtimestamp(books.watermark(self._delay) // HOUR * HOUR, UTC)
            parts.append(f"hours before {closed:%Y-%m-%dT%H:%MZ} are closed")
        if books.late:
            late = ", ".join(f"{count} of {table}" for table, count in books.late.items())
            parts.append(f"TOO LATE and in no mart: {late}; they are in {self._checkpoint}/{LATE}")
        if books.unreadable:
            parts.append(f"{books.unreadable} messages are no history, and were passed by")
        if books.lost:
            parts.append(f"LOST: {books.lost} messages that the topic let go of before they were read are in no mart")
        return f"batch {books.batch}: {'; '.join(parts)}"


def bring(rows: DataFrame) -> list[Brought]:
    """Count what a batch brings."""
    counts = (
        rows.where(~F.col("table").isin(UNREADABLE, MESSAGE))
        .groupBy("table", "window")
        .agg(F.count("*").alias("rows"), F.max("time").alias("newest"))
    )
    return [Brought(*row) for row in counts.collect()]


def read(rows: DataFrame) -> list[Read]:
    """Tell which messages a batch has; none of files."""
    places = rows.where(F.col("table") == MESSAGE).groupBy("partition")
    found = places.agg(F.min("offset"), F.max("offset"), F.count("*")).collect()
    return [Read(*row) for row in found]


def check(rows: DataFrame) -> None:
    """Check the files of a batch, and the versions of its rows.

    Raises:
        HistoryFileError: one that names the file and says what is wrong with it.
        NewerSchemaError: a message of a newer version.
    """
    files: list[Any] = rows.where(F.col("file").isNotNull()).select("table", "file").distinct().collect()
    for table, file in sorted(files):
        check_file(file, table)
    newest = rows.agg(F.max("schema_version")).first()
    if newest is not None and (newest[0] or 0) > VERSION:
        raise NewerSchemaError(
            f"the topic has tables of version {newest[0]}, and this program reads up to {VERSION}; update kafka-warden"
        )


def within(hours: Sequence[int]) -> Column:
    """The folders of some hours, so that Spark opens no others."""
    moments = [datetime.fromtimestamp(hour * HOUR, UTC) for hour in hours]
    pairs = F.struct("date", "hour").isin([F.struct(F.lit(at.date()), F.lit(at.hour)) for at in moments])
    return F.col("date").isin([at.date() for at in moments]) & F.col("hour").isin([at.hour for at in moments]) & pairs
