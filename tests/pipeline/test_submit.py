"""`spark-submit` as docs/pipeline.md has it, from a folder that is no checkout, locally and on a real cluster."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline.jobs import forecast
from kafka_warden.pipeline.jobs.forecast.series import Options
from kafka_warden.pipeline.marts import read
from kafka_warden.pipeline.marts.forecast import FORECASTS
from sandbox.ports import LOOPBACK
from sandbox.spark import Room, standalone
from tests.pipeline.arrivals import contents, files_of, history_polls, rolled
from tests.pipeline.commands import PLAIN, ROOT
from tests.support.processes import checked
from tests.support.spark_jobs import request

pytestmark = [pytest.mark.spark, pytest.mark.full_pipeline]


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


def submit(job: str, environment: Mapping[str, str], folder: Path, master: str) -> None:
    """Run the line of the documentation, with places of this test and the room that there is."""
    (line,) = re.findall(r"^ {4}(spark-submit .*)$", (ROOT / "docs" / "pipeline.md").read_text(), re.MULTILINE)
    line = line.replace("--driver-memory 2g", f"--driver-memory 1g --executor-memory 512m {shlex.join(PLAIN)}")
    for written, here in (("spark://host:7077", master), ("rollup", job), ("/var/lib/kafka-warden/", "")):
        assert written in line
        line = line.replace(written, here)
    checked("bash", "-c", line, cwd=folder, env=environment, timeout=None)


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
    forecast.JOB.run(request(spark, history, output, Options()))
    return made, limits(spark, output)


def limits(spark: SparkSession, output: Path) -> list[str]:
    """The forecasts of a folder of marts."""
    return sorted(map(repr, read(spark, FORECASTS, output).collect()))


@pytest.mark.parametrize("where", ["local[2]", "standalone"])
def test_submitted_jobs(
    spark: SparkSession,
    environment: Mapping[str, str],
    history: Path,
    expected: Any,
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    """A roll-up, and forecasts, which are made in Python where executors run, give what they give here."""
    master = request.getfixturevalue("master") if where == "standalone" else where
    shutil.rmtree(history.parent / "marts", ignore_errors=True)
    for job in ("rollup", "forecast"):
        submit(job, environment, history.parent, master)
    assert (contents(spark, history.parent / "marts"), limits(spark, history.parent / "marts")) == expected
    assert expected[1], "there is something to forecast"
