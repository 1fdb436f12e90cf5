"""Starts the Spark session of a command."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.java_gateway import java_import
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline.jars import COMPILED, INTERCEPTORS, LOG_STORE, PUT_IF_ABSENT
from kafka_warden.pipeline.store import LARGEST_FILE

LOCAL: Final = "local[*]"
"""All cores of this machine."""

_LOG: Final = Path(__file__).with_name("log4j2.properties")

SETTINGS: Final[Mapping[str, str]] = {
    # Days and hours of marts are in UTC, as those of history.
    "spark.sql.session.timeZone": "UTC",
    # Joins small shuffle partitions and splits large ones; `set_shuffle_partitions` sets their initial number.
    "spark.sql.adaptive.enabled": "true",
    # Of a shuffle partition, and so of a mart's file in memory; a tenth of that on disk.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64m",
    # A task reads 32 MB of zstd, of many files if they are small: some 5 million replica samples. A split has whole row
    # groups.
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.sql.files.openCostInBytes": "256k",
    "parquet.block.size": str(32 << 20),
    # Spark would look up each row in a small map before the large one. Two minutes of 30,000 replicas fill the small
    # one.
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    # With one writer a task sorts its rows by cluster and day, which takes as long as writing them.
    "spark.sql.maxConcurrentOutputFileWriters": "32",
    # The default is the INT96 of Spark before 3.0.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Arrow between the JVM and Python, for replays.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Of a file that OPTIMIZE makes.
    "spark.databricks.delta.optimize.maxFileSize": str(LARGEST_FILE),
    # Delta reads its own log with 50 tasks, VACUUM lists with 10,000.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    # An insert-only MERGE reads its source once. Rows of `ingest` are near each other already.
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "false",
    # SQL does not allow LITE for a vacuum with an inventory: `Store.vacuum`.
    "spark.databricks.delta.vacuum.lite.enabled": "true",
    # Spark makes the text of each plan and of each change to it, also without a web interface.
    "spark.sql.ui.explainMode": "simple",
}
"""Settings of every job; `--conf` overrides them."""

AT_START: Final[Mapping[str, str]] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Without it two drivers could commit the same version of a table on S3; `Store` refuses that.
    INTERCEPTORS: PUT_IF_ABSENT,
    "spark.log.level": "ERROR",
    # --conf spark.ui.enabled=true serves Spark's web interface.
    "spark.ui.enabled": "false",
}
"""Settings that only a session has that starts Spark; a Spark Connect server has its own."""

_LOOPBACK: Final[Mapping[str, str]] = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
"""A local master needs no connection from outside."""

_COLLECTOR: Final = "-XX:+UseParallelGC"
"""A job has no user who waits for a pause. With the default, G1, a roll-up takes a tenth longer."""
_CHOSEN: Final = re.compile(r"-XX:\+Use\w+GC\b")
_FLAGS_OF_JVM: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Variables of the environment. A JVM with two collectors does not start."""
_DEFAULT_FLAGS: Final = "spark.driver.defaultJavaOptions"
"""Spark adds these to `spark.driver.extraJavaOptions`, which `--conf` replaces."""

_HELPERS: Final = (
    "api.python.PythonUtils",
    "api.python.PythonRDD",
    "api.python.SerDeUtil",
    "sql.api.python.PythonSQLUtils",
)
"""Classes that pyspark calls by their short names. Without an import of each, py4j looks for them in seven packages,
and in all jars, at each call: a seventh of the CPU time of small runs."""

_SHUFFLE: Final = "spark.sql.shuffle.partitions"
_ADAPTS: Final = "spark.kafka_warden.adapts"
"""Set in sessions whose number of shuffle partitions the user has not set."""

ROWS: Final = 1_000_000
"""Rows of replicas per shuffle partition. A roll-up shuffles a quarter of them, after partial aggregation: 100 MB. So
two tasks fit in 1 GB.
"""
LEAST: Final = 8
"""Shuffle partitions of a small history; those without rows are joined."""


