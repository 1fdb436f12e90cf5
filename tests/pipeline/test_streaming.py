"""The roll-up of what arrives gives what the roll-up of all gives, however often it is stopped in whatever step."""

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kafka_warden.errors import JobError, MissingColumnError
from kafka_warden.pipeline import marts
from kafka_warden.pipeline.rollup.stream.batch import Batches
from kafka_warden.pipeline.rollup.stream.stream_progress import ProgressStore, StreamProgress
from tests.pipeline.arrivals import arrive, contents, files_of, history_polls, streamed


def shuffled(source: Path, parts: int, seed: int) -> list[list[tuple[Path, str]]]:
    """Cut all files, and a third of them once more under another name, into parts in any order."""
    dice = random.Random(seed)
    files = sorted(source.rglob("kafka-warden-*.parquet"))
    all_of_them = [(file, "") for file in files] + [(file, "copy-") for file in dice.sample(files, len(files) // 3)]
    dice.shuffle(all_of_them)
    return [all_of_them[part::parts] for part in range(parts)]


def test_stream_equals_batch(spark: SparkSession, source: Path, rolled_up: dict[str, Any], tmp_path: Path) -> None:
    """Files out of order, late and twice, in several batches with a restart before each: the marts of the batch job."""
    # Names that are patterns where Spark looks for one.
    history, marts = tmp_path / "history [1] {a,b}", tmp_path / "marts [1] *"
    for part in shuffled(source, 3, 1):
        for file, name in part:
            arrive(file, source, history, name)
        streamed(spark, history, marts)
    assert contents(spark, marts) == rolled_up


@pytest.mark.parametrize(
    "step",
    [
        "last mart",
        *(
            pytest.param(step, marks=pytest.mark.full_pipeline)
            for step in ("staging", "first mart", "before the progress")
        ),
        "after the progress",
    ],
)
def test_batch_that_broke_off_is_made_again(
    spark: SparkSession,
    source: Path,
    rolled_up: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    """A batch that breaks off in any of its steps leaves, when it is made again, what it would have left."""
    for number, part in enumerate(shuffled(source, 2, 2)):
        for file, name in part:
            arrive(file, source, tmp_path / "history", name)
        if number:
            broken_at(monkeypatch, step)
            with pytest.raises(StreamingQueryException):
                streamed(spark, tmp_path / "history", tmp_path / "marts", 3600.0 * 3)
            monkeypatch.undo()
        streamed(spark, tmp_path / "history", tmp_path / "marts", 3600.0 * 3)
    assert contents(spark, tmp_path / "marts") == rolled_up


def broken_at(patch: pytest.MonkeyPatch, step: str) -> None:
    """Let the next batch break off."""
    written = list[str]()
    write_parts, put, stage = marts.write_parts, ProgressStore.put, Batches._stage

    def break_off(*_: Any) -> None:
        raise RuntimeError("broken off")

    def write_some(mart: marts.Mart, *given: Any) -> None:
        if len(written) == (0 if step == "first mart" else 7):
            break_off()
        written.append(mart.name)
        write_parts(mart, *given)

    def put_and_break(store: ProgressStore, after: StreamProgress) -> None:
        put(store, after)
        break_off()

    def stage_and_break(batches: Batches, *given: Any) -> None:
        stage(batches, *given)
        break_off()

    if step == "staging":
        patch.setattr(Batches, "_stage", stage_and_break)
    elif step == "before the progress":
        patch.setattr(ProgressStore, "put", break_off)
    elif step == "after the progress":
        patch.setattr(ProgressStore, "put", put_and_break)
    else:
        patch.setattr(marts, "write_parts", write_some)


def test_rows_of_closed_hours_are_counted_and_kept(
    spark: SparkSession, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What comes after its hour is closed is in no mart, counted, reported, and stored; nothing is dropped silently."""
    files = sorted(source.rglob("kafka-warden-*.parquet"))
    first = [file for file in files if "replicas" in file.parts and f"-{0:09d}-" in file.name]
    for file in files:
        if file not in first:
            arrive(file, source, tmp_path / "history")
    streamed(spark, tmp_path / "history", tmp_path / "marts", 3600.0)
    before = contents(spark, tmp_path / "marts")
    for file in first:
        arrive(file, source, tmp_path / "history")
    capsys.readouterr()
    streamed(spark, tmp_path / "history", tmp_path / "marts", 3600.0)
    assert contents(spark, tmp_path / "marts") == before
    assert "TOO LATE and in no mart: 15 of replicas" in capsys.readouterr().err
    assert spark.read.parquet(str(tmp_path / "marts" / "_rollup-stream" / "late")).count() == 15


def test_closed_hours_are_forgotten(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """Rows of hours that nothing can change any more are deleted, those of open hours are not."""
    for file in source.rglob("kafka-warden-*.parquet"):
        arrive(file, source, tmp_path / "history")
    streamed(spark, tmp_path / "history", tmp_path / "marts", 3600.0)
    kept = tmp_path / "marts" / "_rollup-stream" / "rows"
    hours = sorted(kept.glob("window=*"))
    arrive(next(source.rglob("kafka-warden-*.parquet")), source, tmp_path / "history", "copy-")
    streamed(spark, tmp_path / "history", tmp_path / "marts", 3600.0)
    assert sorted(kept.glob("window=*")) == hours[-2:]


def test_clock_ahead_closes_nothing(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """One sidecar whose clock is a thousand years ahead does not make the rows of the others late."""
    files_of(tmp_path / "ahead", history_polls(1, "ahead", 33_000_000_000.0))
    for file in (tmp_path / "ahead").rglob("kafka-warden-*.parquet"):
        arrive(file, tmp_path / "ahead", tmp_path / "history" / "ahead")
    streamed(spark, tmp_path / "history", tmp_path / "marts", 1e9)
    for file in source.rglob("kafka-warden-*.parquet"):
        arrive(file, source, tmp_path / "history" / "mine")
    streamed(spark, tmp_path / "history", tmp_path / "marts", 1e9)
    found = contents(spark, tmp_path / "marts")
    assert sum(row["polls"] for row in found["cluster_hour"].values()) == 20


def test_file_without_a_column_stops_the_stream(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """A file that lacks a column is named, and its rows are not taken for unknown."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # only here

    file = next((source / "replicas").rglob("*.parquet"))
    found = pq.read_table(file)
    place = tmp_path / "history" / file.relative_to(source)
    place.parent.mkdir(parents=True)
    pq.write_table(found.drop_columns(["lag_bytes"]), place)
    with pytest.raises(MissingColumnError, match=rf"{place.name}: the column lag_bytes"):
        streamed(spark, tmp_path / "history", tmp_path / "marts")


def test_file_that_is_cut_off_stops_the_stream(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """A truncated file is named; the stream goes on without it when it is taken away."""
    file = next((source / "replicas").rglob("*.parquet"))
    place = tmp_path / "history" / file.relative_to(source)
    place.parent.mkdir(parents=True)
    place.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(JobError, match=place.name):
        streamed(spark, tmp_path / "history", tmp_path / "marts")
    place.unlink()
    streamed(spark, tmp_path / "history", tmp_path / "marts")
    assert in_books(tmp_path / "marts") == [0]


def test_file_of_another_program_in_front_of_the_folders_is_passed_by(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    """As the batch job does: what is not below date and hour is no history."""
    for file in source.rglob("kafka-warden-*.parquet"):
        arrive(file, source, tmp_path / "history")
    (tmp_path / "history" / "replicas" / "mine.parquet").write_bytes(b"no Parquet")
    streamed(spark, tmp_path / "history", tmp_path / "marts")
    assert in_books(tmp_path / "marts") == [0]


def in_books(output: Path) -> list[int]:
    """Batches that are done."""
    return sorted(int(file.stem) for file in (output / "_rollup-stream" / "books").glob("*.json"))
