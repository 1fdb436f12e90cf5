"""A store: each row of the landing zone once, and marts that do not depend on the order of calls, nor on kills."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_warden.errors import StoreError
from kafka_warden.history.parquet.reader import inventory
from kafka_warden.history.poll import Poll
from kafka_warden.pipeline import store as stores
from kafka_warden.pipeline.batch import gaps
from kafka_warden.pipeline.ingest import Options
from kafka_warden.pipeline.jars import INTERCEPTORS, PUT_IF_ABSENT
from kafka_warden.pipeline.landing import new_parts
from kafka_warden.pipeline.marts import MARTS
from kafka_warden.pipeline.store import Store, StoredTable, raw
from tests.history.places import NOON, rewrite, the_file, write
from tests.pipeline.arrivals import arrive, history_polls
from tests.pipeline.stored import landed, marts, of_cluster, roll_up, rolled, rows, stored, take

HOUR = 3600

pytestmark = pytest.mark.timeout(1800)

full = pytest.mark.full_pipeline
"""A commit takes seconds, and these make hundreds."""


@pytest.fixture(scope="module")
def fleet(judged: list[Poll], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The landing zone of two clusters, with a folder for each sidecar and a file for each hour."""
    folder = tmp_path_factory.mktemp("landing [1] {a,b}*")
    write(folder / "one", judged)
    write(folder / "two", of_cluster(judged[:8], "other"))
    return folder


