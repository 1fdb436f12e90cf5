"""The stream of the pipeline's roll-up as a real process, killed in whatever it is doing, again and again."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sandbox import wait_for
from tests.pipeline.arrivals import arrive, contents, files_of, history_polls, rolled

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0
"""Seconds until a batch has come to some step, on a machine that does much else."""

pytestmark = [pytest.mark.long, pytest.mark.spark]


def rows_staged(output: Path) -> set[Path]:
    """Rows of a batch are there."""
    return set(output.glob("_rollup-stream/rows/window=*/batch=*"))


def first_mart_begun(output: Path) -> set[Path]:
    """The first mart is being written."""
    return set(output.glob("replica_minute/.spark-staging-*"))


def last_mart_begun(output: Path) -> set[Path]:
    """All marts but one are written."""
    return set(output.glob("broker_hour/.spark-staging-*"))


def books_written(output: Path) -> set[Path]:
    """The batch is done, and Spark may or may not know it."""
    return set(output.glob("_rollup-stream/books/*.json"))


STEPS: tuple[Callable[[Path], set[Path]], ...] = (rows_staged, first_mart_begun, last_mart_begun, books_written)
"""What a step leaves behind that was not there before."""


@contextmanager
def running(folder: Path, output: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command in a process group of its own, JVM included, and kill all of it at the end."""
    command = [sys.executable, "-m", "exporter.cli", "pipeline", "rollup", "--stream", *flags, "--memory", "1g"]
    command += ["--master", "local[1]", "--input", str(folder), "--output", str(output)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_marts_are_those_of_the_batch_job(spark: SparkSession, tmp_path: Path) -> None:
    """Files out of order, late and twice; a SIGKILL in each step of a batch: no loss, no duplicates."""
    source, folder, output = (tmp_path / name for name in ("source", "history", "marts"))
    files = files_of(source, history_polls())
    expected = rolled(spark, source, tmp_path / "expected")
    dice = random.Random(3)
    coming = [(file, "") for file in files] + [(file, "copy-") for file in dice.sample(files, len(files) // 3)]
    dice.shuffle(coming)
    parts = len(STEPS) + 1
    for number, step in enumerate(STEPS):
        for file, name in coming[number::parts]:
            arrive(file, source, folder, name)
        before = step(output)
        with running(folder, output, "--every", "1s") as process:
            wait_for(lambda step=step, before=before: bool(step(output) - before), PATIENCE)
            assert process.poll() is None
    for file, name in coming[len(STEPS) :: parts]:
        arrive(file, source, folder, name)
    with running(folder, output, "--until-done") as last:
        assert last.wait(PATIENCE) == 0
    assert contents(spark, output) == expected
    assert not list(output.glob("*/.spark-staging-*")), "what a killed process began is swept away"
