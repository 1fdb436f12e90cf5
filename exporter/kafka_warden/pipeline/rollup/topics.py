"""`topic_minute` and `topic_hour`: sums over partitions in each poll, then over the polls of a window."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.rollup.samples import POLL, Samples
from kafka_warden.pipeline.rollup.windows import Grain, by_window, last, mean_and_max, sum_or_null, with_whole

TOPIC: Final = ("topic", "topic_id")
"""A topic that was deleted and created again has another id."""
KEY: Final = ("cluster_id", "start", *TOPIC)
_KNOWN: Final = {"under_replicated": "under_replicated_known", "under_min_isr": "min_isr_known"}
"""Count to the column of `polls` that is true in polls that know it."""


def partition_polls(samples: Samples) -> DataFrame:
    """Sum over a topic's partitions in each poll; null if rows of the poll are missing, or it does not know."""
    counts = (
        samples["partitions"]
        .groupBy(*POLL, *TOPIC)
        .agg(
            F.count("*").alias("found"),
            F.count("*").alias("partitions"),
            sum_or_null(F.col("bytes_in")).alias("bytes_in"),
            F.count_if("under_replicated").alias("under_replicated"),
            F.count_if("under_min_isr").alias("under_min_isr"),
            F.count_if("offline").alias("offline"),
        )
    )
    return _complete(counts, samples["polls"], "partitions")


def replica_polls(samples: Samples) -> DataFrame:
    """Sum over a topic's replicas in each poll; null if rows of the poll are missing."""
    # A replica that does not follow leads, or is the only one of its partition.
    leads, follows = ~F.col("following"), F.col("following")
    all_lead = F.count_if(leads) == F.count_if(F.col("position") == 0)
    counts = (
        samples["replicas"]
        .groupBy(*POLL, *TOPIC)
        .agg(
            F.count("*").alias("found"),
            F.count("*").alias("replicas"),
            F.when(all_lead, sum_or_null(F.col("size").cast("double"), leads)).alias("bytes_stored"),
            sum_or_null(F.col("lag_bytes"), follows).alias("lag_bytes"),
        )
    )
    return _complete(counts, samples["polls"], "replicas")


def windows(partitions: DataFrame, replicas: DataFrame, grain: Grain) -> DataFrame:
    """Aggregate polls by topic and window."""
    maxima = ("partitions", "under_replicated", "under_min_isr", "offline")
    of_partitions = by_window(partitions, grain, KEY).agg(
        *mean_and_max("bytes_in"), *(F.max(name).alias(f"{name}_max") for name in maxima)
    )
    of_replicas = by_window(replicas, grain, KEY).agg(
        F.max("replicas").alias("replicas_max"),
        last(F.col("bytes_stored")).alias("bytes_stored_last"),
        F.max("lag_bytes").alias("lag_bytes_max"),
    )
    return of_partitions.join(of_replicas, list(KEY), "full")


def _complete(counts: DataFrame, polls: DataFrame, table: str) -> DataFrame:
    names = [name for name in counts.columns if name not in (*POLL, *TOPIC, "found")]
    known = {name: flag for name, flag in _KNOWN.items() if name in names}
    checked = with_whole(counts, polls, table, *known.values())
    values = {name: F.when(F.col(known[name]), F.col(name)) if name in known else F.col(name) for name in names}
    columns = [F.when(F.col("whole"), value).alias(name) for name, value in values.items()]
    return checked.select(*POLL, *TOPIC, *columns)