@pytest.fixture(scope="module")
def expected(spark: SparkSession, fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The marts of both clusters, as one batch over all files makes them."""
    return rolled(spark, tmp_path_factory.mktemp("once"), fleet)


@full
def test_order_of_clusters_and_repeats_change_nothing(
    spark: SparkSession, fleet: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    store, landing = tmp_path / "store [1] {a,b}*", tmp_path / "landing"
    files = sorted(fleet.rglob("kafka-warden-*.parquet"))
    late = [file for file in files if "one" in file.parts and "hour=23" in file.parts]
    for file in files:
        if "two" in file.parts:
            arrive(file, fleet, landing)
    take(spark, store, landing)
    roll_up(spark, store)
    for file in files:
        if file not in late:
            arrive(file, fleet, landing)
    take(spark, store, landing)
    roll_up(spark, store)
    roll_up(spark, store)
    for file in late:
        arrive(file, fleet, landing, "copy-")
    take(spark, store, landing)
    roll_up(spark, store)
    assert marts(store) == expected
    assert rows(store) == landed(fleet)
    roll_up(spark, store, start=NOON + HOUR, end=NOON + 2 * HOUR)
    assert marts(store) == expected


class KilledError(Exception):
    """In place of a kill."""


@contextmanager
def killed_at(number: int) -> Iterator[None]:
    """Let the commit with this number in the block, counted from 0, not happen, nor any later one."""
    left = iter(range(number))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("append", "replace", "insert_missing"):
            commit = getattr(Store, name)

            def counted(self: Store, *given: Any, commit: Callable[..., None] = commit) -> None:
                if next(left, None) is None:
                    raise KilledError
                commit(self, *given)

            patch.setattr(Store, name, counted)
        with pytest.raises(KilledError):
            yield


@pytest.mark.parametrize("number", [5, *(pytest.param(each, marks=full) for each in range(9) if each != 5)])
def test_batch_that_was_interrupted_is_repeated(
    spark: SparkSession, judged: list[Poll], tmp_path: Path, number: int
) -> None:
    """After each table, and before it is listed. The next call may have other files beside those."""
    store, landing = tmp_path / "store", tmp_path / "landing"
    write(landing, judged[:1])
    with killed_at(number):
        take(spark, store, landing)
    write(landing / "more", judged[1:2])
    take(spark, store, landing)
    assert rows(store) == landed(landing)


def test_batches_of_days_that_are_taken_stay_taken(
    spark: SparkSession, judged: list[Poll], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two batches is interrupted before its first commit; then it is the only one."""
    monkeypatch.setattr("kafka_warden.pipeline.landing.LARGEST_BATCH", 1)
    store, landing = tmp_path / "store", tmp_path / "landing"
    write(landing, judged[:1])
    first = landed(landing)
    write(landing, history_polls(1, "next", NOON + 24 * HOUR))
    with killed_at(8):
        take(spark, store, landing)
    assert rows(store) == first
    with killed_at(8):
        take(spark, store, landing)
    assert rows(store) == landed(landing)


@full
def test_list_of_files_may_be_lost(spark: SparkSession, judged: list[Poll], tmp_path: Path) -> None:
    """All files are read again, no row is there twice, and jobs read all of it: it has as many commits as before."""
    store, landing = tmp_path / "store", tmp_path / "landing"
    write(landing, judged[:2])
    take(spark, store, landing)
    roll_up(spark, store)
    shutil.rmtree(store / "taken")
    write(landing / "later", judged[2:4])
    take(spark, store, landing)
    assert rows(store) == landed(landing)
    roll_up(spark, store)
    assert marts(store) == rolled(spark, tmp_path / "expected", landing)


def test_files_that_are_deleted_while_their_batch_is_interrupted_are_missed(
    capsys: pytest.CaptureFixture[str], spark: SparkSession, judged: list[Poll], tmp_path: Path
) -> None:
    store, landing = tmp_path / "store", tmp_path / "landing"
    write(landing, judged[:1])
    take(spark, store, landing)
    write(landing / "gone", judged[1:2])
    with killed_at(4):
        take(spark, store, landing)
    shutil.rmtree(landing / "gone")
    write(landing / "later", judged[2:3])
    take(spark, store, landing)
    assert "MISSING: polls 1 to 1 of run run, cluster cluster" in capsys.readouterr().err


def test_polls_that_history_leaves_out_are_not_missed(spark: SparkSession, judged: list[Poll], tmp_path: Path) -> None:
    """It keeps each sixth poll, and has a file of them for each hour."""
    store = Store(spark, tmp_path / "store")
    write(tmp_path / "landing", [replace(poll, sequence=6 * number) for number, poll in enumerate(judged)])
    parts, _ = new_parts(inventory(tmp_path / "landing"), (), 0.0)
    files = [part for part in parts if part.table == "polls"]
    assert gaps(store, files) == []
    last = files[0].range.last
    (line,) = gaps(store, [files[0], files[2]])
    assert line.startswith(f"MISSING: polls {last + 1} to {files[2].range.first - 1} of run run, cluster cluster: ")


def test_rows_of_any_table_are_missed(
    capsys: pytest.CaptureFixture[str], spark: SparkSession, judged: list[Poll], tmp_path: Path
) -> None:
    """Not those that an interrupted batch has stored, and not for longer than until they come. A copy replaces none."""
    store, landing, more = tmp_path / "store", tmp_path / "landing", tmp_path / "landing" / "more"
    write(landing, judged[:1])
    write(more, judged[1:2])
    expected = landed(landing)
    with killed_at(1):
        take(spark, store, landing)
    moves = the_file(more, "moves").rename(tmp_path / "moves.parquet")
    the_file(more, "brokers").unlink()
    arrive(the_file(landing, "moves"), landing, landing, "copy-")
    take(spark, store, landing)
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "MISSING" in line)
    lost = len(expected["moves"]) // 2
    hour = "2023-11-14T22"
    assert f"MISSING: {lost} of {2 * lost} rows of moves in the hour {hour} of run run, cluster cluster: " in line
    moves.rename(more / "moves" / "date=2023-11-14" / "hour=22" / "kafka-warden-late.parquet")
    take(spark, store, landing)
    assert "MISSING" not in capsys.readouterr().err
    assert rows(store) == expected


