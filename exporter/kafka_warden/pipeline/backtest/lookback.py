"""Inputs of rules that look back: a share of time, growth, recent failures, log directories that went offline.

Each frame has one row per subject and poll, with the columns that `backtest.signals` uses. The windows are those of
`rules/thresholds.yml`, in the steady time of polls.
"""

from collections.abc import Mapping
from functools import reduce
from operator import add, or_
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.backtest.rules import THRESHOLDS
from kafka_warden.pipeline.rollup import KINDS
from kafka_warden.pipeline.timeline import POLL, no, yes

COPY_GROWTH: Final[Mapping[float, float]] = {
    THRESHOLDS["copy_trend"]: THRESHOLDS["copy_grows"],
    THRESHOLDS["copy_trend_long"]: THRESHOLDS["copy_doubles"],
}
"""Seconds to growth within them."""

_ERRORS: Final = {
    "copies_failed": ("remote_copy_errors_total", "remote_delete_errors_total"),
    "fetches_failed": ("remote_fetch_errors_total",),
}
_MICRO: Final = 1e6


def _until_now(*of: str) -> WindowSpec:
    return Window.partitionBy("cluster_id", *of).orderBy((F.col("at") * _MICRO).cast("bigint"))


def _late(seconds: float, *of: str) -> WindowSpec:
    """Return the window of the last `seconds`, the current row included."""
    return _until_now(*of).rangeBetween(-round(seconds * _MICRO), 0)


def _before(seconds: float, *of: str) -> WindowSpec:
    """Return the window of everything that is at least `seconds` old."""
    return _until_now(*of).rangeBetween(Window.unboundedPreceding, -round(seconds * _MICRO))


def clients(quotas: DataFrame, at: DataFrame) -> DataFrame:
    """Return for every client `refused`, the share of late polls in which it had no tokens.

    `quotas`: rows of the table, each once. `at`: `POLL` and `at` of every poll.
    """
    refused = F.avg((F.col("tokens") < 0).cast("double")).over(_late(THRESHOLDS["throttled_over"], "user", "client_id"))
    known = quotas.where((F.col("kind") == KINDS["quotas"]) & F.col("tokens").isNotNull()).join(at, [*POLL])
    return known.select(
        *POLL,
        *(F.coalesce(name, F.lit("")).alias(name) for name in ("user", "client_id")),
        refused.alias("refused"),
    )


def remote_topics(configs: DataFrame, at: DataFrame) -> DataFrame:
    """Return `overdue_bytes`, `growing` and `stalled` of every topic that was ever copied to remote storage.

    They are null in a poll that does not know.
    """
    topics = configs.where("topic is not null").join(at, [*POLL])
    ever = F.count("overdue_bytes").over(Window.partitionBy("cluster_id", "topic")) > 0
    overdue = F.col("overdue_bytes")
    grew = [
        F.coalesce(overdue > growth * F.last(overdue, ignorenulls=True).over(_before(seconds, "topic")), no())
        for seconds, growth in COPY_GROWTH.items()
    ]
    growing = F.when(overdue.isNotNull(), reduce(or_, grew))
    return (
        topics.withColumns({"ever": ever, "growing": growing, "stalled": F.col("copy_stalled_seconds")})
        .where("ever")
        .select(*POLL, "topic", "overdue_bytes", "growing", "stalled")
    )


def failures(brokers: DataFrame, at: DataFrame) -> DataFrame:
    """Return `copies_failed` and `fetches_failed`, per second of late, of each broker that counts failures.

    They are null in a poll that does not know. Deletions count as copies.
    """
    values = {counter: F.col("beans.values")[counter] for counters in _ERRORS.values() for counter in counters}
    has = reduce(or_, (value.isNotNull() for value in values.values()))
    before = (
        Window.partitionBy("cluster_id", "run", "broker").orderBy("sequence").rowsBetween(Window.unboundedPreceding, -1)
    )
    rows = brokers.join(at, [*POLL]).withColumn("has", has)
    for name, counters in _ERRORS.items():
        count = F.when(has, reduce(add, (F.coalesce(values[counter], F.lit(0.0)) for counter in counters)))
        more = F.col(name) - F.last(name, ignorenulls=True).over(before)
        # A counter that decreased was reset.
        grown = F.when(more < 0, F.col(name)).otherwise(more)
        rows = rows.withColumn(name, count).withColumn(f"{name}_more", grown)
    errors_over = THRESHOLDS["errors_over"]
    late = {
        name: F.when(F.col("has"), F.sum(f"{name}_more").over(_late(errors_over, "broker")) / errors_over)
        for name in _ERRORS
    }
    ever = F.count_if("has").over(Window.partitionBy("cluster_id", "broker")) > 0
    return rows.withColumns({**late, "ever": ever}).where("ever").select(*POLL, "broker", *_ERRORS)


def lost_directories(brokers: DataFrame) -> DataFrame:
    """Return `online` of directories that were ever offline; null in polls without the broker's directories."""
    offline = brokers.select("cluster_id", "broker", F.explode("log_dirs").alias("dir")).where(~F.col("dir.online"))
    ever = offline.select("cluster_id", "broker", F.col("dir.path").alias("log_dir")).distinct()
    rows = brokers.join(F.broadcast(ever), ["cluster_id", "broker"])
    its = F.get(F.filter("log_dirs", lambda each: each["path"] == F.col("log_dir")), F.lit(0))["online"]
    # A directory that is missing from an answer no longer exists.
    online: Column = F.when(F.col("log_dirs").isNotNull(), F.coalesce(its, yes()))
    return rows.select(*POLL, "broker", "log_dir", online.alias("online"))
