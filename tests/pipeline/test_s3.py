"""A store on S3, with real processes on moto: kills at the puts that commit, and a holder that is stopped at one."""

import os
import random
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline import put_if_absent
from kafka_warden.pipeline.ingest.plan import How
from kafka_warden.pipeline.jars import S3, fetch, listed
from kafka_warden.pipeline.store import LANDING as PLANS
from kafka_warden.pipeline.store import Store, raw
from sandbox.jars import cache_directory
from tests.history.places import write
from tests.pipeline.arrivals import history_polls
from tests.pipeline.on_s3 import At, download, make, nightly, running, upload
from tests.pipeline.stored import landed, marts, rolled, rows
from tests.support.s3 import Bucket, nothing, serving

pytestmark = [pytest.mark.spark, pytest.mark.full_pipeline, pytest.mark.timeout(7200)]

DAY = 86400
POLLS = 7
MOST_COMMITS = 80
"""More than one night has."""


@pytest.fixture(scope="module")
def s3_jars() -> Path:
    """The folder with the jars of S3."""
    folder = cache_directory() / "spark-jars-s3"
    fetch([jar for jar in listed() if jar.of in {"delta", S3}], folder)
    put_if_absent.build(folder)
    return folder


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """An empty bucket."""
    with serving() as made:
        make(made)
        yield made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two days ago: the command has the usual retention."""
    folder = tmp_path_factory.mktemp("source")
    write(folder, history_polls(POLLS, beginning=two_days_ago()))
    return folder


def two_days_ago() -> float:
    """Noon of a day that retention keeps, Unix s."""
    return datetime.now(UTC).timestamp() // DAY * DAY - 1.5 * DAY


def check(spark: SparkSession, store: Path, source: Path, expected: Path) -> None:
    """Each row is there once, and the marts are those of one run over the files."""
    assert rows(spark, store) == landed(source)
    assert marts(spark, store) == rolled(spark, expected, source)


def check_batches(spark: SparkSession, store: Path) -> None:
    """What a reader sees at any moment: of each batch and table all planned rows, or none."""
    made = Store(spark, store)
    plan = made.read(PLANS).where(f"how = '{How.NEW}'").groupBy("table", "batch").sum("rows").collect()
    planned = {(table, batch): count for table, batch, count in plan}
    for table in {table for table, _ in planned}:
        for batch, count in made.read(raw(table)).groupBy("batch").count().collect():
            assert count == planned[table, batch], (table, batch)


def test_stopped_holder_commits_nothing(
    spark: SparkSession, s3_jars: Path, bucket: Bucket, source: Path, tmp_path: Path
) -> None:
    """It is stopped at the put of an entry of a raw table, past its lease; another run takes over; it goes on."""
    upload(bucket, source, "landing")
    stopped, go_on = Event(), Event()
    with running(nightly(s3_jars, lease=5.0), bucket) as first:

        def stop() -> None:
            os.killpg(first.pid, signal.SIGSTOP)
            stopped.set()
            # S3 gets the put when the other one is done.
            go_on.wait()

        bucket.before = At(1, stop, lambda path: "/raw/replicas/" in path and not path.endswith("00.json"))
        assert stopped.wait(3000), "it never came to the put"
        time.sleep(6)  # until its lease is over
        with running(nightly(s3_jars), bucket) as second:
            _, said = second.communicate(timeout=3000)
            assert second.returncode == 0, said
        before = list(bucket.commits)
        go_on.set()
        os.killpg(first.pid, signal.SIGCONT)
        _, said = first.communicate(timeout=3000)
    assert first.returncode not in (0, None)
    assert f":{second.pid}:" in said, "the name of the holder"
    assert "runs ingest; this run commits nothing more" in said
    assert bucket.commits == before
    check(spark, download(bucket, "store", tmp_path / "store"), source, tmp_path / "expected")


def test_second_run_ends_with_the_name_of_the_first(s3_jars: Path, bucket: Bucket, source: Path) -> None:
    """While the first one goes on, and ends well."""
    upload(bucket, source, "landing")
    at_plan, go_on = Event(), Event()
    with running(nightly(s3_jars), bucket) as first:

        def wait() -> None:
            at_plan.set()
            go_on.wait()

        bucket.before = At(2, wait, lambda path: "/landing/_delta_log/" in path and "/store/" in path)
        assert at_plan.wait(3000)
        with running(nightly(s3_jars), bucket) as second:
            _, said = second.communicate(timeout=3000)
        assert second.returncode != 0
        assert f":{first.pid}:" in said
        assert "runs ingest; run one at a time" in said
        go_on.set()
        _, said = first.communicate(timeout=3000)
        assert first.returncode == 0, said


def test_kill_at_every_commit_loses_and_repeats_nothing(
    spark: SparkSession, s3_jars: Path, bucket: Bucket, tmp_path: Path
) -> None:
    """Run N finds new files, and is killed at its Nth put of a log entry, before or after S3 does it."""
    source = tmp_path / "source"
    write(source, history_polls(POLLS, beginning=two_days_ago()), file_rows=1)
    files = sorted(source.rglob("kafka-warden-*.parquet"))
    random.Random(15).shuffle(files)
    for number in range(1, MOST_COMMITS):
        for file in files[number - 1 :: MOST_COMMITS]:
            upload(bucket, file, f"landing/{file.relative_to(source)}")
        killed = kill_at(number, nightly(s3_jars), bucket)
        if not killed:
            break
        check_batches(spark, download(bucket, "store", tmp_path / f"seen-{number}"))
    else:
        pytest.fail("no run came to its end")
    upload(bucket, source, "landing")
    assert not kill_at(10 * MOST_COMMITS, nightly(s3_jars), bucket)
    check(spark, download(bucket, "store", tmp_path / "store"), source, tmp_path / "expected")


def kill_at(number: int, command: list[str], bucket: Bucket) -> bool:
    """Run a command, and kill it at a put of a log entry; return whether it came so far."""
    with running(command, bucket) as process:
        hook = At(number, lambda: os.killpg(process.pid, signal.SIGKILL))
        # The other ones are killed between the put and its answer.
        before = number % 2 == 1
        bucket.before, bucket.after = (hook, nothing) if before else (nothing, hook)
        _, said = process.communicate(timeout=3000)
        bucket.before = bucket.after = nothing
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode != 0
