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
from kafka_warden.pipeline.marts.forecast import FORECASTS
from sandbox.ports import LOOPBACK
from sandbox.spark import Room, standalone
from tests.pipeline.arrivals import files_of, history_polls
from tests.pipeline.commands import PLAIN, ROOT
from tests.pipeline.stored import mart, marts, rolled
from tests.pipeline.stored import request as run_of
from tests.support.processes import checked

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


def submit(jobs: str, jars: Path, environment: Mapping[str, str], folder: Path, master: str) -> None:
    """Run the line of the documentation, with places of this test and the room that there is."""
    (line,) = re.findall(r"^ {4}(spark-submit .*)$", (ROOT / "docs" / "pipeline.md").read_text(), re.MULTILINE)
    line = line.replace("--driver-memory 2g", f"--driver-memory 1g --executor-memory 512m {shlex.join(PLAIN)}")
    places = (("/opt/kafka-warden/jars", str(jars)), ("/var/lib/kafka-warden/", ""))
    for written, here in (("spark://host:7077", master), ("ingest,rollup", jobs), *places):
        assert written in line
        line = line.replace(written, here)
    checked("bash", "-c", f"{line} --keep-raw 100000", cwd=folder, env=environment, timeout=None)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few polls."""
    folder = tmp_path_factory.mktemp("submitted") / "history"
    files_of(folder, history_polls(3))
    return folder


@pytest.fixture(scope="module")
def expected(spark: SparkSession, history: Path) -> Any:
    """What the jobs make of them here."""
    place = history.parent / "expected"
    made = rolled(spark, place, history)
    forecast.JOB.run(run_of(spark, place, Options()))
    return made, limits(spark, place)


def limits(spark: SparkSession, place: Path) -> list[str]:
    """The forecasts of a store."""
    return sorted(map(repr, mart(spark, place, FORECASTS).collect()))


@pytest.mark.parametrize("where", ["local[2]", "standalone"])
def test_submitted_jobs(
    spark: SparkSession,
    environment: Mapping[str, str],
    history: Path,
    expected: Any,
    jars: Path,
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    """A roll-up, and forecasts, which are made in Python where executors run, give what they give here."""
    master = request.getfixturevalue("master") if where == "standalone" else where
    shutil.rmtree(history.parent / "store", ignore_errors=True)
    submit("ingest,rollup,forecast", jars, environment, history.parent, master)
    assert (marts(spark, history.parent / "store"), limits(spark, history.parent / "store")) == expected
    assert expected[1], "there is something to forecast"
