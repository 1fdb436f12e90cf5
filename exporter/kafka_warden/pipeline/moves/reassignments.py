"""Combines moves to reassignments: those of a cluster that overlap in time."""

from datetime import UTC, datetime
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.tables.moves import REASSIGNMENT
from kafka_warden.pipeline.columns import no
from kafka_warden.pipeline.moves.move_lifetimes import CANCELLED, COMPLETED

_KEY: Final = ("cluster_id", "reassignment")
_LATER: Final = datetime(9999, 1, 1, tzinfo=UTC)
RECEIVES: Final = "follower"
_SIDES: Final = (("broker", RECEIVES), ("leader", "leader"))
"""Column of a broker's id to its side of the throttle."""


def reassignments(moves: DataFrame) -> DataFrame:
    """Aggregate rows of the mart `moves` to those of the mart `reassignments`."""
    numbered = _numbered(moves.where(F.col("kind") == REASSIGNMENT))
    return numbered.groupBy(*_KEY).agg(*_whole()).join(_bottlenecks(numbered), [*_KEY])


def _numbered(moves: DataFrame) -> DataFrame:
    """Number the reassignments of each cluster: one begins where no earlier move goes on."""
    in_order = Window.partitionBy("cluster_id").orderBy("began", "topic", "topic_id", "partition", "broker")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    # A move that runs overlaps with all that begins later, also where a poll did not list it.
    over = F.coalesce("ended", F.lit(_LATER))
    goes_on = F.coalesce(F.max(over).over(earlier) >= F.col("began"), no())
    return (
        moves.withColumn("until", F.coalesce("ended", "last_seen"))
        .withColumn("begins", F.when(goes_on, 0).otherwise(1))
        .withColumn("reassignment", F.sum("begins").over(in_order))
    )


def _whole() -> list[Column]:
    every = F.count("*")
    planned = F.col("predicted_bottleneck_seconds")
    first = F.struct("began", "topic", "topic_id", "partition", "broker")
    return [
        F.min("began").alias("began"),
        F.when(F.count("ended") == every, F.max("ended")).alias("ended"),
        F.max("last_seen").alias("last_seen"),
        ((F.unix_micros(F.max("until")) - F.unix_micros(F.min("began"))) / 1e6).alias("seconds"),
        F.min_by(planned, F.when(planned.isNotNull(), first)).alias("planned_seconds"),
        every.alias("replicas"),
        F.count_if(F.col("outcome") == COMPLETED).alias("completed"),
        F.count_if(F.col("outcome") == CANCELLED).alias("cancelled"),
        F.count_distinct("began").alias("waves"),
        F.when(F.count("bytes_copied") == every, F.sum("bytes_copied")).alias("bytes_copied"),
        F.sum("stuck_seconds").alias("stuck_seconds"),
    ]


def _bottlenecks(numbered: DataFrame) -> DataFrame:
    """Find the side of a broker that was busy last; of several the one with most bytes."""
    sides = F.array(*(F.struct(F.col(of).alias("broker"), F.lit(side).alias("side")) for of, side in _SIDES))
    busy = (
        numbered.select(*_KEY, "until", "bytes_copied", F.explode(sides).alias("at"))
        .where("at.broker IS NOT NULL")
        .groupBy(*_KEY, "at")
        .agg(F.max("until").alias("until"), F.sum("bytes_copied").alias("bytes"))
    )
    last = F.max_by(
        "at", F.struct("until", F.coalesce("bytes", F.lit(-1.0)), F.col("at.side") == RECEIVES, -F.col("at.broker"))
    )
    return (
        busy.groupBy(*_KEY)
        .agg(last.alias("at"))
        .select(*_KEY, F.col("at.broker").alias("bottleneck_broker"), F.col("at.side").alias("bottleneck_side"))
    )
