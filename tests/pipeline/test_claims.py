"""One writer of a job's tables at a time: who holds them, when another one may take over, and that its fence holds."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_warden.errors import StoreInUseError
from kafka_warden.pipeline import claims, writers
from kafka_warden.pipeline import store as store_module
from kafka_warden.pipeline.claims import Claim, Marks, holding, read
from kafka_warden.pipeline.store import PROPERTIES, Store, StoredTable
from kafka_warden.pipeline.timeline import DAY

TABLE = StoredTable("numbers", "number bigint", ())
CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
KEPT = 3
NO_PROCESS = 2**22 + 1
"""Above the largest process id of Linux."""


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(spark, tmp_path)


@pytest.fixture
def unchecked(spark: SparkSession) -> Iterator[None]:
    """Delta lets files be deleted that were used until now."""
    spark.conf.set(CHECK, "false")
    yield
    spark.conf.unset(CHECK)


def fenced(_: Store) -> Iterable[StoredTable]:
    return [TABLE]


def numbers(store: Store) -> list[int]:
    return sorted(row["number"] for row in store.read(TABLE).collect())


def put(claim: Claim, number: int) -> None:
    claim.append(TABLE, claim.store.spark.createDataFrame([(number,)], TABLE.ddl))


def another(store: Store, writer: str) -> Claim:
    """A claim of another process, that has put one row."""
    other = Store(store.spark, store.place)
    other.writer = writer
    claim = Claim(other, "job", read(store, "job").run + 1)
    claim.claim(fenced, takes_over=False)
    put(claim, 1)
    return claim


@pytest.fixture
def held(store: Store) -> Claim:
    """A claim of a process of another machine."""
    return another(store, "elsewhere:1:abc")


def test_second_writer_ends_with_the_name_of_the_holder(store: Store, held: Claim) -> None:
    until = read(store, "job").until
    assert until is not None
    assert until == pytest.approx(time.time() + claims.LEASE, abs=300)
    moment = time.strftime("%H:%M:%S UTC", time.gmtime(until))
    with (
        pytest.raises(StoreInUseError, match=f"elsewhere:1:abc runs job; .* ends at {moment}"),
        holding(store, "job", fenced),
    ):
        pytest.fail("two writers")
    assert numbers(store) == [1]


def test_holder_past_its_lease_commits_nothing(store: Store, held: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    first = held
    first.batches["cluster"] = 1
    until = read(store, "job").until
    assert until is not None
    monkeypatch.setattr(time, "time", lambda: until + 1)
    with holding(store, "job", fenced) as second:
        put(first, 2)
        assert numbers(store) == [1]
        put(second, 3)
        second.batches["cluster"] = 9
        with pytest.raises(StoreInUseError, match=f"{store.writer} runs job; this run commits nothing more"):
            first.finish()
    assert numbers(store) == [1, 3]
    assert read(store, "job").batches == {"cluster": 9}
    assert read(store, "job").until is claims.ENDED


def test_clock_that_was_ahead_stops_nothing() -> None:
    """A lease that ends in two days and a vacuum of the day after tomorrow are ignored. Clocks may differ by a day."""
    now = time.time()
    held = [Marks(1, "elsewhere:1:abc", now + 60 * minutes, {}).is_held() for minutes in (-1, 1, 60 * 23, 60 * 48)]
    assert held == [False, True, True, False]
    store: Any = SimpleNamespace(today=lambda: date(2026, 11, 20))
    due = [Claim(store, "job", 1, vacuumed=date(2026, 11, day)).is_new_day() for day in (19, 20, 21, 22)]
    assert due == [True, False, False, True]


def test_process_of_this_machine_that_is_gone_is_known() -> None:
    host, _, own = writers.name().rsplit(":", 2)
    assert writers.is_gone(writers.name())
    assert writers.is_gone(f"{host}:{NO_PROCESS}:{own}")
    assert not writers.is_gone(f"{host}:{os.getppid()}:{own}")
    assert not writers.is_gone(f"not-{host}:{NO_PROCESS}:{own}")


@pytest.mark.parametrize("other", ["_BOOT", "_PROCESSES"])
def test_machine_or_container_with_the_same_host_name_is_another_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other: str
) -> None:
    """Its process ids say nothing of the processes here: it may live, with the id of this process."""
    mine = writers.name()
    (tmp_path / "_BOOT").write_text("ffffffff-9b3f-4a7e-a7c1-9d1f0c8f6a55\n")
    (tmp_path / "_PROCESSES").symlink_to("pid:[4026532999]")
    monkeypatch.setattr(writers, other, tmp_path / other)
    assert not writers.is_gone(mine)
    assert writers.is_gone(writers.name())


def test_process_of_this_machine_that_is_gone_holds_nothing(store: Store) -> None:
    host, _, own = writers.name().rsplit(":", 2)
    another(store, f"{host}:{NO_PROCESS}:{own}")
    with holding(store, "job", fenced) as claim:
        put(claim, 2)
    assert numbers(store) == [1, 2]


def test_run_after_one_that_ended_fences_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that failed may still be in Spark, so the next one takes over, at once."""
    asked: list[str] = []

    def counted(_: Store) -> Iterable[StoredTable]:
        asked.append("fence")
        return [TABLE]

    def run(number: int) -> None:
        with holding(store, "job", counted) as claim:
            put(claim, number)

    def fail() -> None:
        with holding(store, "job", counted):
            raise OSError

    run(1)
    asked.clear()
    run(2)
    assert asked == []
    with pytest.raises(OSError):  # noqa: PT011  # it has no message
        fail()
    assert read(store, "job").until == claims.ABANDONED
    monkeypatch.setattr(writers, "is_gone", lambda _: False)
    run(3)
    assert asked == ["fence"]
    assert numbers(store) == [1, 2, 3]


