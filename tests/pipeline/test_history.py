"""History as Spark reads it: every row once, and bad files named."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_warden.history.parquet.reader import read
from kafka_warden.history.schema import BY_NAME
from kafka_warden.pipeline.history import History, row_key
from tests.history.places import write
from tests.history.replay import scene_polls


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
