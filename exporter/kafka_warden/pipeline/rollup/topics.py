"""`topic_minute` and `topic_hour`: sums over partitions in each poll, then over the polls of a window."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.pipeline.rollup.samples import POLL, Samples
from kafka_warden.pipeline.rollup.windows import Grain, last, mean_and_max, only_if, start_of, whole_sum, with_whole

KEY: Final = ("cluster_id", "start", "topic")
_KNOWN: Final = {"under_replicated": "under_replicated_known", "under_min_isr": "min_isr_known"}
"""Which polls can tell, of the counts of which not all can."""


def partition_polls(samples: Samples) -> DataFrame:
    """Sum up over the partitions of a topic, in each poll; null where rows of it are missing, or it cannot tell."""
    counts = (
        samples["partitions"]
        .groupBy(*POLL, "topic")
        .agg(
            F.count("*").alias("found"),
            F.count("*").alias("partitions"),
            whole_sum(F.col("bytes_in")).alias("bytes_in"),
            F.count_if("under_replicated").alias("under_replicated"),
            F.count_if("under_min_isr").alias("under_min_isr"),
            F.count_if("offline").alias("offline"),
        )
    )
    return _withheld(counts, samples["polls"], "partitions")


def replica_polls(samples: Samples) -> DataFrame:
    """Sum up over the replicas of a topic, in each poll; null where rows of the poll are missing."""
    # What follows nobody leads, or is the only replica of its partition.
    leads, follows = ~F.col("following"), F.col("following")
    all_lead = F.count_if(leads) == F.count_if(F.col("position") == 0)
    counts = (
        samples["replicas"]
        .groupBy(*POLL, "topic")
        .agg(
            F.count("*").alias("found"),
            F.count("*").alias("replicas"),
            only_if(all_lead, whole_sum(F.col("size").cast("double"), leads)).alias("bytes_stored"),
            whole_sum(F.col("lag_bytes"), follows).alias("lag_bytes"),
        )
    )
    return _withheld(counts, samples["polls"], "replicas")


def windows(partitions: DataFrame, replicas: DataFrame, grain: Grain) -> DataFrame:
    """Make the windows of topics."""
    of_partitions = (
        partitions.withColumn("start", start_of(grain))
        .groupBy(*KEY)
        .agg(
            F.max("partitions").alias("partitions_max"),
            *mean_and_max("bytes_in"),
            F.max("under_replicated").alias("under_replicated_max"),
            F.max("under_min_isr").alias("under_min_isr_max"),
            F.max("offline").alias("offline_max"),
        )
    )
    of_replicas = (
        replicas.withColumn("start", start_of(grain))
        .groupBy(*KEY)
        .agg(
            F.max("replicas").alias("replicas_max"),
            last(F.col("bytes_stored")).alias("bytes_stored_last"),
            F.max("lag_bytes").alias("lag_bytes_max"),
        )
    )
    return of_partitions.join(of_replicas, list(KEY), "full")


def _withheld(counts: DataFrame, polls: DataFrame, table: str) -> DataFrame:
    names = [name for name in counts.columns if name not in (*POLL, "topic", "found")]
    known = {name: flag for name, flag in _KNOWN.items() if name in names}
    told = with_whole(counts, polls, table, *known.values())
    values = {name: only_if(F.col(known[name]), F.col(name)) if name in known else F.col(name) for name in names}
    return told.select(*POLL, "topic", *(only_if(F.col("whole"), value).alias(name) for name, value in values.items()))
