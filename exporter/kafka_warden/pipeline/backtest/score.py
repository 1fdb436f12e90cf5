"""Compares alarms with known faults: whether each is true, and the precision and recall of each rule."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.backtest.truth import expected, is_about
from kafka_warden.pipeline.timeline import divide

_OF: Final = ("cluster_id", "trial")


def labelled(found: DataFrame, trials: DataFrame, happened: DataFrame | None) -> DataFrame:
    """Add `true_alarm`: null where no faults are known, or none that the rule detects."""
    if happened is None:
        return found.withColumn("true_alarm", F.lit(None).cast("boolean"))
    kinds = trials.select("trial", "detects")
    alarm = found.join(F.broadcast(kinds), "trial").withColumn("alarm", F.monotonically_increasing_id()).alias("alarm")
    fault = F.broadcast(happened).alias("fault")
    of_kind = (F.col("alarm.cluster_id") == F.col("fault.cluster_id")) & F.array_contains("detects", F.col("kind"))
    hits = F.count("fault.kind") > 0
    comparable = F.col("would_fire") & (F.size("detects") > 0)
    columns = [F.first(f"alarm.{name}").alias(name) for name in found.columns]
    return (
        alarm.join(fault, of_kind & is_about("alarm", "fault"), "left")
        .groupBy("alarm.alarm")
        .agg(*columns, F.first("detects").alias("detects"), hits.alias("hits"))
        .withColumn("true_alarm", F.when(comparable, F.col("hits")))
        .drop("alarm", "detects", "hits")
    )


def scores(marked: DataFrame, trials: DataFrame, clusters: DataFrame, happened: DataFrame | None) -> DataFrame:
    """Return the mart `rules`: one row per cluster and trial. `clusters`: as in `expected`."""
    counted = marked.groupBy(*_OF).agg(
        F.count_if("would_fire").alias("alarms"),
        F.count_if(~F.col("would_fire")).alias("short"),
        F.sum(F.when(F.col("would_fire"), F.col("seconds"))).alias("alarm_seconds"),
        F.count_if("true_alarm").alias("true_alarms"),
        F.count_if(~F.col("true_alarm")).alias("false_alarms"),
    )
    rows = clusters.select("cluster_id").distinct().crossJoin(F.broadcast(trials)).join(counted, [*_OF], "left")
    rows = rows if happened is None else rows.join(_caught(marked, trials, happened, clusters), [*_OF], "left")
    known = F.lit(happened is not None) & (F.size("detects") > 0)
    if "delay_seconds" not in rows.columns:
        rows = rows.withColumn("delay_seconds", F.lit(None).cast("double"))
    events = ("true_alarms", "false_alarms", "events", "caught")
    there = [name for name in events if name in rows.columns]
    none = F.lit(None).cast("bigint")
    rows = rows.withColumns(
        {name: F.when(known, _or_zero(name)) if name in there else none for name in events}
        | {name: _or_zero(name) for name in ("alarms", "short")}
        | {"alarm_seconds": F.coalesce("alarm_seconds", F.lit(0.0))}
    )
    true, false, caught, missed = (
        F.col(name).cast("double") for name in ("true_alarms", "false_alarms", "caught", "missed")
    )
    return rows.withColumn("missed", F.col("events") - F.col("caught")).withColumns(
        {"precision": divide(true, true + false), "recall": divide(caught, caught + missed)}
    )


def _or_zero(name: str) -> Column:
    return F.coalesce(F.col(name), F.lit(0))


def _caught(marked: DataFrame, trials: DataFrame, happened: DataFrame, clusters: DataFrame) -> DataFrame:
    """Count the faults that each rule should detect, and those that it did, and how soon."""
    # A rule that fires already when a fault begins has no delay.
    delay = F.greatest(F.min("alarm.fired") - F.first("fault.began"), F.lit(0.0))
    fault = expected(happened, trials, clusters).alias("fault")
    alarm = marked.where("would_fire").alias("alarm")
    same = (F.col("fault.cluster_id") == F.col("alarm.cluster_id")) & (F.col("fault.trial") == F.col("alarm.trial"))
    return (
        fault.join(alarm, same & is_about("alarm", "fault"), "left")
        .groupBy("fault.cluster_id", "fault.trial", "fault.fault")
        .agg((F.count("alarm.trial") > 0).alias("caught"), F.when(F.count("alarm.trial") > 0, delay).alias("delay"))
        .groupBy(*_OF)
        .agg(
            F.count("*").alias("events"),
            F.count_if("caught").alias("caught"),
            F.median("delay").alias("delay_seconds"),
        )
    )
