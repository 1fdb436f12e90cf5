"""What a run computes again."""

from datetime import UTC, date, datetime

from pyspark.sql import SparkSession

from kafka_warden.pipeline.marks import Unended, joined
from kafka_warden.pipeline.marts.moves import MOVE_SAMPLES, MOVES

FIRST = datetime(2026, 11, 20, 6, tzinfo=UTC)
AGAIN = Unended({"it's": (int(FIRST.timestamp()) // 3600, date(2026, 11, 18)), "two": (0, date(1970, 1, 1))})


def test_what_ended_before_stays(spark: SparkSession) -> None:
    """Rows that end at that hour or later, or go on, are replaced; with dates, those of days that are read."""
    rows = [
        ("it's", "before", datetime(2026, 11, 20, 5, 59, tzinfo=UTC), date(2026, 11, 20)),
        ("it's", "at", FIRST, date(2026, 11, 18)),
        ("it's", "old", FIRST, date(2026, 11, 17)),
        ("it's", "running", None, date(2026, 11, 19)),
        ("other", "running", None, date(2026, 11, 19)),
    ]
    frame = spark.createDataFrame(rows, "cluster_id string, what string, ended timestamp, date date")
    of_moves, of_samples = (frame.where(AGAIN.rows(mart)).collect() for mart in (MOVES, MOVE_SAMPLES))
    assert [row["what"] for row in of_moves] == ["at", "old", "running"]
    assert [row["what"] for row in of_samples] == ["at", "running"]
    assert frame.where(AGAIN.rows(MOVES, "what = 'before'")).count() == 4
    read = {table: frame.where(AGAIN.raw(table)).count() for table in ("polls", "replicas")}
    assert read == {"polls": 4, "replicas": 3}


def test_spans_that_touch_are_one() -> None:
    """In any order; one inside another adds nothing."""
    assert joined([(5, 6), (1, 3), (3, 4), (1, 2)]) == [(1, 4), (5, 6)]
