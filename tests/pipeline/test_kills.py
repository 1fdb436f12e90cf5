"""Real processes: killed on S3 (moto) at puts that commit and on a disk at random, and stopped while others run."""

import os
import random
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from bench.nights_bucket import CountingBucket
from kafka_warden.pipeline.jars import S3, build, fetch, listed
from kafka_warden.pipeline.store import raw
from sandbox.jars import cache_directory
from tests.history.places import write
from tests.pipeline.arrivals import arrive, history_polls
from tests.pipeline.on_s3 import At, download, make, nightly, running, upload
from tests.pipeline.stored import landed, marts, of_cluster, roll_up, rolled, rows, stored, take
from tests.support.s3 import Bucket, nothing, serving

pytestmark = [pytest.mark.spark, pytest.mark.full_pipeline, pytest.mark.timeout(7200)]

DAY = 86400
POLLS = 7
ENTRIES = 1001
"""Of a log. The next one has no checkpoint, after which Delta looks for old entries."""
LEAST_COMMITS, MOST_COMMITS = 4, 80
"""Of one run of ingest: the tables, the file, the list and what the run did."""
CLUSTERS = ("one", "two")
LANDED = ("brokers", "partitions", "polls", "replicas")
"""Without these tables some marts would be empty."""
KILLS = 10
FILES = 140
"""That a run of ingest and rollup makes in a store on a disk, at least: data, entries of logs and checksums."""


