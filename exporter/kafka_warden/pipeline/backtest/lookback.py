"""What rules look back for: the least of some minutes, a slope, failures of late, directories that were lost.

Each frame has a row for what a poll tells of one thing, with the columns that the conditions of `backtest.signals` ask
for. Seconds that are looked back over are those of `alerts/thresholds.yml`, by the steady time of polls.
"""

from functools import reduce
from operator import add
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.formulas.samples import share
from kafka_warden.pipeline.ops import COLUMNS, yes
from kafka_warden.pipeline.rollup.samples import KINDS
from kafka_warden.pipeline.timeline import POLL

TOKENS_OVER: Final = 300.0
"""Seconds: `tokens_over`."""
QUOTA_NEAR: Final = 0.9
"""Of a quota: `quota_near`."""
COPY_STALLED: Final = 900.0
"""Seconds: `copy_stalled`."""
COPY_TREND: Final = 1800.0
"""Seconds: `copy_trend`."""
ERRORS_OVER: Final = 300.0
"""Seconds: `errors_over`."""

_ERRORS: Final = ("remote_copy_errors_total", "remote_fetch_errors_total", "remote_delete_errors_total")
_MICRO: Final = 1e6


def _late(seconds: float, *of: str) -> WindowSpec:
    """Rows of one thing in the seconds before, and now."""
    order = (F.col("at") * _MICRO).cast("bigint")
    return Window.partitionBy("cluster_id", *of).orderBy(order).rangeBetween(-round(seconds * _MICRO), 0)


def clients(quotas: DataFrame, at: DataFrame) -> DataFrame:
    """Tokens of every client of the controller: `tokens`, the least of late; `left`, of a burst; `used`, of its quota.

    Args:
        quotas: rows of the table, each once.
        at: `POLL` and `at` of every poll.
    """
    of_client = _late(TOKENS_OVER, "user", "client_id")
    known = quotas.where((F.col("kind") == KINDS["quotas"]) & F.col("tokens").isNotNull()).join(at, [*POLL])
    # A bucket without end is never short; neither is a quota.
    left = F.when(F.col("burst") < float("inf"), COLUMNS.divide(F.col("tokens"), F.col("burst")))
    used = share(COLUMNS, F.col("mutation_rate"), F.col("quota"))
    return known.select(
        *POLL,
        *(F.coalesce(name, F.lit("")).alias(name) for name in ("user", "client_id")),
        F.min("tokens").over(of_client).alias("tokens"),
        F.min(left).over(of_client).alias("left"),
        F.avg(used).over(of_client).alias("used"),
    )


def remote_topics(configs: DataFrame, at: DataFrame) -> DataFrame:
    """What is overdue of every topic that was ever copied to remote storage: `overdue_bytes`, `growing`, `stalled`.

    Null in a poll that cannot tell.
    """
    topics = configs.where("topic is not null").join(at, [*POLL])
    ever = F.count("overdue_bytes").over(Window.partitionBy("cluster_id", "topic")) > 0
    together = F.covar_pop("at", "overdue_bytes").over(_late(COPY_TREND, "topic"))
    return (
        topics.withColumns({"ever": ever, "growing": together > 0, "stalled": F.col("copy_stalled_seconds")})
        .where("ever")
        .select(*POLL, "topic", "overdue_bytes", "growing", "stalled")
    )


def failures(brokers: DataFrame, at: DataFrame) -> DataFrame:
    """Requests to remote storage that failed of late, of brokers that count them: `failed`, null while unknown."""
    counted = reduce(add, (F.coalesce(F.col("beans.values")[name], F.lit(0.0)) for name in _ERRORS))
    has = reduce(lambda one, other: one | other, (F.col("beans.values")[name].isNotNull() for name in _ERRORS))
    told = brokers.join(at, [*POLL]).withColumn("count", F.when(has, counted))
    remembered = (
        Window.partitionBy("cluster_id", "run", "broker").orderBy("sequence").rowsBetween(Window.unboundedPreceding, -1)
    )
    more = F.col("count") - F.last("count", ignorenulls=True).over(remembered)
    # A counter that is less than before began anew.
    grown = F.when(more < 0, F.col("count")).otherwise(more)
    ever = F.count("count").over(Window.partitionBy("cluster_id", "broker")) > 0
    late = F.sum("grown").over(_late(ERRORS_OVER, "broker"))
    return (
        told.withColumns({"grown": grown, "ever": ever})
        .withColumn("failed", F.when(F.col("count").isNotNull(), late))
        .where("ever")
        .select(*POLL, "broker", "failed")
    )


def lost_directories(brokers: DataFrame) -> DataFrame:
    """Directories that a broker ever gave up: `online`, null in polls in which it tells of none."""
    told = brokers.select("cluster_id", "broker", F.explode("log_dirs").alias("dir")).where(~F.col("dir.online"))
    ever = told.select("cluster_id", "broker", F.col("dir.path").alias("log_dir")).distinct()
    rows = brokers.join(F.broadcast(ever), ["cluster_id", "broker"])
    its = F.get(F.filter("log_dirs", lambda each: each["path"] == F.col("log_dir")), F.lit(0))["online"]
    # One that an answer leaves out is no longer there.
    online: Column = F.when(F.col("log_dirs").isNotNull(), F.coalesce(its, yes()))
    return rows.select(*POLL, "broker", "log_dir", online.alias("online"))
