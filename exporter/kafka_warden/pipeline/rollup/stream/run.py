"""Runs the stream until it is stopped, or until all existing input is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.rollup.stream.batch import Batches
from kafka_warden.pipeline.session import set_shuffle_partitions
from kafka_warden.pipeline.storage import address

SPARK: Final = "spark"
"""Spark's folder of the checkpoint: the files and offsets of each batch."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """Options of a stream."""

    checkpoint: Path | str
    delay: float
    """Seconds for which an hour stays open after the newest row is past it."""
    every: float
    """Seconds between the starts of two batches; 0: without a pause."""
    until_done: bool
    """End when all existing input is read."""


def stream(
    spark: SparkSession,
    rows: DataFrame,
    output: Path | str,
    streaming: Streaming,
    progress: Progress,
    beginnings: Mapping[int, int] | None = None,
) -> None:
    """Roll up a stream of `rows.of_files` or `rows.of_messages` to the folder of marts.

    `beginnings`: of a topic, the first offset of each partition.

    Raises:
        KafkaWardenError: a batch failed.
        StreamingQueryException: Spark failed; the next start continues from here.
    """
    # Counts of a batch have few groups; the roll-up sets its own number.
    set_shuffle_partitions(spark, 0)
    checkpoint = address(streaming.checkpoint)
    batches = Batches(spark, checkpoint, address(output), streaming.delay, progress)
    if beginnings is not None:
        batches.begin(beginnings)
    writer = rows.writeStream.queryName("rollup").option("checkpointLocation", f"{checkpoint}/{SPARK}")
    writer = writer.foreachBatch(batches)
    if streaming.until_done:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{streaming.every:g} seconds")
    query = writer.start()
    try:
        query.awaitTermination()
    except StreamingQueryException as failure:
        if batches.failure is not None:
            raise batches.failure from failure
        raise
    finally:
        query.stop()
