"""A replay through Spark says what the sidecar said, poll by poll, and owns up where it cannot."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.history.poll import Poll
from kafka_warden.pipeline.replay import CONFIDENCE, gathered, notes, replayed
from kafka_warden.pipeline.session import persisted
from tests.history.places import write
from tests.history.replay import Rows, differences, in_order_of, restarted_polls, rows, scene_polls, written
from tests.pipeline.stored import history


def differing(gathered_rows: DataFrame, table: str, before: list[Poll]) -> list[tuple[str, int, str]]:
    """Polls and columns of one table that are not exactly as they were."""
    found: dict[tuple[str, int], Rows] = {}
    for row in replayed(gathered_rows, table).toArrow().to_pylist():
        columns = found.setdefault((row["run"], row["sequence"]), {})
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    different = []
    for poll in before:
        was = {table: rows(poll)[table]}
        if not any(map(len, was[table].values())):
            assert (poll.run, poll.sequence) not in found
            continue
        now = written({table: {name: found[poll.run, poll.sequence][name] for name in was[table]}})
        names = [column for _, column in differences(was, in_order_of(was, now))]
        different += [(poll.run, poll.sequence, name) for name in names]
    return different


@pytest.fixture(scope="module")
def restarted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataFrame]:
    folder = tmp_path_factory.mktemp("restarted")
    write(folder / "landing" / "one", scene_polls())
    write(folder / "landing" / "two", restarted_polls())
    with persisted(gathered(history(spark, folder / "store", folder / "landing"))) as rows:
        yield rows


@pytest.mark.parametrize("table", ["brokers", "moves", "polls", "quotas", "replicas"])
def test_two_runs_are_judged_alike(restarted: DataFrame, table: str) -> None:
    """States, causes, since when, tokens and every number of two processes are exactly those that were written."""
    assert differing(restarted, table, [*scene_polls(), *restarted_polls()]) == []


def test_what_is_missing_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    """A poll in parts, a gap and a run without its beginning are named, and evaluated as the documents say."""
    polls = scene_polls()
    lost = replace(polls[3], derived=replace(polls[3].derived, moves=()))
    landing = tmp_path / "landing"
    write(landing / "one", [*polls[:3], *polls[5:]])
    write(landing / "two", [replace(poll, run="late") for poll in polls[2:4]])
    write(landing / "three", [replace(poll, run="torn") for poll in polls[:2]])
    write(landing / "four", [replace(poll, run="torn") for poll in (polls[2], lost)])
    for file in (landing / "four").glob("partitions/*/*/*.parquet"):
        file.unlink()
    found: dict[str, list[str]] = {}
    with persisted(gathered(history(spark, tmp_path / "store", landing))) as rows:
        for row in notes(rows).orderBy("run", "sequence").collect():
            found.setdefault(row.run, []).append(row[CONFIDENCE])
            assert bool(row.problem) == (row[CONFIDENCE] == "incomplete")
        confidences = {(row["run"], row[CONFIDENCE]) for row in replayed(rows, "polls").collect()}
    assert found["run"] == ["exact"] * 3 + ["gap"] * 5
    assert found["late"] == ["unfounded"] * 2
    assert found["torn"] == ["exact"] * 2 + ["incomplete"] * 2
    assert confidences == {("run", "exact"), ("run", "gap"), ("late", "unfounded"), ("torn", "exact")}


def test_batches_may_end_anywhere(spark: SparkSession, restarted: DataFrame) -> None:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        assert differing(restarted, "replicas", [*scene_polls(), *restarted_polls()]) == []
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