def set_shuffle_partitions(spark: SparkSession, rows: int) -> None:
    """Set the number of shuffle partitions for so many rows of history, unless `--conf` has set it.

    Spark's default of 200 is too many for a small history, and too few for a large one, whose tasks spill.
    """
    if spark.conf.get(_ADAPTS, "") == "true":
        spark.conf.set(_SHUFFLE, str(max(LEAST, -(-rows // ROWS))))


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Compute a frame once for all its uses in the block; it spills to disk when memory is full."""
    cached = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield cached
    finally:
        cached.unpersist()


def make(
    name: str,
    master: str | None = None,
    memory: str = "2g",
    jars: Path | str | None = None,
    more: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start a session. `name`: suffix of the application's name. `more`: settings that override those here.

    The default of `master` is `LOCAL`, or that of `spark-submit`, which has also set the driver's `memory` already.
    `jars`: their folder; None if Spark has them, as by the `--jars` of `spark-submit`.

    Raises:
        ConfigError: there are no jars in the folder.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = {**SETTINGS, **AT_START, "spark.app.name": f"kafka-warden {name}"}
    # A bar with the tasks of each stage.
    settings["spark.ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    if jars is not None:
        settings["spark.jars"] = jar_list(jars)
        # Without the jars of S3 there is no such class, and Delta refuses two settings of log stores.
        chosen = any(key.startswith("spark.delta.logStore.") for key in more or {})
        if (Path(jars) / COMPILED).is_file() and not chosen:
            settings |= LOG_STORE
    if not submitted:
        settings |= {"spark.master": master or LOCAL, "spark.driver.memory": memory}
        settings["spark.driver.extraJavaOptions"] = " ".join(java_options(os.environ, more or {}))
        if settings["spark.master"].startswith("local"):
            settings |= _LOOPBACK
            # Workers need this Python and its libraries, not the first one on the PATH. Only spark-submit reads
            # spark.pyspark.python.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    elif master:
        settings["spark.master"] = master
    session = _started(SparkSession.builder, {**settings, **(more or {})})
    jvm: Any = session._jvm  # noqa: SLF001  # pyspark has no other name for it
    for helper in _HELPERS:
        java_import(jvm, f"org.apache.spark.{helper}")
    # Delta prints a line for each VACUUM. What users need is on the standard error. Scala keeps the stream that it
    # finds at its first use: it has to be set before.
    jvm.java.lang.System.setOut(jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream()))
    return session


def java_options(environment: Mapping[str, str], settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the flags of the driver's JVM. A collector that the environment or a setting of Spark chooses stays."""
    yield f"-Dlog4j2.configurationFile={_LOG.as_uri()}"
    given = (environment.get(name, "") for name in _FLAGS_OF_JVM)
    if not any(map(_CHOSEN.search, (*given, settings.get(_DEFAULT_FLAGS, "")))):
        yield _COLLECTOR


def connect(remote: str, more: Mapping[str, str] | None = None) -> SparkSession:
    """Open a session on a Spark Connect server, `sc://HOST:PORT`. `more`: as of `make`."""
    return _started(SparkSession.builder.remote(remote), {**SETTINGS, **(more or {})})


def _started(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession:
    # spark-submit prints a warning of each other key.
    others = {key: value for key, value in settings.items() if not key.startswith("spark.")}
    for key in settings.keys() - others.keys():
        builder = builder.config(key, settings[key])
    session = builder.getOrCreate()
    for key, value in others.items():
        session.conf.set(key, value)
    adapt(session)
    return session


def adapt(session: SparkSession) -> None:
    """Let jobs set the number of shuffle partitions, unless the user has."""
    if session.conf.get(_SHUFFLE, None) is None:
        session.conf.set(_ADAPTS, "true")
        set_shuffle_partitions(session, 0)


def jar_list(jars: Path | str) -> str:
    """Return the jars of a folder as Spark wants them.

    Raises:
        ConfigError: there are none.
    """
    found = sorted(str(file) for file in Path(jars).glob("*.jar"))
    if not found:
        raise ConfigError(
            f"--jars: no jars in {jars}; fetch them: kafka-warden pipeline jars --to {jars} (for s3a, with --s3)"
        )
    return ",".join(found)