def test_file_with_damaged_rows_and_a_good_footer_stops_no_other_file(
    spark: SparkSession, judged: list[Poll], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, landing = tmp_path / "store", tmp_path / "landing"
    write(landing, judged[:1])
    write(landing / "other", of_cluster(judged[:1], "other"))
    expected, damaged = landed(landing), the_file(landing, "brokers")
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:4] + bytes(400) + whole[404:])
    take(spark, store, landing)
    assert f"NOT TAKEN: file://{damaged}: it is cut off or damaged" in capsys.readouterr().err
    assert {name: len(found) for name, found in rows(store).items()} == {
        name: len(found) // (2 if name == "brokers" else 1) for name, found in expected.items()
    }
    damaged.write_bytes(whole)
    take(spark, store, landing)
    assert rows(store) == expected


@full
def test_overlapping_files_are_compared_by_row(spark: SparkSession, judged: list[Poll], tmp_path: Path) -> None:
    store, landing, cut = tmp_path / "store", tmp_path / "landing", tmp_path / "cut"
    write(landing, judged[:6])
    write(cut, judged[:6])
    for file in cut.rglob("*.parquet"):
        table = pq.ParquetFile(file).read()
        rewrite(file, table.slice(0, len(table) // 2))
    take(spark, store, cut)
    take(spark, store, landing)
    assert rows(store) == landed(landing)


@full
def test_what_is_wrong_is_reported(
    spark: SparkSession, judged: list[Poll], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged file, until it is whole; polls that are missing; files that are too old; files that were known."""
    store, landing = tmp_path / "store", tmp_path / "landing"
    write(landing, judged[:2], file_rows=1)
    take(spark, store, landing)
    write(landing, judged[4:5])
    write(tmp_path / "whole", judged[5:6])
    for file in (tmp_path / "whole" / "brokers").rglob("*.parquet"):
        arrive(file, tmp_path / "whole", landing)
        damaged = landing / file.relative_to(tmp_path / "whole")
        damaged.write_bytes(damaged.read_bytes()[:-9])
        capsys.readouterr()
        take(spark, store, landing)
        said = capsys.readouterr().err
        assert f"NOT TAKEN: file://{damaged}: it is cut off or damaged" in said
        assert "MISSING: polls 2 to 3 of run run, cluster cluster" in said
        arrive(file, tmp_path / "whole", landing)
        take(spark, store, landing)
        assert "NOT TAKEN" not in capsys.readouterr().err
    take(spark, store, landing, Options({"raw": 30}))
    assert "the first day of the store (--keep-raw)" in capsys.readouterr().err


@full
def test_days_that_are_too_old_are_deleted(
    spark: SparkSession, judged: list[Poll], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minutes, the list of files, and the day after that raw rows. Hours stay: a roll-up of what is gone does nothing.

    Files of a day that was deleted are not taken again.
    """
    store, landing = tmp_path / "store", tmp_path / "landing"
    write(landing, judged)
    stored(spark, store, landing)
    roll_up(spark, store)
    before = marts(store)
    write(landing, history_polls(1, "today", time.time()))
    # The numbers of days are the store's.
    take(spark, store, landing, Options({"raw": 31, "minutes": 32}))
    write(landing, judged, file_rows=3)
    tomorrow = Store(spark, store).today() + timedelta(days=1)
    monkeypatch.setattr(Store, "today", lambda _: tomorrow)
    assert len(rows(store)["polls"]) > 1
    take(spark, store, landing, Options())
    assert Store(spark, store).retention() == {"raw": 31, "minutes": 32}
    assert {run for listed in rows(store).values() for _, run, *_ in listed} == {"today"}
    roll_up(spark, store, start=NOON, end=NOON + HOUR)
    after = marts(store)
    for mart in MARTS["rollup"]:
        assert after[mart.name] == (before[mart.name] if mart.name.endswith(("_hour", "_day")) else {}), mart.name
    write(landing, history_polls(1, "later", time.time()))
    take(spark, store, landing)
    assert {run for listed in rows(store).values() for _, run, *_ in listed} == {"today", "later"}


@pytest.mark.parametrize("call", [Store.open, lambda store: store.create()])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "two processes could commit at the same time on S3; .* pipeline jars --s3"),
        (
            {INTERCEPTORS: PUT_IF_ABSENT, "spark.hadoop.delta.enableFastS3AListFrom": "True"},
            "VACUUM deletes the logs of tables; start Spark without it",
        ),
    ],
)
def test_settings_that_would_damage_a_store_on_s3_are_refused(
    call: Callable[[Store], None], settings: dict[str, str], message: str
) -> None:
    spark: Any = SimpleNamespace(conf=settings)
    with pytest.raises(StoreError, match=message):
        call(Store(spark, "s3a://bucket/store"))


