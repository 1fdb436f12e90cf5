"""The series to forecast: one row per series and day, from the marts by hour.

A day's value is the maximum of its hours, since limits are reached at the busiest hour. A rate's hour is the mean of
its polls, so that a burst is not growth. A day with too few hours may lack its busiest one and is left out, often the
last day. The threshold depends on the usual number of hours, since history may be sampled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.marts.mart import Mart
from kafka_warden.pipeline.marts.rollup import BROKERS, CLUSTERS, LOG_DIR_HOURS
from kafka_warden.pipeline.timeline import DAY

LEAST_SHARE: Final = 0.75
"""Of the median number of hours with a value per day: 18 of 24, or 3 of 4 with one poll in six hours."""

SERIES: Final = ("cluster_id", "subject", "what", "broker", "log_dir")
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


def series(read: Callable[[Mart], DataFrame], options: Options) -> DataFrame:
    """Return the days of all series: `COLUMNS`. The limit is the last one, on all days. `read`: reads a mart."""
    limits = _limits(read(CLUSTERS["hour"]), options)
    clusters = read(CLUSTERS["hour"]).join(limits, "cluster_id")
    brokers = read(BROKERS["hour"]).join(limits, "cluster_id")
    log_dirs = read(LOG_DIR_HOURS)
    size = F.max_by("total_bytes_last", "start") * F.lit(options.disk_share)
    sizes = log_dirs.groupBy("cluster_id", "broker", "log_dir").agg(size.alias("size"))
    broker, cluster = F.col("broker").cast("string"), F.lit("cluster")
    unknown = F.lit(None).cast("double")
    parts = (
        _daily(clusters, cluster, "partitions", "counted_max", F.col("partitions_limit")),
        _daily(clusters, cluster, "bytes_in", "bytes_in_mean", unknown),
        _daily(brokers, broker, "replicas", "counted_max", F.col("broker_limit")),
        _daily(brokers, broker, "bytes_in", "bytes_in_mean", F.col("network")),
        _daily(
            log_dirs.join(sizes, ["cluster_id", "broker", "log_dir"]),
            F.concat_ws(":", broker, "log_dir"),
            "disk_bytes",
            "used_bytes_max",
            F.col("size"),
        ),
    )
    return reduce(DataFrame.unionByName, parts)


def _limits(clusters: DataFrame, options: Options) -> DataFrame:
    """Return the limits of each cluster: the options, or else the sidecar's settings in the last poll."""
    given = {
        "partitions_limit": options.max_partitions,
        "broker_limit": options.max_broker_partitions,
        "network": options.network,
    }
    return clusters.groupBy("cluster_id").agg(
        *(
            F.coalesce(F.lit(limit).cast("double"), F.max_by(f"{name}_last", "start")).alias(name)
            for name, limit in given.items()
        )
    )


def _daily(hours: DataFrame, subject: Column, what: str, value: str, limit: Column) -> DataFrame:
    """Return the days of the series of one quantity: the greatest of the hours that know the column `value`."""
    labels = {"broker": "int", "log_dir": "string"}
    named = hours.where(F.col(value).isNotNull()).select(
        "cluster_id",
        subject.alias("subject"),
        F.lit(what).alias("what"),
        *(
            (F.col(name) if name in hours.columns else F.lit(None)).cast(kind).alias(name)
            for name, kind in labels.items()
        ),
        F.floor(F.unix_seconds("start") / DAY).alias("day"),
        F.col(value).cast("double").alias("value"),
        limit.alias("limit"),
    )
    days = named.groupBy(*SERIES, "limit", "day").agg(F.max("value").alias("value"), F.count(F.lit(1)).alias("hours"))
    usual = F.percentile_approx("hours", 0.5).over(Window.partitionBy("cluster_id", "subject", "what"))
    known = F.when(F.col("hours") >= LEAST_SHARE * usual, F.col("value")).alias("value")
    return days.select(*SERIES, "day", known, "limit")
