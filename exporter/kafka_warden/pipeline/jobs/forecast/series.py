"""The series to forecast: one row per series and day.

A day's value is the maximum of its hours, since limits are reached at the busiest hour. A rate's hour is the mean of
its polls, so that a burst is not growth. A day with too few hours may lack its busiest one and is left out, often the
last day. The threshold depends on the usual number of hours, since history may be sampled.
"""

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.rollup.series import SERIES

LEAST_SHARE: Final = 0.75
"""Of the median number of hours with a value per day: 18 of 24, or 3 of 4 with one poll in six hours."""

COLUMNS: Final = (*SERIES, "day", "value", "limit")
"""Columns of `series`: strings, int, string, bigint days since 1970, double, double."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user may choose. A limit that is None is taken from the history."""

    horizon: int = 90
    """Days."""
    level: float = 0.9
    """Of the interval, above 0 and below 1."""
    network: float | None = None
    """Bytes per second of one broker."""
    max_broker_partitions: int | None = None
    max_partitions: int | None = None
    disk_share: float = 1.0
    """Of a disk's size."""
    seed: int = 1


def series(days: DataFrame, options: Options) -> DataFrame:
    """Return the days of all series: `COLUMNS`. All days have the last limit. `days`: the mart `series_day`."""
    usual = F.percentile_approx("hours", 0.5).over(Window.partitionBy("cluster_id", "subject", "what"))
    value = F.when(F.col("hours") >= LEAST_SHARE * usual, F.col("value"))
    return (
        days.withColumn("limit", _limit(options))
        .where("hours > 0")
        .select(*SERIES, F.unix_date("day").cast("bigint").alias("day"), value.alias("value"), "limit")
    )


def _limit(options: Options) -> Column:
    """Return the limit of a series: the option, or else the last one of the history."""
    own = F.max_by("limit", "day").over(Window.partitionBy(*SERIES))
    # All brokers have the cluster's, also one that is gone.
    shared = F.max_by("limit", "day").over(Window.partitionBy("cluster_id", "what", F.col("broker").isNull()))
    of_broker = F.col("broker").isNotNull()
    given = {"partitions": options.max_partitions, "replicas": options.max_broker_partitions}
    limit = F.when(F.col("what") == "disk_bytes", own * F.lit(options.disk_share))
    for what, number in given.items():
        if number is not None:
            limit = limit.when(F.col("what") == what, F.lit(number).cast("double"))
    if options.network is not None:
        limit = limit.when((F.col("what") == "bytes_in") & of_broker, F.lit(options.network))
    return limit.otherwise(shared)
