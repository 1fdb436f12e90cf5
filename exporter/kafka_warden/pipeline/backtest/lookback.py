"""Inputs of rules that look back: a minimum, a slope, recent failures, log directories that went offline.

Each frame has one row per subject and poll, with the columns that `backtest.signals` uses. The windows are those of
`alerts/thresholds.yml`, in the steady time of polls.
"""

from functools import reduce
from operator import add
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

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
    """Return the window of the last `seconds`, the current row included."""
    order = (F.col("at") * _MICRO).cast("bigint")
    return Window.partitionBy("cluster_id", *of).orderBy(order).rangeBetween(-round(seconds * _MICRO), 0)


def clients(quotas: DataFrame, at: DataFrame) -> DataFrame:
    """Return every client's `tokens` (minimum), `left` (share of the burst, minimum) and `used` (share of its quota).

    `quotas`: rows of the table, each once. `at`: `POLL` and `at` of every poll.
    """
    of_client = _late(TOKENS_OVER, "user", "client_id")
    known = quotas.where((F.col("kind") == KINDS["quotas"]) & F.col("tokens").isNotNull()).join(at, [*POLL])
    # Unlimited buckets and quotas are never short.
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
    """Return `overdue_bytes`, `growing` and `stalled` of every topic that was ever copied to remote storage.

    They are null in a poll that does not know.
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
    """Return `failed`, recent failures of remote storage per broker that counts them; null while unknown."""
    counted = reduce(add, (F.coalesce(F.col("beans.values")[name], F.lit(0.0)) for name in _ERRORS))
    has = reduce(lambda one, other: one | other, (F.col("beans.values")[name].isNotNull() for name in _ERRORS))
    rows = brokers.join(at, [*POLL]).withColumn("count", F.when(has, counted))
    before = (
        Window.partitionBy("cluster_id", "run", "broker").orderBy("sequence").rowsBetween(Window.unboundedPreceding, -1)
    )
    more = F.col("count") - F.last("count", ignorenulls=True).over(before)
    # A counter that decreased was reset.
    grown = F.when(more < 0, F.col("count")).otherwise(more)
    ever = F.count("count").over(Window.partitionBy("cluster_id", "broker")) > 0
    late = F.sum("grown").over(_late(ERRORS_OVER, "broker"))
    return (
        rows.withColumns({"grown": grown, "ever": ever})
        .withColumn("failed", F.when(F.col("count").isNotNull(), late))
        .where("ever")
        .select(*POLL, "broker", "failed")
    )


def lost_directories(brokers: DataFrame) -> DataFrame:
    """Return `online` of directories that were ever offline; null in polls without the broker's directories."""
    offline = brokers.select("cluster_id", "broker", F.explode("log_dirs").alias("dir")).where(~F.col("dir.online"))
    ever = offline.select("cluster_id", "broker", F.col("dir.path").alias("log_dir")).distinct()
    rows = brokers.join(F.broadcast(ever), ["cluster_id", "broker"])
    its = F.get(F.filter("log_dirs", lambda each: each["path"] == F.col("log_dir")), F.lit(0))["online"]
    # A directory that is missing from an answer no longer exists.
    online: Column = F.when(F.col("log_dirs").isNotNull(), F.coalesce(its, yes()))
    return rows.select(*POLL, "broker", "log_dir", online.alias("online"))