def test_deleted_marks_do_not_stop_a_job(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta ignores numbers below those of the table, in its log or checkpoint: the next run has a higher one."""
    monkeypatch.setattr(store_module, "PROPERTIES", {**PROPERTIES, "delta.checkpointInterval": "2"})
    for number in range(1, 4):
        with holding(store, "job", fenced) as claim:
            put(claim, number)
    shutil.rmtree(tmp_path / "marks")
    with holding(store, "job", fenced) as claim:
        put(claim, 4)
        assert (claim.run > 4, claim.batches) == (True, {})
    for number in range(5, 8):
        store.append(TABLE, store.spark.createDataFrame([(number,)], TABLE.ddl), "another", number)
    last = max((tmp_path / "numbers").rglob("*.checkpoint.parquet")).name[:20]
    for entry in (tmp_path / "numbers" / "_delta_log").glob("*[0-9].json"):
        if entry.stem < last:
            entry.unlink()
    shutil.rmtree(tmp_path / "marks")
    with holding(store, "job", fenced) as claim:
        put(claim, 8)
    assert numbers(store) == list(range(1, 9))


def test_rows_of_marks_may_be_deleted(store: Store) -> None:
    with holding(store, "job", fenced):
        pass
    store.spark.sql(f"DELETE FROM delta.`{store.place}/marks/job`").collect()  # noqa: S608  # a folder of the test
    with holding(store, "job", fenced) as claim:
        put(claim, 1)
    assert numbers(store) == [1]


@pytest.mark.usefixtures("unchecked")
def test_files_of_marks_do_not_add_up(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last commit of a run leaves one file; the others are deleted on the next day, and again on the day after."""
    monkeypatch.setattr(claims, "MARKS_UNUSED", 0)
    today = date(2026, 11, 20)
    monkeypatch.setattr(store, "today", lambda: today)

    def run() -> int:
        with holding(store, "job", fenced) as claim:
            claim.vacuum([TABLE])
            claim.batches["cluster"] = claim.run
        assert len(store.files(claims.table("job"), "true")) == 1
        return len(list((tmp_path / "marks" / "job").glob("*.parquet")))

    assert [run(), run()] == [2, 4]
    for _ in range(2):
        today += timedelta(days=1)
        # That of the claim, of the run before, and of this run; deleted is what was unused at that moment.
        assert run() <= KEPT
        assert run() <= KEPT + 2
    assert read(store, "job").batches == {"cluster": 6}


class Nights:
    """Runs of a job in one night after another: the files of the store grow older. Each second commit has a checkpoint.

    Delta deletes old entries of a log when it writes a checkpoint.
    """

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_module, "PROPERTIES", {**PROPERTIES, "delta.checkpointInterval": "2"})
        self.today = date(2026, 11, 1)
        monkeypatch.setattr(store, "today", lambda: self.today)
        self.store = store
        self.place = Path(store.given)

    def run(self, count: int) -> None:
        """Let some nights pass, with a run in each."""
        for _ in range(count):
            with holding(self.store, "job", fenced) as claim:
                claim.replace(TABLE, self.store.spark.createDataFrame([(1,)], TABLE.ddl), "number = 1")
                claim.vacuum([TABLE])
            self.rest(1)

    def rest(self, days: int) -> None:
        self.today += timedelta(days=days)
        for path in self.place.rglob("*.*"):
            os.utime(path, (path.stat().st_mtime - days * DAY,) * 2)

    def lose(self, table: str) -> Path:
        """Add a file that no commit knows."""
        path = self.place / table / "lost.parquet"
        path.touch()
        return path

    def first_entry(self, table: str) -> int:
        """Return the first version of which the log has an entry."""
        return min(int(path.stem) for path in (self.place / table / "_delta_log").glob("*.json"))


