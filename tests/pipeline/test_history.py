"""History as jobs read it from a store: every row once, with null for unknown."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_warden.history.parquet.arrow import schema_of
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, TABLES
from kafka_warden.pipeline.store import TAKEN, Store, StoredTable, raw
from kafka_warden.pipeline.timeline import History
from tests.history.places import NOON, rewrite, the_file, write
from tests.pipeline.arrivals import EVERY
from tests.pipeline.stored import landed, of_cluster, raw_rows, rows, stored, take

OLD = 15
"""Rows of a file that is older than a column of theirs."""


@pytest.fixture(scope="module")
def landing(judged: list[Poll], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of three hours, in a folder whose name is a pattern where Spark looks for one.

    Those of another cluster are of three polls. Its first rows of `replicas` are of a program that did not know a
    column, and a file of it has no row.
    """
    folder = tmp_path_factory.mktemp("history [1] {a,b}*")
    write(folder / "usual", judged)
    write(folder / "old", of_cluster(judged[:3], "old"))
    file = the_file(folder / "old", "replicas")
    whole = pq.read_table(file)
    rewrite(file.with_name("old.parquet"), whole.drop_columns(["late"]).slice(0, OLD), version=0)
    rewrite(file, whole.slice(OLD))
    rewrite(the_file(folder / "old", "moves"), schema_of(BY_NAME["moves"]).empty_table())
    return folder


@pytest.fixture(scope="module")
def store(spark: SparkSession, landing: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("store [1] {a,b}*")
    take(spark, place, landing)
    return place


def by_spark(spark: SparkSession, store: Path) -> dict[str, Any]:
    """Rows of every raw table, as jobs read them."""
    frames = {table: Store(spark, store).read(raw(table.name)) for table in TABLES}
    return {
        table.name: raw_rows(table, [row.asDict(recursive=True) for row in frame.collect()])
        for table, frame in frames.items()
    }


def test_rows_are_those_of_the_files(spark: SparkSession, landing: Path, store: Path) -> None:
    assert rows(store) == landed(landing) == by_spark(spark, store)
    read = History(Store(spark, store))
    assert {name: read.table(name).columns for name in BY_NAME} == {
        name: schema_of(table).names for name, table in BY_NAME.items()
    }


def test_store_that_tests_write_is_that_of_ingest(
    spark: SparkSession, landing: Path, store: Path, tmp_path: Path
) -> None:
    written = stored(spark, tmp_path / "store", landing)
    assert by_spark(spark, written) == landed(landing)

    def plan(place: Path) -> list[Any]:
        return sorted(Store(spark, place).read(TAKEN).collect(), key=repr)

    def described(place: Path, table: StoredTable) -> tuple[Any, ...]:
        address = f"delta.`{place}/{table.name}`"
        (detail,) = spark.sql(f"DESCRIBE DETAIL {address}").collect()
        properties = {name: value for name, value in detail["properties"].items() if ".keep_" not in name}
        return spark.table(address).schema, detail["partitionColumns"], properties, detail["minWriterVersion"]

    assert plan(written) == plan(store)
    for table in (TAKEN, raw("replicas")):
        assert described(written, table) == described(store, table), table.name


def test_older_file_has_no_younger_columns(spark: SparkSession, store: Path) -> None:
    """A column that is younger than a file is null in its rows, beside files that have it; a table may be empty."""
    read = History(Store(spark, store))
    found = read.table("replicas").where("cluster_id = 'old'").select("sequence", "late").collect()
    assert len(found) == 3 * OLD
    assert {row["late"] is None for row in found if row["sequence"] == 0} == {True}
    assert {row["late"] is None for row in found if row["sequence"] > 0} == {False}
    assert read.table("moves").where("cluster_id = 'old'").count() == 0


@pytest.mark.parametrize("hours", [1, 2])
def test_time_is_by_the_hour(spark: SparkSession, store: Path, hours: int) -> None:
    part = History(Store(spark, store), (NOON + 3600, NOON + 3600 * (1 + hours)))
    assert part.table("polls").count() == hours * 3600 / EVERY
