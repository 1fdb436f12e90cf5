"""`spark-submit` as docs/pipeline.md has it, locally and on a real cluster, and a Spark Connect server."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline import backtest, forecast, moves, session
from kafka_warden.pipeline.forecast import Options
from kafka_warden.pipeline.marts import ALARMS, FORECASTS, MOVES
from kafka_warden.pipeline.report import MART_OF
from kafka_warden.pipeline.store import of_mart
from sandbox.ports import LOOPBACK
from sandbox.spark import ConnectServer, Room, standalone
from tests.pipeline.arrivals import answered, files_of, history_polls, rounded
from tests.pipeline.commands import PLAIN, ROOT
from tests.pipeline.stored import request as run_of
from tests.pipeline.stored import roll_up, stored
from tests.pipeline.written import read_table
from tests.support.processes import checked

pytestmark = [pytest.mark.spark, pytest.mark.full_pipeline, pytest.mark.timeout(3600)]

ALL = "ingest,rollup,moves,backtest,forecast"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """That of a user: the package is installed, its Python comes first on the PATH, the checkout is nowhere."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(
        ROOT / "exporter" / "kafka_warden", site / "kafka_warden", ignore=shutil.ignore_patterns("__pycache__")
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "PYTHONPATH": str(site), "SPARK_LOCAL_IP": LOOPBACK}


@pytest.fixture(scope="module")
def master(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone cluster of two workers."""
    given = {name: environment[name] for name in ("PATH", "PYTHONPATH")}
    with standalone(tmp_path_factory.mktemp("standalone"), given, room=Room(memory="512m")) as cluster:
        yield cluster.address


def submit(jars: Path, environment: Mapping[str, str], folder: Path, master: str) -> None:
    """Run the line of the documentation, with places of this test and the room that there is."""
    (line,) = re.findall(r"^ {4}(spark-submit .*)$", (ROOT / "docs" / "pipeline.md").read_text(), re.MULTILINE)
    line = line.replace("--driver-memory 2g", f"--driver-memory 1g --executor-memory 512m {shlex.join(PLAIN)}")
    places = (("/opt/kafka-warden/jars", str(jars)), ("/var/lib/kafka-warden/", ""))
    for written, here in (("spark://host:7077", master), ("ingest,rollup", ALL), *places):
        assert written in line
        line = line.replace(written, here)
    checked("bash", "-c", f"{line} --keep-raw 100000", cwd=folder, env=environment, timeout=None)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submitted") / "history"
    files_of(folder, answered(history_polls(3)))
    return folder


@pytest.fixture(scope="module")
def expected(spark: SparkSession, history: Path) -> dict[str, list[str]]:
    place = stored(spark, history.parent / "expected", history)
    roll_up(spark, place)
    for job, options in ((moves, None), (backtest, backtest.Options()), (forecast, Options())):
        job.JOB.run(run_of(spark, place, options))
    found = made(place)
    assert all(found[each.name] for each in (MOVES, ALARMS, FORECASTS)), "there is something to compare"
    return found


def made(place: Path) -> dict[str, list[str]]:
    rows = {name: read_table(place, of_mart(mart)) for name, mart in MART_OF.items()}
    return {name: sorted(repr(rounded(row)) for row in found) for name, found in rows.items()}


@pytest.mark.parametrize("where", ["local[2]", "standalone"])
def test_submitted_jobs(
    environment: Mapping[str, str],
    history: Path,
    expected: dict[str, list[str]],
    jars: Path,
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    master = request.getfixturevalue("master") if where == "standalone" else where
    shutil.rmtree(history.parent / "store", ignore_errors=True)
    submit(jars, environment, history.parent, master)
    assert made(history.parent / "store") == expected


def test_jobs_through_connect(
    environment: Mapping[str, str], history: Path, expected: dict[str, list[str]], jars: Path
) -> None:
    store = history.parent / "connected"
    settings = {**session.AT_START, "spark.jars": session.jar_list(jars)}
    settings["spark.sql.warehouse.dir"] = str(history.parent / "warehouse")
    client = {**environment, "JAVA_HOME": "/nowhere"}
    command = [sys.executable, "-m", "kafka_warden.cli", "pipeline", f"{ALL},report", "--input", str(history)]
    with ConnectServer(history.parent / "connect", {"PYTHONPATH": environment["PYTHONPATH"]}, settings) as server:
        flags = ("--store", str(store), "--keep-raw", "100000", "--remote", server.remote, *PLAIN)
        checked(*command, *flags, cwd=history.parent, env=client, timeout=None)
    assert made(store) == expected
    assert len(list(store.glob("report*.html"))) == 2
