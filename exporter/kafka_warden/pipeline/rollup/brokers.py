"""`broker_minute` and `broker_hour`: a broker's replicas, leaders and throttled traffic."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.columns import divide
from kafka_warden.pipeline.rollup.samples import POLL, Samples
from kafka_warden.pipeline.rollup.windows import Grain, by_window, last, mean_and_max, sum_or_null, with_whole

KEY: Final = ("cluster_id", "start", "broker")
SIDES: Final = ("leader", "follower")


def broker_polls(samples: Samples) -> DataFrame:
    """Join the rows of each broker in each poll."""
    own = samples["brokers"].select(
        *(*POLL, "broker", "gone", "replicas", "leaders", "counted", "lag_messages", "lag_bytes"),
        F.aggregate(F.map_values("out_of_sync"), F.lit(0).cast("bigint"), lambda a, b: a + b).alias("out_of_sync"),
        *(_rate(side).alias(f"{side}_rate") for side in SIDES),
        *(f"{side}_headroom" for side in SIDES),
    )
    limits = samples["configs"].select(
        *POLL,
        F.col("broker"),
        *(F.col("broker_config.limits")[side]["value"].alias(f"{side}_limit") for side in SIDES),
    )
    key = [*POLL, "broker"]
    led = inbound(samples["partitions"], samples["polls"])
    joined = own.join(limits, key, "left").join(led, key, "left")
    # A broker without leaders has no row in `led`.
    nothing = (F.col("leaders") == 0) & F.col("bytes_in").isNull()
    return joined.withColumn("bytes_in", F.when(nothing, F.lit(0.0)).otherwise(F.col("bytes_in")))


def windows(polls: DataFrame, grain: Grain) -> DataFrame:
    """Aggregate polls by broker and window."""
    maxima = ("lag_messages", "out_of_sync", "replicas", "leaders", "counted")
    return by_window(polls, grain, KEY).agg(
        F.count("*").alias("polls"),
        *mean_and_max("bytes_in"),
        *mean_and_max("lag_bytes"),
        *(column for side in SIDES for column in _side(side)),
        *(F.max(name).alias(f"{name}_max") for name in maxima),
    )


def inbound(partitions: DataFrame, polls: DataFrame) -> DataFrame:
    """Return `bytes_in` of each `broker`'s leaders in each poll; null if one rate or a row of the poll is missing."""
    counts = partitions.groupBy(*POLL, F.col("leader").alias("broker")).agg(
        F.count("*").alias("found"), sum_or_null(F.col("bytes_in")).alias("bytes_in")
    )
    checked = with_whole(counts, polls, "partitions")
    return checked.select(*POLL, "broker", F.when(F.col("whole"), F.col("bytes_in")).alias("bytes_in"))


def _rate(side: str) -> Column:
    """Return a side's throttled traffic: in sync, and of catch-up (docs/spec/throttles.md#headroom)."""
    no_flows = F.coalesce(F.col(f"{side}_load.flows"), F.lit(0)) == 0
    copied = F.coalesce(F.col(f"{side}_catch_up"), F.when(no_flows, F.lit(0.0)))
    return F.col(f"{side}_floor") + copied


def _side(side: str) -> list[Column]:
    rate, limit = F.col(f"{side}_rate"), F.col(f"{side}_limit")
    return [
        last(limit).alias(f"{side}_limit_last"),
        *mean_and_max(f"{side}_rate"),
        *mean_and_max(f"{side}_use", divide(rate, limit)),
        F.min(f"{side}_headroom").alias(f"{side}_headroom_min"),
    ]
