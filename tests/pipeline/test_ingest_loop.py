"""`ingest,rollup --every` on a real topic as a real process, killed with SIGKILL between commits, ended by SIGTERM."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sandbox import Cluster, wait_for
from tests.history.places import write
from tests.pipeline.arrivals import history_polls
from tests.pipeline.commands import ROOT, SMALL, TIME_LIMIT
from tests.pipeline.stored import landed, marts, rolled, rows
from tests.pipeline.test_ingest_topic import TOPIC, send

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.full_pipeline, pytest.mark.timeout(3600)]

KILLS = 5
MOST_COMMITS = 25
"""Of one call, with the creation of its tables."""


def command(cluster: Cluster, store: Path, jars: Path) -> list[str]:
    made = [sys.executable, "-m", "kafka_warden.cli", "pipeline", "ingest,rollup", "--every", "1s"]
    made += ["--input", f"kafka://{cluster.bootstrap}/{TOPIC}", "--store", str(store), "--jars", str(jars)]
    return [*made, "--keep-raw", "100000", "--keep-minutes", "100000", *SMALL]


def commits(store: Path) -> int:
    return len(list(store.rglob("_delta_log/*.json")))


def killed(command: list[str], store: Path, wanted: int) -> bool:
    """Run a command until the store has some number of commits, and kill it there; return whether it was running."""
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        wait_for(lambda: process.poll() is not None or commits(store) >= wanted, TIME_LIMIT, "it has committed")
        if process.poll() is not None:
            return False
        os.killpg(process.pid, signal.SIGKILL)
    return True


def test_loop_that_is_killed_continues(spark: SparkSession, cluster: Cluster, jars: Path, tmp_path: Path) -> None:
    """Polls arrive between the kills: in the end each row is there once, and the marts are those of the files."""
    cluster.admin.create_topic(TOPIC, assignment={0: [1], 1: [2]})
    landing, store, log = tmp_path / "landing", tmp_path / "store", tmp_path / "log"
    history = history_polls()
    write(landing, history)
    dice = random.Random(16)
    for number in range(KILLS):
        send(cluster, history[number :: KILLS + 1])
        assert killed(command(cluster, store, jars), store, commits(store) + 1 + dice.randrange(MOST_COMMITS))
    send(cluster, history[KILLS :: KILLS + 1])
    with (
        log.open("w") as stderr,
        subprocess.Popen(command(cluster, store, jars), cwd=ROOT, stderr=stderr, start_new_session=True) as process,
    ):
        wait_for(
            lambda: process.poll() is not None or log.read_text().count("rows of 0 messages") > 1,
            TIME_LIMIT,
            "it has taken all",
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIME_LIMIT) == 0, log.read_text()
    assert rows(store) == landed(landing)
    assert marts(store) == rolled(spark, tmp_path / "expected", landing)
