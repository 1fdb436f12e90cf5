"""The stream of the pipeline's roll-up as a real process, killed in whatever it is doing, again and again."""

import os
import random
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sandbox import wait_for
from tests.pipeline.arrivals import arrive, contents, files_of, history_polls, rolled
from tests.pipeline.killed import (
    TIME_LIMIT,
    Step,
    books_written,
    finished,
    first_mart_begun,
    is_alive,
    killed_in,
    last_mart_begun,
    rows_staged,
    running_in,
)

pytestmark = [pytest.mark.spark, pytest.mark.full_pipeline]

STEPS = (rows_staged, first_mart_begun, last_mart_begun, books_written)


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
        killed_in(step, folder, output)
    for file, name in coming[len(STEPS) :: parts]:
        arrive(file, source, folder, name)
    last = finished(folder, output)
    assert last.returncode == 0, last.stderr
    assert contents(spark, output) == expected
    assert not list(output.glob("*/.spark-staging-*")), "what a killed process began is swept away"


@pytest.mark.parametrize("step", [rows_staged, books_written])
def test_ctrl_c_ends_it(tmp_path: Path, step: Step, capfd: pytest.CaptureFixture[str]) -> None:
    """In the middle of a batch, and between two: exit code 130, no stack, and no JVM is left."""
    files_of(tmp_path / "history", history_polls(2))
    with running_in(step, tmp_path / "history", tmp_path / "marts") as process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(TIME_LIMIT) == 128 + signal.SIGINT
        wait_for(lambda: not is_alive(process.pid), TIME_LIMIT, "its JVM has ended")
    said = capfd.readouterr().err.splitlines()
    assert said[-1] == "kafka-warden: interrupted"
    assert all(line.startswith(("kafka-warden: ", "WARNING: ")) for line in said), said
