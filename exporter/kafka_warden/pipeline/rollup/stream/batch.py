"""One batch of a stream: it rewrites every hour for which it has rows, from all rows of that hour.

Spark's own windows and watermarks are not used. They can drop duplicates or show an open hour, but not both; one fast
clock closes the hours of every cluster; and late rows are dropped silently.

Every step is idempotent: it replaces a folder named after the batch or the hour. After a kill at any moment Spark
repeats the batch with the same rows, which has the same result.

1. Rows are written to `rows/window=HOUR/batch=N`, rows of closed hours to `late/batch=N`.
2. All rows of each open hour are read, duplicates are dropped, and the hour is replaced in every mart.
3. The progress is written (`stream_progress.py`).
4. The next batch deletes the rows of hours that are closed by then.
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
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import JobError, KafkaWardenError, NewerSchemaError
from kafka_warden.history.parquet.footers import check_file
from kafka_warden.history.schema import VERSION
from kafka_warden.pipeline import marts
from kafka_warden.pipeline.failures import error_text
from kafka_warden.pipeline.marts.rollup import MARTS
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.rollup.rollup import Target, roll_up
from kafka_warden.pipeline.rollup.samples import COLUMNS, distinct
from kafka_warden.pipeline.rollup.stream.rows import MESSAGE, PLACE, UNREADABLE, table_of
from kafka_warden.pipeline.rollup.stream.stream_progress import ProgressStore, Read, StreamProgress
from kafka_warden.pipeline.rollup.windows import HOUR
from kafka_warden.pipeline.session import persisted, set_shuffle_partitions
from kafka_warden.pipeline.storage import Storage, literal

ROWS: Final = "rows"
LATE: Final = "late"
PROGRESS: Final = "books"
"""Folders of the checkpoint."""


@dataclass(frozen=True, slots=True)
class Brought:
    """A batch's rows of one table and hour."""

    table: str
    hour: int
    """Hours since 1970."""
    rows: int
    newest: float
    """Unix seconds."""

    def is_late(self, watermark: float) -> bool:
        """Return whether its hour is closed."""
        return (self.hour + 1) * HOUR <= watermark


