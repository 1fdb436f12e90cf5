"""History as Spark reads it: every row once; bad files are named, or handled as the documents say."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_warden.errors import ConfigError, EmptyHistoryError, MissingColumnError, UnreadableFileError
from kafka_warden.history.parquet.arrow import schema_of
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.schema import BY_NAME
from kafka_warden.pipeline.history import History, row_key
from tests.history.places import NOON, rewrite, the_file, write
from tests.history.replay import scene_polls
from tests.pipeline.arrivals import EVERY, arrive, files_of, history_polls


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The history of the scene."""
    write(tmp_path, scene_polls())
    return tmp_path


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_rows_are_those_of_the_files(spark: SparkSession, folder: Path, name: str) -> None:
    """Spark reads what pyarrow reads, column by column, of every table."""
    frame = History(spark, folder).table(name)
    expected = read(folder, name)
    assert frame.columns == expected.column_names
    key = row_key(name)
    mine = sorted((row.asDict(recursive=True) for row in frame.collect()), key=lambda row: [str(row[k]) for k in key])
    theirs = sorted(expected.to_pylist(maps_as_pydicts="strict"), key=lambda row: [str(row[k]) for k in key])
    assert mine == theirs


def test_bad_file_is_named(spark: SparkSession, folder: Path) -> None:
    """Files are checked as tests/history/test_reader.py has it, before a row is read; other tables can be read."""
    file = the_file(folder, "replicas")
    rewrite(file, pq.read_table(file).drop_columns(["lag_bytes"]))
    history = History(spark, folder)
    with pytest.raises(MissingColumnError, match=rf"{file.name}: the column lag_bytes of the table replicas"):
        history.table("replicas")
    assert history.table("polls").count() == len(scene_polls())


def test_older_file_has_no_younger_columns(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that is younger than a file is null in its rows, beside files that have it."""
    file = the_file(folder, "replicas")
    rewrite(file.with_name("old.parquet"), pq.read_table(file).drop_columns(["late"]).slice(0, 15), version=0)
    rows = pq.read_table(file)
    rewrite(file, rows.slice(15))
    found = History(spark, folder).table("replicas").select("sequence", "late").collect()
    assert len(found) == len(rows)
    assert {row["late"] is None for row in found if row["sequence"] == 0} == {True}
    assert {row["late"] is None for row in found if row["sequence"] > 0} == {False}


def test_table_without_rows_is_empty(spark: SparkSession, folder: Path) -> None:
    """A table that has no files, or files without rows, is empty, with its columns."""
    rewrite(the_file(folder, "moves"), schema_of(BY_NAME["moves"]).empty_table())
    history = History(spark, folder)
    for name in ("restored", "moves"):
        assert history.table(name).columns == schema_of(BY_NAME[name]).names
        assert history.table(name).count() == 0


def test_duplicates_count_once(spark: SparkSession, folder: Path) -> None:
    """Rows of files that are there twice are there once; two processes' rows of the same polls are not duplicates."""
    for file in [*folder.rglob("*.parquet")]:
        arrive(file, folder, folder / "copies")
    write(folder / "other", [*history_polls(2, "other")])
    found = History(spark, folder).table("polls").groupBy("run").count().collect()
    assert {row["run"]: row["count"] for row in found} == {"run": len(scene_polls()), "other": 2}


def test_time_is_by_the_hour(spark: SparkSession, tmp_path: Path) -> None:
    """A part of history has the hours that begin in it."""
    files_of(tmp_path, history_polls())
    second = History(spark, tmp_path, NOON + 3600, NOON + 7200)
    assert not second.whole
    assert second.table("polls").count() == second.rows("polls") == 3600 / EVERY


@pytest.mark.parametrize("address", ["kafka://localhost:1/topic", "nonsense://there/history", "hdfs://localhost:1/in"])
def test_address_that_is_none_is_reported(spark: SparkSession, address: str) -> None:
    """Of a topic, too, which only the roll-up reads."""
    with pytest.raises((ConfigError, EmptyHistoryError), match=address.partition(":")[0]):
        History(spark, address).table("polls")


def test_file_that_is_gone_is_not_called_damaged(spark: SparkSession, folder: Path) -> None:
    """Retention deletes one after they were listed: the error does not ask to remove it."""
    history = History(spark, folder)
    history.table("polls")
    the_file(folder, "replicas").unlink()
    with pytest.raises(UnreadableFileError, match=r"cannot be opened .* retention has just deleted it"):
        history.table("replicas")
