"""What a run reads, and what it computes again."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline import maintain, runs
from kafka_warden.pipeline.batch import taken_row
from kafka_warden.pipeline.incremental import MARGIN, Unended, unended, working
from kafka_warden.pipeline.job import Request
from kafka_warden.pipeline.landing import Part, Range
from kafka_warden.pipeline.maintain import delete_old
from kafka_warden.pipeline.marts import MOVE_SAMPLES, MOVES, of_rows
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import TAKEN, Store, StoredTable, of_mart, raw
from tests.pipeline.stored import request

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


@pytest.fixture
def asked(spark: SparkSession, tmp_path: Path) -> Request[Any]:
    made = request(spark, tmp_path)
    made.store.create()
    return made


def hours(asked: Request[Any], job: str = "plan", *span: float) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Run a job that does nothing; return the hours that it had to compute, counted from `HOURS`."""
    with working(asked, job, *span) as work:
        return {name: [(first - HOURS, after - HOURS) for first, after in mine] for name, mine in work.hours.items()}


def test_job_computes_what_was_taken_since_its_last_run(asked: Request[Any]) -> None:
    """Each job for itself. A run that fails leaves all to the next one; one with a start leaves it, too."""
    take(asked.store, "one")
    take(asked.store, "two", 3, 4)
    assert hours(asked) == {"one": [(0, 1)], "two": [(3, 5)]}
    assert hours(asked) == {}
    take(asked.store, "one", 6)
    with pytest.raises(OSError, match="of the job"), working(asked, "plan"):
        raise OSError("of the job")
    since = FIRST.timestamp() + 4 * 3600
    assert hours(asked, "plan", since, since + 3600) == {"two": [(4, 5)]}
    assert hours(asked) == {"one": [(6, 7)]}
    assert hours(asked, "rollup") == {"one": [(0, 1), (6, 7)], "two": [(3, 5)]}
    assert [(run.job, run.hours) for run in asked.runs if run.hours] == [
        *(("plan", count) for count in (3, 1, 1)),
        ("rollup", 4),
    ]


def test_offsets_of_the_topic_are_no_hours(asked: Request[Any]) -> None:
    asked.store.append(TAKEN, of_rows(asked.spark, [("kafka:c/t/i/0", *[None] * 9, FIRST.date())], TAKEN.ddl))
    assert hours(asked) == {}


def test_compaction_of_what_a_job_reads_changes_nothing(asked: Request[Any]) -> None:
    store = asked.store
    for hour in range(3):
        take(store, "one", hour)
    assert hours(asked) == {"one": [(0, 3)]}
    take(store, "one", 7)
    store.compact(TAKEN, "true")
    take(store, "one", 9)
    assert hours(asked) == {"one": [(7, 8), (9, 10)]}


def test_days_that_left_are_not_computed_from_nothing(asked: Request[Any]) -> None:
    """The change of `taken` is still there, and its raw rows may not be: their hours of marts stay."""
    hours(asked)
    take(asked.store, "one")
    take(asked.store, "one", 48)
    asked.store.set_taken_since(FIRST.date() + timedelta(days=1))
    asked.store.expire(TAKEN, FIRST.date() + timedelta(days=1))
    assert hours(asked) == {"one": [(48, 49)]}


@pytest.mark.parametrize("lost", ["log", "files"])
def test_changes_that_delta_has_deleted_are_made_up_for(
    capsys: pytest.CaptureFixture[str], asked: Request[Any], tmp_path: Path, lost: str
) -> None:
    """After a long rest of the job the log is too short, or a vacuum has deleted files: all hours are computed."""
    take(asked.store, "one")
    assert hours(asked) == {"one": [(0, 1)]}
    take(asked.store, "one", 3)
    asked.store.compact(TAKEN, "true")
    take(asked.store, "one", 5)
    if lost == "log":
        DeltaTable(tmp_path / "taken").create_checkpoint()
        for version in range(3):
            (tmp_path / "taken" / "_delta_log" / f"{version:020}.json").unlink()
    else:
        live = {Path(file).name for file in asked.store.files(TAKEN, "true")}
        for file in (tmp_path / "taken").rglob("*.parquet"):
            if file.name not in live:
                file.unlink()
    asked.spark.sql("CLEAR CACHE")
    assert hours(asked) == {"one": [(0, 1), (3, 4), (5, 6)]}
    assert "cannot be read: " in capsys.readouterr().err
    assert hours(asked) == {}


def test_rows_of_runs_may_be_deleted(asked: Request[Any], tmp_path: Path) -> None:
    take(asked.store, "one")
    assert hours(asked) == hours(asked, "rollup") == {"one": [(0, 1)]}
    shutil.rmtree(tmp_path / "runs")
    assert hours(asked) == {"one": [(0, 1)]}