@pytest.fixture(scope="module")
def s3_jars() -> Path:
    folder = cache_directory() / "spark-jars-s3"
    fetch([jar for jar in listed() if jar.of in {"delta", S3}], folder)
    build(folder)
    return folder


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with serving() as made:
        make(made)
        yield made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two days ago in two folders: the command has the usual retention."""
    folder, polls = tmp_path_factory.mktemp("source"), history_polls(POLLS, beginning=two_days_ago())
    write(folder / "earlier", polls[:3])
    write(folder / "later", polls[3:])
    return folder


def two_days_ago() -> float:
    """Noon of a day that retention keeps, Unix s."""
    return datetime.now(UTC).timestamp() // DAY * DAY - 1.5 * DAY


def check(spark: SparkSession, store: Path, source: Path, expected: Path) -> None:
    """Each row is there once, and the marts are those of one run over the files."""
    assert rows(store) == landed(source)
    assert marts(store) == rolled(spark, expected, source)


def test_run_that_was_stopped_at_its_commit_replaces_nothing(
    spark: SparkSession, s3_jars: Path, bucket: Bucket, source: Path, tmp_path: Path
) -> None:
    upload(bucket, stored(spark, tmp_path / "before", source / "earlier"), "store")
    upload(bucket, source / "later", "landing")
    stopped, go_on = Event(), Event()
    with running(nightly(s3_jars), bucket) as first:

        def stop() -> None:
            os.killpg(first.pid, signal.SIGSTOP)
            stopped.set()
            # S3 gets the put when the other one is done.
            go_on.wait()

        bucket.before = At(1, stop, lambda path: "/raw/replicas/" in path)
        assert stopped.wait(3000), "it never came to the put"
        with running(nightly(s3_jars), bucket) as second:
            _, said = second.communicate(timeout=3000)
            assert second.returncode == 0, said
        before = list(bucket.commits)
        go_on.set()
        os.killpg(first.pid, signal.SIGCONT)
        _, said = first.communicate(timeout=3000)
    assert first.returncode == 2
    assert "another process has written to raw/replicas at the same time, and this one has not" in said
    assert bucket.commits == before
    check(spark, download(bucket, "store", tmp_path / "store"), source, tmp_path / "expected")


def test_log_is_listed_from_its_last_checkpoint_on(
    spark: SparkSession, s3_jars: Path, source: Path, tmp_path: Path
) -> None:
    place = stored(spark, tmp_path / "before", source / "earlier")
    table = place / raw("polls").name
    for version in range(1, ENTRIES):
        (table / "_delta_log" / f"{version:020}.json").write_text('{"commitInfo":{"operation":"WRITE"}}\n')
    DeltaTable(table).create_checkpoint()
    bucket = CountingBucket()
    with serving(bucket):
        make(bucket)
        upload(bucket, place, "store")
        upload(bucket, source / "later", "landing")
        bucket.clear()
        with running(nightly(s3_jars, "ingest"), bucket) as process:
            _, said = process.communicate(timeout=3000)
        assert process.returncode == 0, said
        assert 0 < bucket.listed["store/raw/polls/_delta_log"] < ENTRIES
        assert rows(download(bucket, "store", tmp_path / "store")) == landed(source)


def test_kill_at_every_commit_loses_and_repeats_nothing(
    spark: SparkSession, s3_jars: Path, bucket: Bucket, tmp_path: Path
) -> None:
    """Run N of ingest finds a new file, and is killed when it has put N log entries; so are then those of a roll-up."""
    source, ingest, roll_up = tmp_path / "source", nightly(s3_jars, "ingest"), nightly(s3_jars, "rollup")
    write(source, history_polls(POLLS, beginning=two_days_ago()), file_rows=1)
    expected = rolled(spark, tmp_path / "expected", source)
    files = sorted(source.rglob("kafka-warden-*.parquet"))
    random.Random(15).shuffle(files)
    kills = 0
    for file in files:
        upload(bucket, file, f"landing/{file.relative_to(source)}")
        if not killed_at(kills + 1, ingest, bucket):
            break
        kills += 1
    assert kills >= LEAST_COMMITS
    upload(bucket, source, "landing")
    assert not killed_at(MOST_COMMITS, ingest, bucket)
    for kills in range(MOST_COMMITS):
        if not killed_at(kills + 1, roll_up, bucket):
            break
        seen = marts(download(bucket, "store", tmp_path / f"rollup-{kills}"))
        assert all(seen[name] in ({}, whole) for name, whole in expected.items())
    assert kills >= len(expected)
    store = download(bucket, "store", tmp_path / "store")
    assert rows(store) == landed(source)
    assert marts(store) == expected


def killed_at(number: int, command: list[str], bucket: Bucket) -> bool:
    """Run a command, and kill it when it has put so many log entries; return whether it came so far.

    Odd ones are killed before they get the answer, others at the next put, of which S3 knows nothing.
    """
    with running(command, bucket) as process:

        def kill() -> None:
            os.killpg(process.pid, signal.SIGKILL)
            bucket.down = True

        answered = number % 2 == 0
        hook = At(number + answered, kill)
        bucket.before, bucket.after = (hook, nothing) if answered else (nothing, hook)
        _, said = process.communicate(timeout=3000)
        bucket.before = bucket.after = nothing
        bucket.down = False
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode != 0


def test_kill_at_random_on_a_disk_loses_and_repeats_nothing(spark: SparkSession, jars: Path, tmp_path: Path) -> None:
    """Each run finds new files of all these tables, and is killed in another tenth of its way."""
    source, landing, store = (tmp_path / name for name in ("source", "landing", "store"))
    polls = history_polls(KILLS + 1, beginning=two_days_ago())
    for cluster in CLUSTERS:
        write(source / cluster, of_cluster(polls, cluster), file_rows=1)
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    points = [FILES * (kill + chance.random()) / KILLS for kill in chance.sample(range(KILLS), KILLS)]
    print(f"seed {seed}: killed when the store has got so many files: {points}")
    tables = [sorted(source.glob(f"{cluster}/{name}/**/*.parquet")) for cluster in CLUSTERS for name in LANDED]
    for files in tables:
        chance.shuffle(files)
    command = nightly(jars, landing=str(landing), store=str(store))
    # With one partition there is nothing to adapt.
    command += ["--conf", f"spark.local.dir={tmp_path}", "--conf", "spark.sql.adaptive.enabled=false"]
    for number, point in enumerate([*points, None]):
        for files in tables:
            for file in files[number :: KILLS + 1]:
                arrive(file, source, landing)
        before = count(store)
        with running(command) as process:
            while point is not None and process.poll() is None:
                if count(store) >= before + point:
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(0.01)
            _, said = process.communicate(timeout=3000)
        assert process.returncode == (0 if point is None else -signal.SIGKILL), said
    check(spark, store, landing, tmp_path / "expected")


@pytest.mark.realtime
def test_hours_that_an_overtaken_roll_up_replaced_late_are_repaired(
    spark: SparkSession, jars: Path, tmp_path: Path
) -> None:
    """It is stopped when it has read all, and written a part. Until it goes on, another run has done more."""
    landing, polls = tmp_path / "landing", history_polls(4, beginning=two_days_ago())
    write(landing / "earlier", polls[:2])
    store = stored(spark, tmp_path / "store", landing)
    with running(nightly(jars, "rollup", store=str(store))) as process:
        while process.poll() is None and not list(store.glob("topic_minute/_delta_log/*.json")):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGSTOP)
        write(landing / "later", polls[2:])
        take(spark, store, landing)
        roll_up(spark, store)
        expected = marts(store)
        os.killpg(process.pid, signal.SIGCONT)
        _, said = process.communicate(timeout=3000)
    assert process.returncode == 0, said
    assert marts(store) != expected
    roll_up(spark, store)
    check(spark, store, landing, tmp_path / "expected")


def count(folder: Path) -> int:
    """Count the files in a folder and all below it."""
    return sum(len(files) for *_, files in os.walk(folder))
