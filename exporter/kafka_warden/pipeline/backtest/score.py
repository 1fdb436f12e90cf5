"""Alarms against what happened: true or false, and how good each rule is."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.formulas.alarms import precision, recall
from kafka_warden.pipeline.backtest.truth import expected, is_about
from kafka_warden.pipeline.ops import COLUMNS

_OF: Final = ("cluster_id", "trial")


def labelled(found: DataFrame, told: DataFrame, happened: DataFrame | None) -> DataFrame:
    """Add `true_alarm`: null where nothing is known of what happened, or of what the rule is about."""
    if happened is None:
        return found.withColumn("true_alarm", F.lit(None).cast("boolean"))
    kinds = told.select("trial", "tells_of")
    alarm = found.join(F.broadcast(kinds), "trial").withColumn("alarm", F.monotonically_increasing_id()).alias("alarm")
    fault = F.broadcast(happened).alias("fault")
    of_kind = (F.col("alarm.cluster_id") == F.col("fault.cluster_id")) & F.array_contains("tells_of", F.col("kind"))
    hits = F.count("fault.kind") > 0
    judged = F.col("would_fire") & (F.size("tells_of") > 0)
    kept = [F.first(f"alarm.{name}").alias(name) for name in found.columns]
    return (
        alarm.join(fault, of_kind & is_about("alarm", "fault"), "left")
        .groupBy("alarm.alarm")
        .agg(*kept, F.first("tells_of").alias("tells_of"), hits.alias("hits"))
        .withColumn("true_alarm", F.when(judged, F.col("hits")))
        .drop("alarm", "tells_of", "hits")
    )


def scores(marked: DataFrame, told: DataFrame, clusters: DataFrame, happened: DataFrame | None) -> DataFrame:
    """Make the mart `rules`: a row for every cluster and trial, with alarms or without. `clusters`: of `expected`."""
    counted = marked.groupBy(*_OF).agg(
        F.count_if("would_fire").alias("alarms"),
        F.count_if(~F.col("would_fire")).alias("short"),
        F.sum(F.when(F.col("would_fire"), F.col("seconds"))).alias("alarm_seconds"),
        F.count_if("true_alarm").alias("true_alarms"),
        F.count_if(~F.col("true_alarm")).alias("false_alarms"),
    )
    rows = clusters.select("cluster_id").crossJoin(F.broadcast(told)).join(counted, [*_OF], "left")
    rows = rows if happened is None else rows.join(_caught(marked, told, happened, clusters), [*_OF], "left")
    known = F.lit(happened is not None) & (F.size("tells_of") > 0)
    events = ("true_alarms", "false_alarms", "events", "caught")
    there = [name for name in events if name in rows.columns]
    none = F.lit(None).cast("bigint")
    rows = rows.withColumns(
        {name: F.when(known, _or_zero(name)) if name in there else none for name in events}
        | {name: _or_zero(name) for name in ("alarms", "short")}
        | {"alarm_seconds": F.coalesce("alarm_seconds", F.lit(0.0))}
    )
    return rows.withColumn("missed", F.col("events") - F.col("caught")).withColumns(_rates())


def _or_zero(name: str) -> Column:
    return F.coalesce(F.col(name), F.lit(0))


def _rates() -> dict[str, Column]:
    true, false, caught, missed = (
        F.col(name).cast("double") for name in ("true_alarms", "false_alarms", "caught", "missed")
    )
    return {"precision": precision(COLUMNS, true, false), "recall": recall(COLUMNS, caught, missed)}


def _caught(marked: DataFrame, told: DataFrame, happened: DataFrame, clusters: DataFrame) -> DataFrame:
    """Count what should have been told of, and what was."""
    fault = expected(happened, told, clusters).alias("fault")
    alarm = marked.where("would_fire").alias("alarm")
    same = (F.col("fault.cluster_id") == F.col("alarm.cluster_id")) & (F.col("fault.trial") == F.col("alarm.trial"))
    return (
        fault.join(alarm, same & is_about("alarm", "fault"), "left")
        .groupBy("fault.cluster_id", "fault.trial", "fault.fault")
        .agg((F.count("alarm.trial") > 0).alias("told"))
        .groupBy(*_OF)
        .agg(F.count("*").alias("events"), F.count_if("told").alias("caught"))
    )
