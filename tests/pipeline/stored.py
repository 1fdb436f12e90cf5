"""Stores as jobs make them, and what is in them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.history.column import HistoryTable
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline import cli, ingest, rollup
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import MARTS, Mart
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import Store, of_mart, raw
from kafka_warden.pipeline.timeline import History, row_key
from tests.pipeline.arrivals import by_key, keyed
from tests.pipeline.written import read_table, write_store

ALWAYS: Final = ingest.Options({"raw": 100_000, "minutes": 100_000})
"""The scene is of 2023."""


def request(
    spark: SparkSession,
    store: Path,
    options: Any = None,
    landing: Path | str = "",
    start: float = 0.0,
    end: float = math.inf,
) -> Request[Any]:
    return Request(Store(spark, store), options, Progress(), landing, (start, end))


def options(job: Job[Any], *given: str) -> Any:
    """The options of a job with these flags."""
    parser = cli.parser([job.name])
    return job.read_flags(parser.parse_args([job.name, "--store", "store", *given]))


def stored(spark: SparkSession, place: Path, landing: Path) -> Path:
    """Write a store with the rows of a landing zone, without Spark and fast; return its place."""
    write_store(Store(spark, place), landing)
    return place


def history(spark: SparkSession, place: Path, landing: Path) -> History:
    """The history of a store with the rows of a landing zone."""
    return History(Store(spark, stored(spark, place, landing)))


def mart(spark: SparkSession, place: Path, described: Mart) -> DataFrame:
    return Store(spark, place).read(of_mart(described))


def take(spark: SparkSession, store: Path, landing: Path, options: ingest.Options = ALWAYS) -> None:
    ingest.run(request(spark, store, options, landing))


def roll_up(spark: SparkSession, store: Path, start: float = 0.0, end: float = math.inf) -> None:
    rollup.run(request(spark, store, start=start, end=end))


def rolled(spark: SparkSession, store: Path, landing: Path) -> dict[str, Any]:
    """The marts of a landing zone, by a store of its own."""
    roll_up(spark, stored(spark, store, landing))
    return marts(store)


def marts(store: Path) -> dict[str, Any]:
    """Rows of every mart of the roll-up by their keys."""
    return {each.name: by_key(each.name, read_table(store, of_mart(each)), each.key) for each in MARTS["rollup"]}


def rows(store: Path) -> dict[str, Any]:
    return {table.name: raw_rows(table, read_table(store, raw(table.name))) for table in TABLES}


def raw_rows(table: HistoryTable, listed: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows of a raw table by their keys, without what the store adds to them."""
    of_history = [{name: value for name, value in row.items() if name != "date"} for row in listed]
    return by_key(table.name, of_history, row_key(table.name))


def landed(landing: Path) -> dict[str, Any]:
    """Distinct rows of a landing zone by their keys, as pyarrow reads them."""
    found = {table.name: read(landing, table.name).to_pylist(maps_as_pydicts="strict") for table in TABLES}
    return {name: keyed(listed, row_key(name)) for name, listed in found.items()}


def of_cluster(evaluated: Sequence[Poll], cluster: str) -> list[Poll]:
    """The same polls of another cluster, whose runs have names of their own."""
    return [
        replace(poll, snapshot=replace(poll.snapshot, cluster_id=cluster), run=f"{poll.run}-of-{cluster}")
        for poll in evaluated
    ]
