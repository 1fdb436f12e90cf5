"""History as jobs read it from a store: every row once, with null for unknown."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_warden.history.parquet.arrow import schema_of
from kafka_warden.history.schema import BY_NAME
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.store import Store
from tests.history.places import NOON, rewrite, the_file, write
from tests.history.replay import scene_polls
from tests.pipeline.arrivals import EVERY
from tests.pipeline.stored import history, landed, rows


def test_rows_are_those_of_the_files(spark: SparkSession, source: Path, store: Path) -> None:
    """Spark reads what pyarrow reads, column by column, of every table."""
    assert rows(spark, store) == landed(source)
    read = History(Store(spark, store))
    assert {name: read.table(name).columns for name in BY_NAME} == {
        name: schema_of(table).names for name, table in BY_NAME.items()
    }


def test_older_file_has_no_younger_columns(spark: SparkSession, tmp_path: Path) -> None:
    """A column that is younger than a file is null in its rows, beside files that have it; a table may be empty."""
    folder = tmp_path / "history"
    write(folder, scene_polls())
    file = the_file(folder, "replicas")
    rewrite(file.with_name("old.parquet"), pq.read_table(file).drop_columns(["late"]).slice(0, 15), version=0)
    kept = pq.read_table(file)
    rewrite(file, kept.slice(15))
    rewrite(the_file(folder, "moves"), schema_of(BY_NAME["moves"]).empty_table())
    read = history(spark, tmp_path / "store", folder)
    found = read.table("replicas").select("sequence", "late").collect()
    assert len(found) == len(kept)
    assert {row["late"] is None for row in found if row["sequence"] == 0} == {True}
    assert {row["late"] is None for row in found if row["sequence"] > 0} == {False}
    assert read.table("moves").count() == 0


@pytest.mark.parametrize("hours", [1, 2])
def test_time_is_by_the_hour(spark: SparkSession, store: Path, hours: int) -> None:
    """A part of history has the hours that begin in it."""
    part = History(Store(spark, store), (NOON + 3600, NOON + 3600 * (1 + hours)))
    assert part.table("polls").count() == hours * 3600 / EVERY