class Batches:
    """Processes the batches of one stream, for `foreachBatch`."""

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: str,
        output: str,
        delay: float,
        progress: Progress,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Set the folders of the stream's state and of marts, both addresses.

        `delay`: seconds for which an hour stays open after the newest row is past it. `now`: Unix seconds.
        """
        self.failure: KafkaWardenError | None = None
        """The error of a batch; Spark only passes on its text."""
        self._spark = spark
        self._checkpoint = checkpoint
        self._output = output
        self._delay = delay
        self._progress = progress
        self._now = now
        self._storage = Storage(spark)
        self._swept = False
        self._beginnings: Mapping[int, int] = {}
        self._store = ProgressStore(self._storage, f"{checkpoint}/{PROGRESS}")

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Set each partition's first offset at this start."""
        self._store.open(offsets)
        self._beginnings = offsets

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Process one batch."""
        try:
            hourly = rows.withColumn("window", F.floor(F.col("time") / HOUR))
            with self._progress.step(f"batch {number}"), persisted(hourly) as batch:
                state = self._process(batch, number)
            self._progress.say(self._summary(state))
        except KafkaWardenError as failure:
            self.failure = failure
            raise
        except (PySparkException, Py4JError) as failure:
            self.failure = JobError(f"rollup: batch {number}: Spark failed: {error_text(failure)}")
            raise

    def _process(self, rows: DataFrame, number: int) -> StreamProgress:
        check(rows)
        self._sweep()
        before = self._store.before(number).passed(self._beginnings).read(read(rows))
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
            late_rows = rows.where(F.col("window").isin(sorted({each.hour for each in late})))
            late_rows.coalesce(1).write.mode("overwrite").parquet(f"{self._checkpoint}/{LATE}/batch={number}")
        state = before.after(
            number,
            min(max((each.newest for each in taken), default=-math.inf), self._now()),
            sum(each.rows for each in taken),
            {table: sum(each.rows for each in late if each.table == table) for table in {each.table for each in late}},
            rows.where(F.col("table") == UNREADABLE).count(),
        )
        self._store.put(state)
        return state

    def _stage(self, rows: DataFrame, number: int) -> None:
        staged = rows.drop(*PLACE).withColumn("batch", F.lit(number)).hint("rebalance", "window")
        writer = staged.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.partitionBy("window", "batch").parquet(f"{self._checkpoint}/{ROWS}")

    def _roll_up(self, hours: Sequence[int]) -> None:
        folder = f"{self._checkpoint}/{ROWS}"
        reader = self._spark.read.option("basePath", folder)
        rows = reader.parquet(*(literal(f"{folder}/window={hour}") for hour in hours))
        set_shuffle_partitions(self._spark, rows.count())
        samples = {name: distinct(name, table_of(rows, name)) for name in COLUMNS}
        target = Target(
            lambda mart, frame: marts.write_parts(mart, frame, self._output),
            lambda mart: marts.read(self._spark, mart, self._output).where(within(hours)),
        )
        roll_up(samples, target, lambda _: nullcontext())

    def _forget(self, watermark: float) -> None:
        folder = f"{self._checkpoint}/{ROWS}"
        for name in self._storage.names(folder):
            hour = name.removeprefix("window=")
            if hour.lstrip("-").isdigit() and (int(hour) + 1) * HOUR <= watermark:
                self._storage.delete(f"{folder}/{name}")

    def _sweep(self) -> None:
        """Delete, once, the staging folders that a killed process left behind; Spark does not."""
        folders = [f"{self._checkpoint}/{ROWS}", *(marts.place_of(mart, self._output) for mart in MARTS)]
        for folder in folders if not self._swept else ():
            for name in self._storage.names(folder):
                if name.startswith(".spark-staging-"):
                    self._storage.delete(f"{folder}/{name}")
        self._swept = True

    def _summary(self, state: StreamProgress) -> str:
        parts = [f"{state.rows} rows so far"]
        if math.isfinite(state.newest):
            closed = datetime.fromtimestamp(state.watermark(self._delay) // HOUR * HOUR, UTC)
            parts.append(f"hours before {closed:%Y-%m-%dT%H:%MZ} are closed")
        if state.late:
            late = ", ".join(f"{count} of {table}" for table, count in state.late.items())
            parts.append(f"TOO LATE and in no mart: {late}; they are in {self._checkpoint}/{LATE}")
        if state.unreadable:
            parts.append(f"{state.unreadable} messages are not history and were skipped")
        if state.lost:
            parts.append(f"LOST: {state.lost} messages that the topic deleted before they were read are in no mart")
        return f"batch {state.batch}: {'; '.join(parts)}"


def bring(rows: DataFrame) -> list[Brought]:
    """Count a batch's rows by table and hour."""
    counts = (
        rows.where(~F.col("table").isin(UNREADABLE, MESSAGE))
        .groupBy("table", "window")
        .agg(F.count("*").alias("rows"), F.max("time").alias("newest"))
    )
    return [Brought(*row) for row in counts.collect()]


def read(rows: DataFrame) -> list[Read]:
    """Return the offsets of a batch's messages; none of files."""
    places = rows.where(F.col("table") == MESSAGE).groupBy("partition")
    found = places.agg(F.min("offset"), F.max("offset"), F.count("*")).collect()
    return [Read(*row) for row in found]


def check(rows: DataFrame) -> None:
    """Check the files of a batch, and the versions of its rows.

    Raises:
        HistoryFileError: names the file and what is wrong with it.
        NewerSchemaError: a message has a newer version.
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
    """Return a condition on the folders of some hours, so that Spark opens no others."""
    moments = [datetime.fromtimestamp(hour * HOUR, UTC) for hour in hours]
    pairs = F.struct("date", "hour").isin([F.struct(F.lit(at.date()), F.lit(at.hour)) for at in moments])
    return F.col("date").isin([at.date() for at in moments]) & F.col("hour").isin([at.hour for at in moments]) & pairs