@pytest.fixture
def nights(store: Store, monkeypatch: pytest.MonkeyPatch) -> Nights:
    nights = Nights(store, monkeypatch)
    nights.run(1)
    return nights


def test_nights_go_on_when_delta_has_deleted_entries_of_the_log_of_marks(nights: Nights) -> None:
    files = [nights.lose(table) for table in ("marks/job", "numbers")]
    nights.rest(1)
    nights.run(2)
    assert [nights.first_entry("marks/job") > 0, nights.first_entry("numbers") > 0] == [True, False]
    assert [path.exists() for path in files] == [False, True]


@pytest.mark.full_pipeline
def test_nights_do_not_list_tables(nights: Nights) -> None:
    """Of the log there is always enough, also when every second night is left out: a listing would find the file."""
    file = nights.lose("numbers")
    for _ in range(9):
        nights.rest(1)
        nights.run(1)
    assert nights.first_entry("numbers") > 0
    assert file.exists()


@pytest.mark.full_pipeline
def test_nights_go_on_after_a_rest_that_is_longer_than_logs_are_kept(nights: Nights) -> None:
    file = nights.lose("numbers")
    nights.rest(40)
    nights.run(2)
    assert nights.first_entry("numbers") > 0
    nights.rest(6)
    assert file.exists()
    nights.run(1)
    assert not file.exists()
    later = nights.lose("numbers")
    for _ in range(4):
        nights.rest(1)
        nights.run(1)
    assert later.exists()
    assert numbers(nights.store) == [1]


@pytest.mark.usefixtures("unchecked")
def test_files_that_no_version_has_are_deleted(store: Store) -> None:
    with holding(store, "job", fenced) as claim:
        for _ in range(3):
            claim.replace(TABLE, store.spark.createDataFrame([(1,)], TABLE.ddl), "true")
    store.vacuum(TABLE, 0)
    left = Path(store.given, "numbers").glob("*.parquet")
    assert [path.name for path in left] == [Path(path).name for path in store.files(TABLE, "true")]


def test_failure_of_upkeep_loses_nothing_that_was_computed(store: Store) -> None:
    with pytest.raises(PySparkException), holding(store, "job", fenced) as claim:  # noqa: PT012  # as a job does
        put(claim, 1)
        claim.batches["cluster"] = 7
        with claim.upkeep():
            store.spark.sql("VACUUM delta.`/nowhere`").collect()
    found = read(store, "job")
    assert (found.batches, found.until) == ({"cluster": 7}, claims.ENDED)


def test_lease_is_renewed_when_the_clock_was_set_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    until = time.time() + 2 * claims.LEASE
    with holding(store, "job", fenced) as claim:
        for hours in range(2):
            monkeypatch.setattr(time, "time_ns", lambda hours=hours: 10**18 - hours)
            claim.renew(until + hours)
        assert read(store, "job").until == until + 1


def test_lease_is_renewed_while_the_block_runs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LEASE", 3.0)
    with holding(store, "job", fenced):
        first: Any = read(store, "job").until
        deadline = time.monotonic() + 120
        while (read(store, "job").until or 0.0) <= first:
            assert time.monotonic() < deadline, "not renewed"
            time.sleep(0.2)
