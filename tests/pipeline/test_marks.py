"""What a run reads, and what it computes again."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline import claims, compaction
from kafka_warden.pipeline.claims import holding
from kafka_warden.pipeline.ingest.plan import How
from kafka_warden.pipeline.marks import Unended, working
from kafka_warden.pipeline.marts.mart import parsed
from kafka_warden.pipeline.marts.moves import MOVE_SAMPLES, MOVES
from kafka_warden.pipeline.spans import joined
from kafka_warden.pipeline.store import DONE, DONE_DAY, LANDING, Store, of_mart

FIRST = datetime(2026, 11, 20, 6, tzinfo=UTC)
HOURS = int(FIRST.timestamp()) // 3600
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
    assert joined([(5, 6), (1, 3), (8, 9)], 2) == [(1, 9)]
    assert joined([(5, 6), (1, 3), (8, 9)], 1) == [(1, 3), (5, 6), (8, 9)]


def test_plans_of_batches_before_all_marks_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """They may be a month of files. Also the mark of a cluster without new rows goes on."""
    store = Store(spark, tmp_path)
    store.create(())
    plan(store, 1, "one")
    with working(store, "plan") as work:
        assert work.hours == {"one": [(HOURS, HOURS + 1)]}
    for file in (tmp_path / "landing" / f"date={FIRST:%Y-%m-%d}").glob("*.parquet"):
        file.unlink()
    plan(store, 2, "two")
    with working(store, "plan") as work:
        assert work.hours == {"two": [(HOURS, HOURS + 1)]}
    assert claims.read(store, "plan").batches == {"one": 2, "two": 2}


def test_hours_between_are_read_only_if_no_row_of_them_is_known(spark: SparkSession, tmp_path: Path) -> None:
    """The first run has all batches. Later, rows of hours between may have expired, which would empty their marts."""
    store = Store(spark, tmp_path)
    store.create(())
    for batch, hour in ((1, 0), (2, 3)):
        plan(store, batch, "one", hour)
    with working(store, "plan") as work:
        assert work.hours == {"one": [(HOURS, HOURS + 4)]}
    for batch, hour in ((3, 6), (4, 9)):
        plan(store, batch, "one", hour)
    with working(store, "plan") as work:
        assert work.hours == {"one": [(HOURS + 6, HOURS + 7), (HOURS + 9, HOURS + 10)]}


@pytest.mark.parametrize("days", [31, 29])
def test_batches_that_expired_before_they_were_read_are_reported(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """The job has not run for longer than raw rows are kept."""
    today = date(2026, 11, 20)
    monkeypatch.setattr(Store, "today", lambda _: today)
    store = Store(spark, tmp_path)
    store.create(())
    for batch in (1, 2, 5):
        plan(store, batch, "one")
        with working(store, "plan") as work:
            assert work.read() == f"up to batch {batch}"
    today += timedelta(days=days)
    plan(store, 8, "one")
    late = "; MISSING: batches 6 to 7 expired before they were read: the last run was on 2026-11-20, and raw rows are"
    with working(store, "plan") as work:
        assert work.read() == "up to batch 8" + (f"{late} kept for 30 days" if days > 30 else "")
    today += timedelta(days=days)
    plan(store, 9, "one")
    with working(store, "plan") as work:
        assert work.read() == "up to batch 9"


def test_marts_are_compacted_once_a_day(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days that have ended since the last time, and tables without days if they have many files."""
    monkeypatch.setattr(compaction, "FILES", 2)
    today = date(2026, 11, 20)
    monkeypatch.setattr(Store, "today", lambda _: today)
    store = Store(spark, tmp_path)
    store.create(())
    row = {"cluster_id": "one", "date": str(today)}

    def files() -> list[int]:
        return [len(store.files(of_mart(mart), "true")) for mart in (MOVES, MOVE_SAMPLES)]

    for number in range(3):
        for mart in (MOVES, MOVE_SAMPLES):
            one = (F.lit(row.get(field.name)).cast(field.dataType).alias(field.name) for field in parsed(mart.ddl))
            store.append(of_mart(mart), spark.range(1).select(*one), "test", number)
    with working(store, "moves"):
        pass
    assert files() == [3, 3]
    today += timedelta(days=1)
    with working(store, "moves"):
        pass
    assert files() == [1, 1]


def plan(store: Store, batch: int, cluster: str, hour: int = 0) -> None:
    """Commit a complete batch of a file of one hour."""
    since = FIRST.timestamp() + 3600 * hour
    span = (cluster, "run", 0, 9, since, since + 90.0, 10)
    row = (batch, str(How.NEW), "polls", *span, f"{batch}.parquet", 1, store.writer, FIRST.date())
    done = (batch, DONE, *[None] * 10, store.writer, DONE_DAY)
    with holding(store, "ingest", lambda _: ()) as claim:
        claim.append(LANDING, store.spark.createDataFrame([row], LANDING.ddl))
        claim.replace(LANDING, store.spark.createDataFrame([done], LANDING.ddl), f"date = '{DONE_DAY}'")
