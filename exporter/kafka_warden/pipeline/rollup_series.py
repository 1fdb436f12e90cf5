"""`series_day`: one row per series and day, from the hours, so that a forecast reads no hours of earlier days."""

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.marks import Work, replace
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
    limits = ("broker_limit", "network")
    of_day = clusters.groupBy(*_DAY).agg(*(F.max_by(f"{name}_last", "start").alias(name) for name in limits))
    limited = brokers.join(of_day, list(_DAY), "left")
    broker, unknown = F.col("broker").cast("string"), F.lit(None)
    # A mart is read once, and all are aggregated at once: Delta and Spark take long for each, however few the rows.
    parts = (
        _hourly(
            clusters,
            F.lit("cluster"),
            _one("partitions", "counted_max", F.col("partitions_limit_last")),
            _one("bytes_in", "bytes_in_mean", unknown),
        ),
        _hourly(
            limited,
            broker,
            _one("replicas", "counted_max", F.col("broker_limit")),
            _one("bytes_in", "bytes_in_mean", F.col("network")),
        ),
        _hourly(
            log_dirs,
            F.concat_ws(":", broker, "log_dir"),
            _one("disk_bytes", "used_bytes_max", F.col("total_bytes_last")),
        ),
    )
    return (
        reduce(DataFrame.unionByName, parts)
        .groupBy(*SERIES, "day")
        .agg(F.max("value").alias("value"), F.count("value").alias("hours"), F.max_by("limit", "start").alias("limit"))
    )


def _one(what: str, value: str, limit: Column) -> Column:
    """Return the quantity of one series in an hour."""
    numbers = {"value": F.col(value), "limit": limit}
    return F.struct(F.lit(what).alias("what"), *(each.cast("double").alias(name) for name, each in numbers.items()))


def _hourly(hours: DataFrame, subject: Column, *series: Column) -> DataFrame:
    """Return the hours of the series of a subject, each a row."""
    labels = {"broker": "int", "log_dir": "string"}
    return hours.select(
        *(*_DAY, "start"),
        subject.alias("subject"),
        *(
            (F.col(name) if name in hours.columns else F.lit(None)).cast(kind).alias(name)
            for name, kind in labels.items()
        ),
        F.inline(F.array(*series)),
    )
