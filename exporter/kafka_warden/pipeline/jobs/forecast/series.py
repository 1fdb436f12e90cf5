"""The series to forecast: one row per series and day.

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

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.rollup.brokers import inbound
from kafka_warden.pipeline.rollup.samples import POLL
from kafka_warden.pipeline.rollup.windows import DAY, HOUR

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


def series(history: History, options: Options) -> DataFrame:
    """Return the days of all series: `COLUMNS`. The limit is the last one, on all days."""
    polls, brokers = history.table("polls"), history.table("brokers")
    limits = _limits(polls, options)
    led = inbound(history.table("partitions"), polls).where(F.col("broker").isNotNull())
    rates = led.withColumnRenamed("bytes_in", "value")
    broker = F.col("broker")
    all_known = F.count("value") == F.count(F.lit(1))
    whole = rates.groupBy(*POLL).agg(F.when(all_known, F.sum("value")).alias("value"))
    named = _named("cluster", "partitions")
    partitions = polls.select(*POLL, *named, F.col("partitions").cast("double").alias("value"))
    named = _named(broker.cast("string"), "replicas", broker)
    replicas = brokers.select(*POLL, *named, F.col("counted").cast("double").alias("value"))
    of_broker = rates.select(*POLL, *_named(broker.cast("string"), "bytes_in", broker), "value")
    of_cluster = whole.select(*POLL, *_named("cluster", "bytes_in"), "value")
    parts = (
        _hourly(partitions, F.max).join(limits, "cluster_id").withColumn("limit", F.col("partitions_limit")),
        _hourly(replicas, F.max).join(limits, "cluster_id").withColumn("limit", F.col("replicas_limit")),
        _hourly(of_broker, F.mean).join(limits, "cluster_id").withColumn("limit", F.col("network")),
        _hourly(of_cluster, F.mean).withColumn("limit", F.lit(None).cast("double")),
        _disks(brokers, options),
    )
    return reduce(DataFrame.unionByName, (_daily(part) for part in parts))


def _limits(polls: DataFrame, options: Options) -> DataFrame:
    """Return the limits of each cluster: the options, or else the sidecar's settings in the last poll."""
    last = F.max_by("parameters", "time")
    return polls.groupBy("cluster_id").agg(
        F.coalesce(_given(options.max_partitions), last["max_partitions"]).alias("partitions_limit"),
        F.coalesce(_given(options.max_broker_partitions), last["max_broker_partitions"]).alias("replicas_limit"),
        F.coalesce(_given(options.network), last["network_bytes_per_second"]).alias("network"),
    )


def _given(limit: float | None) -> Column:
    return F.lit(None if limit is None else float(limit)).cast("double")


def _disks(brokers: DataFrame, options: Options) -> DataFrame:
    """Return the used bytes of each log directory's volume; the size of its logs if the broker reports no volume."""
    online = brokers.select(*POLL, "broker", F.explode("log_dirs").alias("dir")).where(F.col("dir.online"))
    has_volume = (F.col("dir.total_bytes") >= 0) & (F.col("dir.usable_bytes") >= 0)
    used = F.when(has_volume, F.col("dir.total_bytes") - F.col("dir.usable_bytes")).otherwise(F.col("dir.bytes"))
    size = F.when(has_volume, F.col("dir.total_bytes") * F.lit(options.disk_share))
    broker, path = F.col("broker"), F.col("dir.path")
    named = _named(F.concat_ws(":", broker.cast("string"), path), "disk_bytes", broker, path)
    rows = online.select(*POLL, *named, used.cast("double").alias("value"), size.cast("double").alias("size"))
    last = rows.groupBy(*SERIES).agg(F.max_by("size", "time").alias("limit"))
    return _hourly(rows, F.max).join(
        last.select("cluster_id", "subject", "what", "limit"), ["cluster_id", "subject", "what"]
    )


def _named(
    subject: Column | str, what: str, broker: Column | None = None, log_dir: Column | None = None
) -> list[Column]:
    none = F.lit(None)
    return [
        (F.lit(subject) if isinstance(subject, str) else subject).alias("subject"),
        F.lit(what).alias("what"),
        (none if broker is None else broker).cast("int").alias("broker"),
        (none if log_dir is None else log_dir).cast("string").alias("log_dir"),
    ]


def _hourly(rows: DataFrame, fold: Callable[[str], Column]) -> DataFrame:
    hour = F.floor(F.col("time") / HOUR).alias("hour")
    return rows.where(F.col("value").isNotNull()).groupBy(*SERIES, hour).agg(fold("value").alias("value"))


def _daily(hours: DataFrame) -> DataFrame:
    day = F.floor(F.col("hour") * HOUR / DAY).alias("day")
    days = hours.groupBy(*SERIES, "limit", day).agg(F.max("value").alias("value"), F.count(F.lit(1)).alias("hours"))
    usual = F.percentile_approx("hours", 0.5).over(Window.partitionBy("cluster_id", "subject", "what"))
    value = F.when(F.col("hours") >= LEAST_SHARE * usual, F.col("value")).alias("value")
    return days.select(*SERIES, "day", value, "limit")
