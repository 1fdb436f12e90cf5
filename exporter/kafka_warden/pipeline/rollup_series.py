"""`series_day`: one row per series and day, from the hours, so that a forecast reads no hours of earlier days."""

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.incremental import Work, replace
from kafka_warden.pipeline.marts import BROKERS, CLUSTERS, LOG_DIR_HOURS, SERIES_DAYS, Mart
from kafka_warden.pipeline.store import Store, of_mart

_DAY: Final = ("cluster_id", "day")
SERIES: Final = ("cluster_id", "subject", "what", "broker", "log_dir")
"""What the days of one series have in common."""


def put_days(store: Store, work: Work) -> None:
    """Replace the days of the hours of a run, which are stored already.

    Each run adds a file for each cluster. Compaction joins them when there are more than 32.
    """

    def hours(mart: Mart) -> DataFrame:
        return store.read(of_mart(mart)).where(work.days("date")).withColumnRenamed("date", "day")

    made = days(hours(CLUSTERS["hour"]), hours(BROKERS["hour"]), hours(LOG_DIR_HOURS))
    replace(work, SERIES_DAYS, made, work.days("day"))


def days(clusters: DataFrame, brokers: DataFrame, log_dirs: DataFrame) -> DataFrame:
    """Return the days of all series of the marts by hour, whose `date` is called `day`."""
    limits = (F.max_by(f"{name}_last", "start").alias(f"{name}_last") for name in ("broker_limit", "network"))
    limited = brokers.join(clusters.groupBy(*_DAY).agg(*limits), [*_DAY], "left")
    none, broker, log_dir = F.lit(None), F.col("broker"), F.col("log_dir")
    # A mart is read once, and all are aggregated at once: Delta and Spark take long for each, however few the rows.
    hours = (
        clusters.select(
            *_hour(F.lit("cluster"), none, none),
            _series(("partitions", "counted_max", "partitions_limit_last"), ("bytes_in", "bytes_in_mean", None)),
        ),
        limited.select(
            *_hour(broker.cast("string"), broker, none),
            _series(("replicas", "counted_max", "broker_limit_last"), ("bytes_in", "bytes_in_mean", "network_last")),
        ),
        log_dirs.select(
            *_hour(F.concat_ws(":", broker, log_dir), broker, log_dir),
            _series(("disk_bytes", "used_bytes_max", "total_bytes_last")),
        ),
    )
    return (
        reduce(DataFrame.unionByName, hours)
        .groupBy(*SERIES, "day")
        .agg(F.max("value").alias("value"), F.count("value").alias("hours"), F.max_by("limit", "start").alias("limit"))
    )


def _hour(subject: Column, broker: Column, log_dir: Column) -> list[Column]:
    labels = [broker.cast("int").alias("broker"), log_dir.cast("string").alias("log_dir")]
    return [*map(F.col, (*_DAY, "start")), subject.alias("subject"), *labels]


def _series(*series: tuple[str, str, str | None]) -> Column:
    """Return a row for each series of a subject: `what` it is, and the columns of its value and its limit."""
    rows = (
        F.struct(
            F.lit(what).alias("what"),
            F.col(value).cast("double").alias("value"),
            (F.lit(None) if limit is None else F.col(limit)).cast("double").alias("limit"),
        )
        for what, value, limit in series
    )
    return F.inline(F.array(*rows))
