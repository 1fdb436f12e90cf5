"""Stores as jobs make them, and what is in them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline.history import History, row_key
from kafka_warden.pipeline.job import Request
from kafka_warden.pipeline.jobs import ingest, rollup
from kafka_warden.pipeline.marts.rollup import MARTS
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import Store, of_mart, raw
from kafka_warden.pipeline.stored_history import StoredHistory
from tests.history.replay import polls
from tests.pipeline.arrivals import by_key

ALWAYS: Final = ingest.Options(keep_raw=100_000, keep_minutes=100_000)
"""The scene is of 2023."""


def request(
    spark: SparkSession, store: Path, landing: Path, options: Any, start: float = 0.0, end: float = math.inf
) -> Request[Any]:
    """A run of a job on a store."""
    made = Store(spark, store)
    history = StoredHistory(made, start, end)
    return Request(spark, history, landing, store, options, Progress(spark.sparkContext), made)


def take(spark: SparkSession, store: Path, landing: Path, options: ingest.Options = ALWAYS) -> None:
    """Ingest a landing zone."""
    ingest.run(request(spark, store, landing, options))


def roll_up(spark: SparkSession, store: Path, start: float = 0.0, end: float = math.inf) -> None:
    """Roll up what is new, or a span."""
    rollup.run(request(spark, store, Path(), None, start, end))


def marts(spark: SparkSession, store: Path) -> dict[str, Any]:
    """Rows of every mart of the roll-up by their keys."""
    made = Store(spark, store)
    return {mart.name: by_key(mart.name, made.read(of_mart(mart)), mart.key) for mart in MARTS}


def rows(spark: SparkSession, store: Path) -> dict[str, Any]:
    """Rows of every raw table by their keys."""
    made = Store(spark, store)
    frames = {table.name: made.read(raw(table.name)).drop("date", "batch") for table in TABLES}
    return {name: by_key(name, frame, row_key(name)) for name, frame in frames.items()}


def landed(spark: SparkSession, landing: Path) -> dict[str, Any]:
    """Distinct rows of a landing zone by their keys."""
    history = History(spark, landing)
    return {table.name: by_key(table.name, history.table(table.name), row_key(table.name)) for table in TABLES}


def of_cluster(evaluated: Sequence[Poll], cluster: str) -> list[Poll]:
    """The same polls of another cluster."""
    seen = [replace(poll.snapshot, cluster_id=cluster) for poll in evaluated]
    return polls(seen, run=f"run-of-{cluster}")
