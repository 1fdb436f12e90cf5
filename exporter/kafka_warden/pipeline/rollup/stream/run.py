"""Runs the stream until it is stopped, or until there is nothing more to take."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.rollup.stream.batch import Batches
from kafka_warden.pipeline.session import spread
from kafka_warden.pipeline.storage import address

SPARK: Final = "spark"
"""Spark's own part of the checkpoint: which files and offsets each batch is of."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """How to run it."""

    checkpoint: Path | str
    """Folder of what is remembered."""
    delay: float
    """Seconds for which an hour stays open after the newest row is past it."""
    every: float
    """Seconds between the begins of two batches; 0 is one after the other."""
    until_done: bool
    """End when all that is there is taken."""


def stream(
    spark: SparkSession,
    rows: DataFrame,
    output: Path | str,
    streaming: Streaming,
    progress: Progress,
    beginnings: Mapping[int, int] | None = None,
) -> None:
    """Roll up what arrives.

    Args:
        spark: a session.
        rows: of `rows.of_files` or `rows.of_messages`.
        output: folder of marts.
        streaming: how.
        progress: told of each batch.
        beginnings: of a topic, the offset of the first message of each partition; none of files.

    Raises:
        KafkaWardenError: what a batch failed with.
        StreamingQueryException: Spark gave up; the next start goes on where this one was.
    """
    # What is counted of a batch has few groups; the roll-up itself says how many parts it wants.
    spread(spark, 0)
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
