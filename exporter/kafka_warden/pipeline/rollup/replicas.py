"""`replica_minute` and `replica_hour`. Nothing is summed over replicas, so missing rows do no harm."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.derive.replica_state import STATES
from kafka_warden.pipeline.rollup.windows import Grain, by_window, mean_and_max

KEY: Final = ("cluster_id", "start", "topic", "topic_id", "partition", "broker")
_MAXIMA: Final = ("lag_messages_max", "lag_bytes_max", "lag_seconds_max", "behind_seconds_max")
_COUNTS: Final = ("samples", "known_samples", "late_samples", "out_of_sync_samples")


def minutes(replicas: DataFrame) -> DataFrame:
    """Aggregate samples by replica and minute."""
    is_out = F.col("following") & ~F.col("in_isr")
    counted = by_window(replicas, Grain.MINUTE, KEY).agg(
        F.count("*").alias("samples"),
        F.count("lag_bytes").alias("known_samples"),
        F.max("lag_messages").alias("lag_messages_max"),
        *mean_and_max("lag_bytes"),
        F.max("lag_seconds").alias("lag_seconds_max"),
        F.max("behind_seconds").alias("behind_seconds_max"),
        F.count_if("late").alias("late_samples"),
        F.count_if(is_out).alias("out_of_sync_samples"),
        *(F.count_if(F.col("state") == state).alias(_column(state)) for state in STATES),
    )
    return _with_states(counted)


def hours(minutes: DataFrame) -> DataFrame:
    """Aggregate minutes to hours: at most a sixth of the samples' rows with a poll every 10 s."""
    hour = F.timestamp_seconds(F.floor(F.unix_seconds("start") / Grain.HOUR.seconds) * Grain.HOUR.seconds)
    known = F.col("known_samples")
    total = F.sum(F.when(known > 0, F.col("lag_bytes_mean") * known))
    counted = (
        minutes.withColumn("start", hour)
        .groupBy(*KEY)
        .agg(
            *(F.sum(name).alias(name) for name in _COUNTS),
            *(F.max(name).alias(name) for name in _MAXIMA),
            F.try_divide(total, F.sum(known)).alias("lag_bytes_mean"),
            *(F.coalesce(F.sum(F.col("states")[state]), F.lit(0)).alias(_column(state)) for state in STATES),
        )
    )
    return _with_states(counted)


def _column(state: str) -> str:
    return f"_state_{state}"


def _with_states(counted: DataFrame) -> DataFrame:
    """Combine the counts by state into one map. Until then they are columns, which Spark aggregates in place."""
    counts = {str(state): F.col(_column(state)) for state in STATES}
    pairs = [part for state, count in counts.items() for part in (F.lit(state), count)]
    several = F.map_filter(F.create_map(*pairs), lambda _, count: count > 0)
    # Most replicas are in one state for the whole window, and Spark does not compile `map_filter`.
    only = (F.when(count == F.col("samples"), F.create_map(F.lit(state), count)) for state, count in counts.items())
    return counted.withColumn("states", F.coalesce(*only, several)).drop(*map(_column, STATES))
