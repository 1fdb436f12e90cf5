"""Windows, and aggregates that are null if a part is unknown."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame, GroupedData, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.columns import no, yes
from kafka_warden.pipeline.rollup.samples import POLL
from kafka_warden.pipeline.timeline import DAY

HOUR: Final = 3600


class Grain(StrEnum):
    """The length of a window."""

    MINUTE = "minute"
    HOUR = "hour"

    @property
    def seconds(self) -> int:
        """Its length in seconds."""
        return 60 if self is Grain.MINUTE else HOUR


def by_window(rows: DataFrame, grain: Grain, key: Sequence[str]) -> GroupedData:
    """Group rows by a key with `start`, the start of a row's window, independent of the session's time zone."""
    length = grain.seconds
    return rows.withColumn("start", F.timestamp_seconds(F.floor(F.col("time") / length) * length)).groupBy(*key)


def with_folders(marts: DataFrame) -> DataFrame:
    """Add `date` and `hour` (UTC) of each window's start: the folders of a mart."""
    seconds = F.unix_seconds("start")
    return marts.withColumns(
        {
            "date": F.date_from_unix_date(F.floor(seconds / DAY).cast("int")),
            "hour": F.pmod(F.floor(seconds / HOUR), F.lit(24)).cast("int"),
        }
    )


def sum_or_null(value: Column, counted: Column | None = None) -> Column:
    """Return the sum of the rows that are `counted` (default: all), null if one is unknown, 0 of no rows."""
    part = yes() if counted is None else counted
    known = F.count_if(part & value.isNull()) == 0
    return F.when(known, F.coalesce(F.sum(F.when(part, value)), F.lit(0).cast("double")))


def last(value: Column) -> Column:
    """Return the value of a window's last poll, also if it is unknown. Two runs may poll at the same time."""
    return F.max_by(value, F.struct("time", "run", "sequence"))


def mean_and_max(name: str, value: Column | None = None) -> list[Column]:
    """Return `NAME_mean` and `NAME_max` of a value, by default of the column `name`."""
    of = F.col(name) if value is None else value
    return [F.avg(of).alias(f"{name}_mean"), F.max(of).alias(f"{name}_max")]


def with_whole(counts: DataFrame, polls: DataFrame, table: str, *flags: str) -> DataFrame:
    """Add `whole`: whether all rows of a table are there in the poll. Otherwise sums would be wrong.

    `counts`: with `found`, the number of the table's rows in each row. `flags`: columns of `polls` to add.
    """
    expected = polls.select(*POLL, *flags, F.col("rows")[table].alias("expected"))
    found = F.sum("found").over(Window.partitionBy(*POLL))
    joined = counts.withColumn("found", found).join(expected, list(POLL), "left")
    whole = F.coalesce(F.col("found") == F.col("expected"), no())
    return joined.withColumn("whole", whole).drop("found", "expected")
