"""`cluster_minute` and `cluster_hour`: one row per cluster and window."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.columns import no
from kafka_warden.pipeline.rollup.samples import POLL, Samples
from kafka_warden.pipeline.rollup.windows import Grain, by_window, last, mean_and_max, sum_or_null

KEY: Final = ("cluster_id", "start")


def cluster_polls(samples: Samples, partitions: DataFrame) -> DataFrame:
    """Join the rows of each cluster in each poll. `partitions`: of `topics.partition_polls`."""
    own = samples["polls"].select(
        *POLL,
        F.col("partitions").alias("counted"),
        F.col("rows")["partitions"].alias("partitions"),
        F.col("rows")["replicas"].alias("replicas"),
        "under_replicated_known",
        F.col("parameters.max_partitions").alias("partitions_limit"),
        F.col("parameters.max_broker_partitions").alias("broker_limit"),
        F.col("parameters.network_bytes_per_second").alias("network"),
    )
    listed = ~F.coalesce(F.col("gone"), no())
    brokers = samples["brokers"].groupBy(*POLL).agg(F.count_if(listed).alias("brokers"))
    sums = partitions.groupBy(*POLL).agg(
        sum_or_null(F.col("bytes_in")).alias("bytes_in"),
        sum_or_null(F.col("under_replicated")).cast("bigint").alias("under_replicated"),
    )
    tokens = samples["quotas"].groupBy(*POLL).agg(F.min("tokens").alias("mutation_tokens"))
    joined = own
    for each in (brokers, sums, tokens):
        joined = joined.join(each, list(POLL), "left")
    known = F.when(F.col("under_replicated_known"), F.col("under_replicated"))
    return joined.withColumn("under_replicated", known)


def windows(polls: DataFrame, grain: Grain) -> DataFrame:
    """Aggregate polls by cluster and window."""
    maxima = ("brokers", "partitions", "replicas", "counted", "under_replicated")
    return by_window(polls, grain, KEY).agg(
        F.count("*").alias("polls"),
        *(F.max(name).alias(f"{name}_max") for name in maxima),
        *mean_and_max("bytes_in"),
        F.min("mutation_tokens").alias("mutation_tokens_min"),
        *(last(F.col(name)).alias(f"{name}_last") for name in ("partitions_limit", "broker_limit", "network")),
    )
