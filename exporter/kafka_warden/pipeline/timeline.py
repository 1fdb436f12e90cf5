"""The raw rows of a store, and polls on one time axis: when each was made, the next one, and how long its values hold.

Runs follow each other after a restart, and overlap where a cluster has two sidecars. A poll that does not know
something, for example reassignments, is left out for that question: `informative_polls`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.parquet.reader import hours_of
from kafka_warden.history.schema import BY_NAME
from kafka_warden.pipeline.store import Store, raw

HOUR: Final = 3600
DAY: Final = 86400
ALL_TIME = (0.0, math.inf)
"""Start and end of all rows, Unix seconds."""

STEP: Final = 1.0
"""Seconds by which a wall clock may be off its run's monotonic one; more is a step, and no slow correction."""

SILENT_AFTER: Final = 3.0
"""Usual intervals for which the values of a poll hold: docs/spec/README.md#old-values."""

POLL: Final = ("cluster_id", "run", "sequence")
"""The key of a poll."""
CLOCKS: Final = (*POLL, "time", "clock", "parameters")
"""The columns of the table `polls` that `timeline` needs."""


class History:
    """The rows of the raw tables, each of which is there once."""

    def __init__(
        self,
        store: Store,
        span: tuple[float, float] = ALL_TIME,
        only: Callable[[str], str] = lambda _: "true",
    ) -> None:
        """Choose the rows.

        `span`: start and end, Unix seconds; whole hours are read, and the end is exclusive. `only`: table to an SQL
        condition on its rows.
        """
        self.spark: SparkSession = store.spark
        self._store, self._span, self._only = store, span, only

    def table(self, name: str) -> DataFrame:
        """Read one table: the columns of docs/history-schema.md in their order, unknown as null."""
        rows = self._store.read(raw(name)).where(self._only(name))
        if self._span != ALL_TIME:
            first, after = (hour * HOUR for hour in hours_of(*self._span))
            # A day is a partition, so Spark opens no others.
            day = F.unix_date("date") * DAY
            rows = rows.where((day > first - DAY) & (day < after) & (F.col("time") >= first) & (F.col("time") < after))
        return rows.drop("date")


def row_key(name: str) -> list[str]:
    """Return the columns that identify a row of a table."""
    return [*POLL, *BY_NAME[name].key]


def timeline(polls: DataFrame) -> DataFrame:
    """Add `at` (Unix s) and `silent_after` (s) to rows of the table `polls`, each once.

    Wall and monotonic clock are compared by days of a run; the monotonic one counts where the wall clock was wrong or
    was set. Of later days only the next one can change a time: the polls of a run stay in order.
    """
    run, part = ("cluster_id", "run"), ("cluster_id", "run", "day")
    dated = polls.withColumn("day", F.floor(F.col("clock") / DAY))
    # By runs, as the next days: one shuffle serves all.
    order = Window.partitionBy(*run).orderBy("sequence")
    between = F.when(F.lag("day").over(order) == F.col("day"), F.col("clock") - F.lag("clock").over(order))
    days = (
        dated.select(*part, "clock", (F.col("time") - F.col("clock")).alias("off"), between.alias("between"))
        .groupBy(*part)
        .agg(F.median("off").alias("offset"), F.median("between").alias("usual"), F.min("clock").alias("first"))
    )
    following = F.lead(F.col("first") + F.col("offset")).over(Window.partitionBy(*run).orderBy("day"))
    interval = F.col("parameters.poll_interval")
    by_clock = F.col("clock") + F.col("offset")
    steady = F.when(F.abs(F.col("time") - by_clock) > STEP, by_clock).otherwise(F.col("time"))
    # A clock that was set back, by up to a day, gave all of the first day the time from before.
    latest = F.col("following") - STEP
    at = F.when((steady > latest) & (steady <= latest + DAY), latest).otherwise(steady)
    silent_after = F.greatest(F.coalesce("usual", interval), interval) * SILENT_AFTER
    return (
        dated.join(F.broadcast(days.withColumn("following", following).drop("first")), list(part))
        .withColumns({"at": at, "silent_after": silent_after})
        .drop("offset", "usual", "following", "day")
    )


