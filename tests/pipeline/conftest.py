"""One Spark for all tests of the pipeline: a JVM takes seconds to start."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark.util
import pytest
from pyspark.sql import SparkSession

from kafka_warden.history.poll import Poll
from kafka_warden.pipeline import session
from kafka_warden.pipeline.jars import S3, fetch, listed
from sandbox.jars import cache_directory
from tests.history.places import write
from tests.pipeline.arrivals import history_polls
from tests.pipeline.stored import marts, roll_up, stored


@pytest.fixture(scope="session", autouse=True)
def sockets_closed() -> Iterator[None]:
    """Close the sockets of results with the files that they are read by: pyspark leaves that to chance."""
    connect = pyspark.util.local_connect_and_auth

    def connect_and_close(*given: Any) -> tuple[Any, Any]:
        file, socket = connect(*given)
        # That only marks it: the connection ends when the file does.
        socket.close()
        return file, socket

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyspark.util, "local_connect_and_auth", connect_and_close)
        yield


@pytest.fixture(scope="session", autouse=True)
def fast_compiler() -> Iterator[None]:
    """Use the JVM's compiler that starts fast, in processes of tests too: tests end before the other one pays off.

    The JVM keeps only 48 MB of code with it alone. These tests compile more, and it would compile parts of it again.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC")
        yield


def pytest_itemcollected(item: pytest.Item) -> None:
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def judged() -> list[Poll]:
    return history_polls()


@pytest.fixture(scope="session")
def source(judged: list[Poll], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their files, in a folder whose name is a pattern where Spark looks for one."""
    made = tmp_path_factory.mktemp("history [1] {a,b}*")
    write(made, judged)
    return made


@pytest.fixture(scope="session")
def rolled_up(spark: SparkSession, source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    made = stored(spark, tmp_path_factory.mktemp("store [1] {a,b}*"), source)
    roll_up(spark, made)
    return marts(made)


@pytest.fixture(scope="session")
def jars() -> Path:
    """The folder with the jars of tables and topics, fetched on first use."""
    folder = cache_directory() / "spark-jars"
    fetch([jar for jar in listed() if jar.of != S3], folder)
    return folder


@pytest.fixture(scope="session")
def spark(
    sockets_closed: None, fast_compiler: None, jars: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """A local Spark with one core and 1 GB."""
    settings = {
        # Rows of tests fit in one partition; more of them are tasks that do nothing.
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        # Plans of tests run once: compiling them takes longer than running them would.
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        # With one partition there is nothing to adapt, and each stage is planned again. Tests of commands have it.
        "spark.sql.adaptive.enabled": "false",
        # No test reads them.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
    }
    made = session.make("tests", "local[1]", "1g", jars, settings)
    yield made
    gateway = made.sparkContext._gateway
    made.stop()
    # The JVM outlives its context until the process ends, and no process may outlive the tests.
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
