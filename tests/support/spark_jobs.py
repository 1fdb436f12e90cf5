"""Runs of the pipeline's jobs, without a command."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Request
from kafka_warden.pipeline.progress import Progress


def request(spark: SparkSession, folder: Path, output: Path, options: Any = None) -> Request[Any]:
    """A run of a job on the history of a folder."""
    return Request(spark, History(spark, folder), folder, output, options, Progress(spark.sparkContext))
