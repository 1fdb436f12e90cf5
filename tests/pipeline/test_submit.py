"""`spark-submit` as docs/pipeline.md has it, from a folder that is no checkout, locally and on a real cluster."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from exporter.pipeline.history import History
from exporter.pipeline.job import Request
from exporter.pipeline.jobs import moves
from exporter.pipeline.marts import read
from exporter.pipeline.marts.moves import MOVES
from exporter.pipeline.progress import Progress
from sandbox import wait_for
from sandbox.ports import LOOPBACK, Ports
from tests.pipeline.arrivals import contents, files_of, history_polls, rolled
from tests.pipeline.killed import PATIENCE, PLAIN, ROOT

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """That of a user: the package is installed, its Python comes first on the PATH, the checkout is nowhere."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "exporter", site / "exporter", ignore=shutil.ignore_patterns("__pycache__"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "PYTHONPATH": str(site), "SPARK_LOCAL_IP": LOOPBACK}


@pytest.fixture(scope="module")
def master(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone cluster of one worker."""
    folder, ports = tmp_path_factory.mktemp("standalone"), Ports()
    address = f"spark://{LOOPBACK}:{ports.reserve()}"
    pages = [str(ports.reserve()) for _ in range(2)]
    with ExitStack() as stack:
        stack.callback(ports.close)
        at = ("--host", LOOPBACK, "--port", address.rpartition(":")[2], "--webui-port", pages[0])
        stack.enter_context(part("master.Master", environment, folder, *at))
        room = ("--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"), "--webui-port", pages[1])
        log = stack.enter_context(part("worker.Worker", environment, folder, "--host", LOOPBACK, *room, address))
        wait_for(lambda: "Successfully registered" in log.read_text(), PATIENCE, "the worker has found the master")
        yield address


@contextmanager
def part(name: str, environment: Mapping[str, str], folder: Path, *arguments: str) -> Iterator[Path]:
    """A process of a standalone cluster, and its log."""
    log = folder / f"{name}.log"
    command = [Path(sys.executable).with_name("spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with (
        log.open("wb") as file,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=file, stderr=file) as process,
    ):
        try:
            yield log
        finally:
            process.terminate()


def submit(job: str, environment: Mapping[str, str], folder: Path, master: str) -> None:
    """Run the line of the documentation, with places of this test and the room that there is."""
    (line,) = re.findall(r"^ {4}(spark-submit .*)$", (ROOT / "docs" / "pipeline.md").read_text(), re.MULTILINE)
    line = line.replace("--driver-memory 2g", f"--driver-memory 1g --executor-memory 512m {shlex.join(PLAIN)}")
    for written, here in (("spark://host:7077", master), ("rollup", job), ("/var/lib/kafka-warden/", "")):
        assert written in line
        line = line.replace(written, here)
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few polls."""
    folder = tmp_path_factory.mktemp("submitted") / "history"
    files_of(folder, history_polls(3))
    return folder


@pytest.fixture(scope="module")
def expected(spark: SparkSession, history: Path) -> Any:
    """What the jobs make of them here."""
    output = history.parent / "expected"
    made = rolled(spark, history, output)
    request = Request(spark, History(spark, history), history, output, moves.Options(), Progress(spark.sparkContext))
    moves.JOB.run(request)
    return made, lives(spark, output)


def lives(spark: SparkSession, output: Path) -> list[str]:
    """The moves of a folder of marts."""
    return sorted(map(repr, read(spark, MOVES, output).collect()))


@pytest.mark.parametrize("where", ["local[2]", "standalone"])
def test_submitted_jobs(
    spark: SparkSession,
    environment: Mapping[str, str],
    history: Path,
    expected: Any,
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    """A roll-up, and moves, which replay polls in Python where executors run, give what they give here."""
    master = request.getfixturevalue("master") if where == "standalone" else where
    shutil.rmtree(history.parent / "marts", ignore_errors=True)
    for job in ("rollup", "moves"):
        submit(job, environment, history.parent, master)
    assert (contents(spark, history.parent / "marts"), lives(spark, history.parent / "marts")) == expected
    assert expected[1], "there were moves"
