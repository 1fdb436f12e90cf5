"""Marts: frames of rows that the driver has."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline.marts import of_rows

DDL = "name string, day date, at timestamp, number double, count bigint, names array<string>"
ROWS = [
    ("a", date(2026, 11, 28), datetime(2026, 11, 28, 1, 2, 3, 4, UTC), float("inf"), 1 << 60, ["x", "y"]),
    (None, None, None, 1, None, []),
]


@pytest.mark.parametrize("rows", [ROWS, []])
def test_rows_are_in_the_plan(
    spark: SparkSession, rows: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    frame = of_rows(spark, rows, DDL)
    times = frame.selectExpr("name", "day", "date_format(at, 'yyyy-MM-dd HH:mm:ss.SSSSSS')", "number", "count", "names")
    written = [(*row[:2], row[2] and row[2].strftime("%Y-%m-%d %H:%M:%S.%f"), *row[3:]) for row in rows]
    assert [tuple(row) for row in times.collect()] == written
    frame.explain()
    assert "LocalTableScan" in capsys.readouterr().out


def test_row_of_another_length_is_refused(spark: SparkSession) -> None:
    """A missing value would move the others to wrong columns."""
    with pytest.raises(ValueError, match="shorter"):
        of_rows(spark, [("a", 1)], "name string, number double, day date")