def prefer_oldest_run(polls: DataFrame, of: Sequence[str] = ("cluster_id",)) -> DataFrame:
    """Leave out polls that a run made while an older run was active; arguments as in `informative_polls`.

    The oldest run has the longest memory. Another run is used only while the older one is silent.
    """
    spans = _spans(polls, of)
    older, newer = spans.alias("older"), spans.alias("newer")
    same = [F.col(f"older.{name}") == F.col(f"newer.{name}") for name in of]
    is_older = F.struct("older.began", "older.run") < F.struct("newer.began", "newer.run")
    overlaps = (F.col("older.since") <= F.col("newer.until")) & (F.col("older.until") >= F.col("newer.since"))
    covered = older.join(newer, [*same, is_older & overlaps]).select(
        *(F.col(f"newer.{name}") for name in (*of, "run")), "older.since", "older.until"
    )
    mine = [F.col(f"poll.{name}") == F.col(f"covered.{name}") for name in (*of, "run")]
    during = F.col("poll.at").between(F.col("covered.since"), F.col("covered.until"))
    return polls.alias("poll").join(F.broadcast(covered.alias("covered")), [*mine, during], "left_anti")


def _spans(polls: DataFrame, of: Sequence[str]) -> DataFrame:
    """Return the times in which each run polled without a silence: `since`, `until`, and `began`, its first poll.

    If its first polls were deleted, `began` is estimated from `sequence` and the mean time between its numbers.
    """
    own = Window.partitionBy(*of, "run").orderBy("at", "sequence")
    goes_on = F.col("at") - F.lag("at").over(own) <= F.lag("silent_after").over(own)
    numbered = polls.withColumn("fresh", F.when(goes_on, 0).otherwise(1)).withColumn("span", F.sum("fresh").over(own))
    polled = F.struct("sequence", "at")
    spans = numbered.groupBy(*of, "run", "span").agg(
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.min(polled).alias("first"),
        F.max(polled).alias("last"),
    )
    whole = Window.partitionBy(*of, "run")
    first, last = F.min("first").over(whole), F.max("last").over(whole)
    numbers = F.nullif(last["sequence"] - first["sequence"], F.lit(0))
    deleted = first["sequence"] * (last["at"] - first["at"]) / numbers
    began = first["at"] - F.coalesce(deleted, F.lit(0.0))
    return spans.withColumn("began", began).drop("first", "last")


def informative_polls(polls: DataFrame, of: Sequence[str] = ("cluster_id",)) -> DataFrame:
    """Number the polls that know something, of one run at a time (`prefer_oldest_run`), and add their neighbours.

    `polls` are rows of `timeline` that know it; `of`, columns that are numbered separately: `cluster_id`, and `broker`
    where each broker answers for itself. Returns `run`, `sequence` and the columns `of`; `n`, counted from 1; `at`,
    `previous_at` and `next_at` (Unix s, null where there is none); `next_run` and `next_sequence`; `held` (s), how long
    its values hold: until the next poll, but not during a silence, and 0 for the last one.
    """
    order = Window.partitionBy(*of).orderBy("at", "run", "sequence")
    next_at = F.lead("at").over(order)
    return prefer_oldest_run(polls, of).select(
        *of,
        "run",
        "sequence",
        F.row_number().over(order).alias("n"),
        "at",
        F.lag("at").over(order).alias("previous_at"),
        next_at.alias("next_at"),
        F.lead("run").over(order).alias("next_run"),
        F.lead("sequence").over(order).alias("next_sequence"),
        F.when(next_at.isNull(), F.lit(0.0)).otherwise(F.least(next_at - F.col("at"), "silent_after")).alias("held"),
    )


def moment(seconds: str) -> Column:
    """Turn Unix seconds into a timestamp, under the same name."""
    return F.timestamp_micros(F.round(F.col(seconds) * 1e6).cast("bigint")).alias(seconds)


def divide(numerator: Column, denominator: Column) -> Column:
    """Return the quotient; null over zero, and for infinity over infinity.

    That would be NaN, which Spark takes as larger than any other number. A bare `/` raises an error on zero.
    """
    has_none = (denominator == 0.0) | ((F.abs(numerator) == math.inf) & (F.abs(denominator) == math.inf))
    return F.when(~has_none, F.try_divide(numerator, denominator))