def test_what_began_before_the_first_raw_row_stays(asked: Request[Any]) -> None:
    store = asked.store
    midnight = datetime.combine(FIRST, datetime.min.time(), UTC)
    lives = {"ended: 5 %": (-2, -1), "later": (-9, 2), "long": (-9, 40), "new": (7, 9), "open": (-2, None)}
    put(store, raw("polls"), [{"cluster_id": cluster, "date": FIRST.date()} for cluster in lives])
    put(store, raw("polls"), [{"cluster_id": "another", "date": date(2026, 11, 1)}])
    for cluster, span in lives.items():
        take(store, cluster)
        began, ended = (None if hour is None else midnight + timedelta(hours=hour) for hour in span)
        put(store, of_mart(MOVES), [{"cluster_id": cluster, "began": began, "ended": ended}])
    take(store, "another")
    with working(asked, "moves") as work:
        found = unended(store, MOVES, work).clusters
    as_usual = FIRST.hour - MARGIN
    assert {cluster: hour - HOURS + FIRST.hour for cluster, (hour, _) in found.items()} == {
        **dict.fromkeys(("another", "long", "new", "open"), as_usual),
        "ended: 5 %": 0,
        "later": 3,
    }
    assert {day for _, day in found.values()} == {date(2026, 11, 18)}
    store.set_taken_since(FIRST.date())
    take(store, "another")
    with working(asked, "moves") as work:
        later = unended(store, MOVES, work)
    assert later.clusters == {"another": (HOURS - MARGIN, FIRST.date())}
    assert {later.raw(table).split("date >= ")[1][:12] for table in ("polls", "moves")} == {f"'{FIRST.date()}'"}


def test_marts_are_compacted_once_a_day(asked: Request[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Days that have ended since the last time, and tables without days if they have many files."""
    monkeypatch.setattr(maintain, "FILES", 2)
    today = date(2026, 11, 20)
    monkeypatch.setattr(Store, "today", lambda _: today)
    store = asked.store
    row = {"cluster_id": "one", "date": str(today)}

    def files() -> list[int]:
        return [len(store.files(of_mart(mart), "true")) for mart in (MOVES, MOVE_SAMPLES)]

    for _ in range(3):
        for mart in (MOVES, MOVE_SAMPLES):
            put(store, of_mart(mart), [row])
    take(store, "one")
    assert hours(asked, "moves")
    assert files() == [3, 3]
    today += timedelta(days=1)
    assert hours(asked, "moves") == {}
    assert files() == [1, 1]


def test_upkeep_is_due_once_a_day(asked: Request[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first run of a day, unless that is the first of all. A day that is far ahead is of a wrong clock."""
    due = []
    for day in (20, 20, 21, 21, 28, 22, 22):
        monkeypatch.setattr(Store, "today", lambda _, day=day: date(2026, 11, day))
        _, is_due = runs.last(asked.store, "job")
        with runs.ending(asked.store, runs.Run("job", hours=1), is_due=is_due):
            due.append(is_due)
    assert due == [False, False, True, False, True, True, False]


def test_failure_of_upkeep_loses_nothing_that_was_computed(asked: Request[Any]) -> None:
    with pytest.raises(PySparkException), runs.ending(asked.store, runs.Run("job", version=7), is_due=True):
        asked.spark.sql("VACUUM delta.`/nowhere`").collect()
    assert runs.last(asked.store, "job") == (7, False)


def test_raw_rows_stay_for_jobs_that_have_found_their_day(
    capsys: pytest.CaptureFixture[str], asked: Request[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that begins later does not find it. If all days are too old, the clock is wrong, and none is deleted."""
    store = asked.store
    take(store, "one")
    put(store, raw("polls"), [{"cluster_id": "one", "date": FIRST.date()}])

    def left(days: int) -> tuple[bool, bool]:
        """Return whether jobs find the day, and whether its raw rows are there, so many days after it."""
        monkeypatch.setattr(Store, "today", lambda _: FIRST.date() + timedelta(days=days))
        delete_old(store, {"raw": 8, "minutes": 90}, Progress(), raw_rows=True)
        return "one" in hours(asked, "rollup", 1.0), not store.read(raw("polls")).isEmpty()

    assert left(9) == (True, True)
    assert "all rows are from before 2026-11-21, so none is deleted" in capsys.readouterr().err
    take(store, "two", 9 * 24)
    assert [left(days) for days in (10, 11)] == [(False, True), (False, False)]


def put(store: Store, table: StoredTable, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows, null in all other columns."""
    for row in rows:
        one = (F.lit(row.get(field.name)).cast(field.dataType).alias(field.name) for field in table.schema)
        store.append(table, store.spark.range(1).select(*one))


def take(store: Store, cluster: str, hour: int = 0, last: int | None = None) -> None:
    """List a file of `polls` as taken; its first and last hour are counted from `HOURS`."""
    since, until = (FIRST.timestamp() + 3600 * each for each in (hour, hour if last is None else last))
    part = Part(f"{cluster}-{hour}.parquet", 1, "polls", Range(cluster, "run", 0, 9, since, until + 90.0, 10))
    store.append(TAKEN, of_rows(store.spark, [taken_row(part)], TAKEN.ddl))
