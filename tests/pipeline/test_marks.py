"""What a run reads, and what it computes again."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline import claims, compaction
from kafka_warden.pipeline.claims import holding
from kafka_warden.pipeline.ingest.plan import How
from kafka_warden.pipeline.jobs.ingest import delete_old
from kafka_warden.pipeline.marks import MARGIN, Unended, unended, working
from kafka_warden.pipeline.marts import MOVE_SAMPLES, MOVES
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import DONE, DONE_DAY, LANDING, Store, StoredTable, day_of, of_mart, raw

FIRST = datetime(2026, 11, 20, 6, tzinfo=UTC)
HOURS = int(FIRST.timestamp()) // 3600
AGAIN = Unended({"it's": (int(FIRST.timestamp()) // 3600, date(2026, 11, 18)), "two": (0, date(1970, 1, 1))})


def test_what_ended_before_stays(spark: SparkSession) -> None:
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


def test_plans_of_batches_before_all_marks_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """They may be a month of files. Also the mark of a cluster without new rows goes on."""
    store = Store(spark, tmp_path)
    store.create()
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
    store.create()
    for batch, hour in ((1, 0), (2, 3)):
        plan(store, batch, "one", hour)
    with working(store, "plan") as work:
        assert work.hours == {"one": [(HOURS, HOURS + 4)]}
    for batch, hour in ((3, 6), (4, 9)):
        plan(store, batch, "one", hour)
    with working(store, "plan") as work:
        assert work.hours == {"one": [(HOURS + 6, HOURS + 7), (HOURS + 9, HOURS + 10)]}


def test_what_began_before_the_first_raw_row_stays(spark: SparkSession, tmp_path: Path) -> None:
    store = Store(spark, tmp_path)
    store.create()
    midnight = datetime.combine(FIRST, datetime.min.time(), UTC)
    lives = {"ended: 5 %": (-2, -1), "later": (-9, 2), "long": (-9, 40), "new": (7, 9), "open": (-2, None)}
    put(store, raw("polls"), [{"cluster_id": cluster, "date": FIRST.date()} for cluster in lives])
    put(store, raw("polls"), [{"cluster_id": "another", "date": date(2026, 11, 1)}])
    for number, (cluster, hours) in enumerate(lives.items()):
        plan(store, number + 1, cluster)
        began, ended = (None if hour is None else midnight + timedelta(hours=hour) for hour in hours)
        put(store, of_mart(MOVES), [{"cluster_id": cluster, "began": began, "ended": ended}])
    plan(store, len(lives) + 1, "another")
    with working(store, "moves") as work:
        found = unended(store, MOVES, work).clusters
    as_usual = FIRST.hour - MARGIN
    assert {cluster: hour - HOURS + FIRST.hour for cluster, (hour, _) in found.items()} == {
        **dict.fromkeys(("another", "long", "new", "open"), as_usual),
        "ended: 5 %": 0,
        "later": 3,
    }
    assert {day for _, day in found.values()} == {date(2026, 11, 18)}
    store.set_taken_since(FIRST.date())
    plan(store, len(lives) + 2, "another")
    with working(store, "moves") as work:
        later = unended(store, MOVES, work)
    assert later.clusters == {"another": (HOURS - MARGIN, FIRST.date())}
    assert {later.raw(table).split("date >= ")[1][:12] for table in ("polls", "moves")} == {f"'{FIRST.date()}'"}


def test_marts_are_compacted_once_a_day(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days that have ended since the last time, and tables without days if they have many files."""
    monkeypatch.setattr(compaction, "FILES", 2)
    today = date(2026, 11, 20)
    monkeypatch.setattr(Store, "today", lambda _: today)
    store = Store(spark, tmp_path)
    store.create()
    row = {"cluster_id": "one", "date": str(today)}

    def files() -> list[int]:
        return [len(store.files(of_mart(mart), "true")) for mart in (MOVES, MOVE_SAMPLES)]

    for _ in range(3):
        for mart in (MOVES, MOVE_SAMPLES):
            put(store, of_mart(mart), [row])
    with working(store, "moves"):
        pass
    assert files() == [3, 3]
    today += timedelta(days=1)
    with working(store, "moves"):
        pass
    assert files() == [1, 1]


def test_raw_rows_stay_for_jobs_that_have_found_their_day(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job that begins later does not find it. If all days are too old, the clock is wrong, and none is deleted."""
    store = Store(spark, tmp_path)
    store.create()
    plan(store, 1, "one")
    put(store, raw("polls"), [{"cluster_id": "one", "date": FIRST.date()}])
    kept = {"raw": 30, "minutes": 90}

    def left(days: int) -> tuple[bool, bool]:
        """Return whether jobs find the day, and whether its raw rows are there, so many days after it."""
        nonlocal kept
        monkeypatch.setattr(Store, "today", lambda _: FIRST.date() + timedelta(days=days))
        keep = {"raw": 8, "minutes": 90}
        with holding(store, "ingest", lambda _: ()) as claim:
            delete_old(claim, keep, kept, Progress())
        kept = keep
        with working(store, "rollup", 1.0) as work:
            return "one" in work.hours, not store.read(raw("polls")).isEmpty()

    assert left(9) == (True, True)
    assert "all rows are from before 2026-11-21, so none is deleted" in capsys.readouterr().err
    plan(store, 2, "two", 9 * 24)
    assert [left(days) for days in (10, 11)] == [(False, True), (False, False)]


@pytest.mark.parametrize("cluster", ["one", None])
def test_batch_that_is_not_complete_is_left(spark: SparkSession, tmp_path: Path, cluster: str | None) -> None:
    store = Store(spark, tmp_path)
    store.create()
    plan(store, 1, "one")
    plan(store, 2, cluster, 1, complete=False)
    with working(store, "rollup") as work:
        assert (work.done, work.hours) == (1, {"one": [(HOURS, HOURS + 1)]})


def put(store: Store, table: StoredTable, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows, null in all other columns."""
    for row in rows:
        one = (F.lit(row.get(field.name)).cast(field.dataType).alias(field.name) for field in table.schema)
        store.append(table, store.spark.range(1).select(*one), "test", time.time_ns())


def plan(store: Store, batch: int, cluster: str | None, hour: int = 0, *, complete: bool = True) -> None:
    """Commit a batch of a file of one hour."""
    since = FIRST.timestamp() + 3600 * hour
    span = (cluster, "run", 0, 9, since, since + 90.0, 10)
    row = (batch, str(How.NEW), "polls", *span, f"{batch}.parquet", 1, store.writer, day_of(since))
    done = (batch, DONE, *[None] * 10, store.writer, DONE_DAY)
    with holding(store, "ingest", lambda _: ()) as claim:
        claim.append(LANDING, store.spark.createDataFrame([row], LANDING.ddl))
        if complete:
            claim.replace(LANDING, store.spark.createDataFrame([done], LANDING.ddl), f"date = '{DONE_DAY}'")