@full
def test_store_of_another_version(
    spark: SparkSession, fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="no store; first run kafka-warden pipeline ingest"):
        roll_up(spark, tmp_path)
    stored(spark, tmp_path, fleet)
    for version in (0, 2):
        monkeypatch.setattr(stores, "VERSION", version)
        with pytest.raises(StoreError, match=f"a store of version 1, and this program reads {version}"):
            roll_up(spark, tmp_path)


@full
def test_tables_are_compacted_by_cluster_and_day(spark: SparkSession, fleet: Path, tmp_path: Path) -> None:
    for hour in range(22, 24):
        for file in fleet.rglob(f"hour={hour}/*.parquet"):
            arrive(file, fleet, tmp_path / "landing")
        take(spark, tmp_path / "store", tmp_path / "landing")
    read = Store(spark, tmp_path / "store").read(raw("replicas"))
    days = read.select("cluster_id", "date").distinct().count()
    assert len(read.inputFiles()) == days
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{tmp_path}/store/raw/replicas`").collect()[0]
    assert detail["partitionColumns"] == ["cluster_id", "date"]
    assert detail["properties"]["delta.enableDeletionVectors"] == "false"


NUMBERS = StoredTable("numbers", "number bigint", ())
KEPT_HOURS = 7 * 24


class Nights:
    """A table that is replaced and vacuumed in one night after another: its files grow older.

    Each second commit has a checkpoint, at which Delta deletes old entries of the log.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.folder = Path(store.given) / NUMBERS.name

    def run(self, count: int) -> None:
        """Let some nights pass, with a run in each."""
        for _ in range(count):
            self.store.replace(NUMBERS, self.store.spark.createDataFrame([(1,)], NUMBERS.ddl), "number = 1")
            self.store.vacuum(NUMBERS, KEPT_HOURS)
            self.rest(1)

    def rest(self, days: int) -> None:
        for path in self.folder.rglob("*.*"):
            os.utime(path, (path.stat().st_mtime - days * 24 * HOUR,) * 2)

    def lose(self) -> Path:
        """Add a file that no commit knows."""
        path = self.folder / "lost.parquet"
        path.touch()
        return path

    def first_entry(self) -> int:
        """Return the first version of which the log has an entry."""
        return min(int(path.stem) for path in (self.folder / "_delta_log").glob("*.json"))


@pytest.fixture
def nights(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    monkeypatch.setattr(stores, "PROPERTIES", {**stores.PROPERTIES, "delta.checkpointInterval": "2"})
    nights = Nights(Store(spark, tmp_path))
    nights.run(1)
    return nights


@full
def test_nights_do_not_list_tables(nights: Nights) -> None:
    """Of the log there is always enough, also when every second night is left out: a listing would find the file."""
    file = nights.lose()
    for _ in range(9):
        nights.rest(1)
        nights.run(1)
    assert nights.first_entry() > 0
    assert file.exists()


@full
def test_nights_go_on_after_a_rest_that_is_longer_than_logs_are_kept(nights: Nights) -> None:
    file = nights.lose()
    nights.rest(40)
    nights.run(2)
    assert nights.first_entry() > 0
    nights.rest(6)
    assert file.exists()
    nights.run(1)
    assert not file.exists()
    later = nights.lose()
    for _ in range(4):
        nights.rest(1)
        nights.run(1)
    assert later.exists()
