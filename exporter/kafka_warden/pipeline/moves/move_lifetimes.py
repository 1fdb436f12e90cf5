"""Combines the samples of each move: from the first poll that lists it to the first that no longer does."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.tables.moves import LOG_DIR
from kafka_warden.pipeline.columns import divide, greatest, least
from kafka_warden.pipeline.moves.samples import MOVE, PARTITION, growth
from kafka_warden.pipeline.timeline import POLL

COMPLETED: Final = "completed"
CANCELLED: Final = "cancelled"
RUNNING: Final = "running"
UNKNOWN: Final = "unknown"
"""Values of `outcome`."""


def move_lifetimes(shown: DataFrame, hosts: DataFrame, placed: DataFrame) -> DataFrame:
    """Aggregate the samples of each move's lifetime to the columns of the mart `moves`, times as Unix s.

    `shown` and `hosts`: of `moves.samples`. `placed`: `POLL`, `broker` and `placed`, the log directory of each log.
    """
    summed = shown.groupBy(*MOVE, "life").agg(*_whole(), *_first_and_last(), *_stuck())
    summed = summed.withColumn("causes", _by_cause(F.col("pairs")))
    ended = _with_ends(summed, hosts, placed).withColumn("outcome", _outcome())
    done = F.col("outcome") == COMPLETED
    whole = relative_error(F.col("predicted_seconds"), F.col("seconds"))
    rest = relative_error(F.col("eta_first"), F.col("ended") - F.col("eta_first_at"))
    errors = {"prediction_error": F.when(done, whole), "eta_error": F.when(done, rest)}
    return ended.withColumns(_end_of_log()).withColumns(_times()).withColumns(errors)


def relative_error(predicted: Column, taken: Column) -> Column:
    """Return by which share a prediction was too long, negative when too short: predicted / taken - 1.

    `+inf` for never.
    """
    return divide(predicted, taken) - 1.0


def _whole() -> list[Column]:
    known = F.col("bytes_per_second").isNotNull() | (F.col("kind") == LOG_DIR)
    return [
        F.count("*").alias("polls"),
        F.count_distinct("run").alias("runs"),
        F.min("at").alias("began"),
        F.max("at").alias("last_seen"),
        F.sum("grown").alias("grown_sum"),
        F.max(F.when(known, F.col("rate"))).alias("rate_max"),
        F.avg("limit").alias("limit_mean"),
        F.avg("use").alias("use_mean"),
        F.sum("held").alias("held_sum"),
        # A move that did not advance since an earlier poll lost all the time between the last two.
        F.sum(least(F.col("stalled"), F.col("between"))).alias("stalled_sum"),
        F.count("stalled").alias("stalled_known"),
    ]


def _first(name: str) -> Column:
    """Return the first known value."""
    return F.min_by(name, F.when(F.col(name).isNotNull(), F.col("n")))


def _last(name: str) -> Column:
    return F.max_by(name, F.when(F.col(name).isNotNull(), F.col("n")))


def _first_and_last() -> list[Column]:
    return [
        F.min_by("previous_at", "n").alias("previous_at"),
        F.max_by("next_at", "n").alias("ended"),
        F.max_by("next_run", "n").alias("next_run"),
        F.max_by("next_sequence", "n").alias("next_sequence"),
        _last("leader").alias("leader"),
        _last("log_dir").alias("log_dir"),
        _last("size").alias("last_size"),
        _first("remaining_bytes").alias("bytes_at_start"),
        _first("predicted").alias("predicted_seconds"),
        _first("predicted_bottleneck").alias("predicted_bottleneck_seconds"),
        _first("eta").alias("eta_first"),
        F.min(F.when(F.col("eta").isNotNull(), F.col("at"))).alias("eta_first_at"),
    ]


def _stuck() -> list[Column]:
    stuck = F.col("stuck").isNotNull()
    pairs = F.collect_list(F.when(stuck, F.struct("stuck", "held")))
    return [
        F.coalesce(F.sum(F.when(stuck, F.col("held"))), F.lit(0.0)).alias("stuck_seconds"),
        F.coalesce(F.sum(F.when(F.col("never_ends"), F.col("held"))), F.lit(0.0)).alias("never_seconds"),
        pairs.alias("pairs"),
    ]


def _by_cause(pairs: Column) -> Column:
    """Add up the seconds of each cause."""

    def seconds(cause: Column) -> Column:
        mine = F.filter(pairs, lambda each: each["stuck"] == cause)
        total = F.aggregate(mine, F.lit(0.0), lambda so_far, each: so_far + each["held"])
        return F.struct(cause, total)

    causes = F.array_distinct(F.transform(pairs, lambda each: each["stuck"]))
    return F.map_from_entries(F.transform(F.array_sort(causes), seconds))


def _with_ends(summed: DataFrame, hosts: DataFrame, placed: DataFrame) -> DataFrame:
    """Join the partition's replicas and the broker's directories in the first poll without the move."""
    after = [F.col(name).alias(f"next_{name}" if name in POLL[1:] else name) for name in PARTITION]
    at_end = hosts.select(*after, "hosts")
    directories = placed.select(
        "cluster_id", F.col("run").alias("next_run"), F.col("sequence").alias("next_sequence"), "broker", "placed"
    )
    of_partition = ["cluster_id", "next_run", "next_sequence", *PARTITION[3:]]
    return summed.join(at_end, of_partition, "left").join(
        directories, ["cluster_id", "next_run", "next_sequence", "broker"], "left"
    )


def _outcome() -> Column:
    target = F.col("hosts")[F.col("broker")]
    # A replica that is still marked as adding, but is in sync, has completed: it may even lead.
    reassigned = (
        F.when(F.col("hosts").isNull(), UNKNOWN)
        .when(target.isNull(), CANCELLED)
        .when(~target["adding"] | target["in_isr"], COMPLETED)
        .otherwise(UNKNOWN)
    )
    log = F.filter("placed", lambda each: (each["topic"] == F.col("topic")) & (each["partition"] == F.col("partition")))
    lies_in = F.get(log, F.lit(0))["log_dir"]
    between = (
        F.when(F.col("placed").isNull() | lies_in.isNull(), UNKNOWN)
        .when(lies_in == F.col("log_dir"), COMPLETED)
        .otherwise(CANCELLED)
    )
    return F.when(F.col("ended").isNull(), RUNNING).when(F.col("kind") == LOG_DIR, between).otherwise(reassigned)


def _end_of_log() -> dict[str, Column]:
    """Add the bytes that were copied after the last poll with the move."""
    size = F.col("hosts")[F.col("broker")]["size"]
    added = growth(size, F.col("last_size"))
    has_end = (F.col("outcome") == COMPLETED) & (F.col("kind") != LOG_DIR)
    whole = F.coalesce("grown_sum", F.lit(0.0)) + added
    return {"bytes_copied": F.when(has_end, whole).otherwise(F.col("grown_sum"))}


def _times() -> dict[str, Column]:
    seconds = F.coalesce("ended", "last_seen") - F.col("began")
    at_end = F.when(F.col("ended").isNotNull(), F.col("ended") - F.col("last_seen")).otherwise(F.lit(0.0))
    return {
        "seconds": seconds,
        "uncertain_seconds": F.col("began") - F.col("previous_at") + at_end,
        "unseen_seconds": greatest(seconds - F.col("held_sum"), F.lit(0.0)),
        "rate_mean": divide(F.col("bytes_copied"), seconds),
        "stalled_seconds": F.when(F.col("stalled_known") > 0, F.coalesce("stalled_sum", F.lit(0.0))),
    }
