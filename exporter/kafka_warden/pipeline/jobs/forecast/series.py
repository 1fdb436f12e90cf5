"""What grows, day by day: one row per series and day, made of the raw tables.

A day has the greatest value of its hours: limits are met at the busiest hour, disks are full before they are cleared.
An hour of a rate is the mean of its polls, so that no batch of one poll counts as growth. A day with few hours says
nothing of its busiest one and is left out, the day that the history ends in most often. How many are few depends on how
often polls are kept.
"""

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.jobs.forecast.options import Options
from kafka_warden.pipeline.rollup.samples import POLL
from kafka_warden.pipeline.rollup.windows import DAY, HOUR, only_if, whole_sum, with_whole

LEAST_SHARE: Final = 0.75
"""Of the hours with a value that half of the days of a series have: 18 of 24, 3 of 4 with a poll in six hours."""

SERIES: Final = ("cluster_id", "subject", "what", "broker", "log_dir")
COLUMNS: Final = (*SERIES, "day", "value", "limit")
"""Of what `series` returns: strings, int, string, bigint days since 1970, double, double."""


def series(history: History, options: Options) -> DataFrame:
    """Make the days of everything that is forecast. `COLUMNS`; the limit is that of the last day, on all days."""
    polls, brokers = history.table("polls"), history.table("brokers")
    limits = _limits(polls, options)
    inbound = _inbound(history.table("partitions"), polls)
    parts = (
        _hourly(_partitions(polls), F.max).join(limits, "cluster_id").withColumn("limit", F.col("partitions_limit")),
        _hourly(_replicas(brokers), F.max).join(limits, "cluster_id").withColumn("limit", F.col("replicas_limit")),
        _hourly(_of_broker(inbound), F.mean).join(limits, "cluster_id").withColumn("limit", F.col("network")),
        _hourly(_of_cluster(inbound), F.mean).withColumn("limit", F.lit(None).cast("double")),
        _disks(brokers, options),
    )
    return reduce(DataFrame.unionByName, (_daily(part) for part in parts))


def _limits(polls: DataFrame, options: Options) -> DataFrame:
    """The limits of each cluster: those that are given, or what its sidecar was told in the last poll."""
    last = F.max_by("parameters", "time")
    return polls.groupBy("cluster_id").agg(
        F.coalesce(_given(options.max_partitions), last["max_partitions"]).alias("partitions_limit"),
        F.coalesce(_given(options.max_broker_partitions), last["max_broker_partitions"]).alias("replicas_limit"),
        F.coalesce(_given(options.network), last["network_bytes_per_second"]).alias("network"),
    )


def _given(limit: float | None) -> Column:
    return F.lit(None if limit is None else float(limit)).cast("double")


def _partitions(polls: DataFrame) -> DataFrame:
    return polls.select(*POLL, *_named("cluster", "partitions"), F.col("partitions").cast("double").alias("value"))


def _replicas(brokers: DataFrame) -> DataFrame:
    broker = F.col("broker")
    named = _named(broker.cast("string"), "replicas", broker)
    return brokers.select(*POLL, *named, F.col("counted").cast("double").alias("value"))


def _inbound(partitions: DataFrame, polls: DataFrame) -> DataFrame:
    """Bytes in of each leader and poll; null where that of one partition is not known, or rows of the poll are lost."""
    led = partitions.groupBy(*POLL, "leader").agg(
        F.count("*").alias("found"), whole_sum(F.col("bytes_in")).alias("value")
    )
    told = with_whole(led, polls, "partitions").where(F.col("leader").isNotNull())
    return told.select(*POLL, "leader", only_if(F.col("whole"), F.col("value")).alias("value"))


def _of_broker(inbound: DataFrame) -> DataFrame:
    broker = F.col("leader")
    return inbound.select(*POLL, *_named(broker.cast("string"), "bytes_in", broker), "value")


def _of_cluster(inbound: DataFrame) -> DataFrame:
    known = F.count("value") == F.count(F.lit(1))
    whole = inbound.groupBy(*POLL).agg(F.when(known, F.sum("value")).alias("value"))
    return whole.select(*POLL, *_named("cluster", "bytes_in"), "value")


def _disks(brokers: DataFrame, options: Options) -> DataFrame:
    """Used bytes of the volume that each log directory is on; those of its logs where the broker tells no more."""
    told = brokers.select(*POLL, "broker", F.explode("log_dirs").alias("dir")).where(F.col("dir.online"))
    tells = (F.col("dir.total_bytes") >= 0) & (F.col("dir.usable_bytes") >= 0)
    used = F.when(tells, F.col("dir.total_bytes") - F.col("dir.usable_bytes")).otherwise(F.col("dir.bytes"))
    size = F.when(tells, F.col("dir.total_bytes") * F.lit(options.disk_share))
    broker, path = F.col("broker"), F.col("dir.path")
    named = _named(F.concat_ws(":", broker.cast("string"), path), "disk_bytes", broker, path)
    rows = told.select(*POLL, *named, used.cast("double").alias("value"), size.cast("double").alias("size"))
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
