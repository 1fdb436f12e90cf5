"""`ingest` and `rollup` on a store as real processes, killed with SIGKILL at random points between their commits."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sandbox import wait_for
from tests.history.places import write
from tests.pipeline.arrivals import arrive, history_polls
from tests.pipeline.commands import ROOT, SMALL, TIME_LIMIT
from tests.pipeline.stored import landed, marts, rolled, rows
from tests.support.processes import run

pytestmark = [pytest.mark.spark, pytest.mark.full_pipeline, pytest.mark.timeout(3600)]

KILLS = 10
MOST_COMMITS = 25
"""Of one call, with the creation of its tables."""


def command(landing: Path, store: Path, jars: Path) -> list[str]:
    """What runs each night; the scene is of 2023."""
    made = [sys.executable, "-m", "kafka_warden.cli", "pipeline", "ingest,rollup"]
    made += ["--input", str(landing), "--store", str(store), "--jars", str(jars)]
    return [*made, "--keep-raw", "100000", "--keep-minutes", "100000", *SMALL]


def commits(store: Path) -> int:
    """Count the commits of all tables."""
    return len(list(store.rglob("_delta_log/*.json")))


def killed(command: list[str], store: Path, wanted: int) -> bool:
    """Run a command until the store has some number of commits, and kill it there; return whether it was running."""
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        wait_for(lambda: process.poll() is not None or commits(store) >= wanted, TIME_LIMIT, "it has committed")
        if process.poll() is not None:
            return False
        os.killpg(process.pid, signal.SIGKILL)
    return True


def test_kills_lose_and_repeat_nothing(spark: SparkSession, jars: Path, tmp_path: Path) -> None:
    """Files that arrive between the kills, some twice: in the end each row is there once, and the marts are whole."""
    source, landing, store = (tmp_path / name for name in ("source", "landing", "store"))
    write(source, history_polls(), file_rows=40)
    files = sorted(source.rglob("kafka-warden-*.parquet"))
    dice = random.Random(15)
    dice.shuffle(files)
    kills = 0
    for number in range(KILLS):
        for file in files[number :: KILLS + 1]:
            arrive(file, source, landing)
        for file in dice.sample(files, 3):
            arrive(file, source, landing, "copy-")
        kills += killed(command(landing, store, jars), store, commits(store) + 1 + dice.randrange(MOST_COMMITS))
    assert kills > KILLS / 2
    for file in files[KILLS :: KILLS + 1]:
        arrive(file, source, landing)
    last = run(*command(landing, store, jars), cwd=ROOT, timeout=TIME_LIMIT)
    assert last.returncode == 0, last.stderr
    assert rows(store) == landed(source)
    assert marts(store) == rolled(spark, tmp_path / "expected", source)
