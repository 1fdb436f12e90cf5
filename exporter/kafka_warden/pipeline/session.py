"""Starts the Spark session of a command."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline import put_if_absent

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
    # Hourly files are small, so one task reads many; 32 MB of zstd hold some 5 million replica samples.
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.sql.parquet.compression.codec": "zstd",
    # The default is the INT96 of Spark before 3.0.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Arrow between the JVM and Python, for replays.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # --conf spark.ui.enabled=true serves Spark's web interface.
    "spark.ui.enabled": "false",
    # Jobs report their progress themselves.
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.explainMode": "formatted",
}
"""Settings of every job; `--conf` overrides them."""

_DELTA: Final[Mapping[str, str]] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Of a file that OPTIMIZE makes.
    "spark.databricks.delta.optimize.maxFileSize": str(256 << 20),
    # Delta reads its own log with 50 tasks, VACUUM lists with 10,000.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    # Without it two drivers could commit the same version of a table on S3; `Store` refuses that.
    put_if_absent.SETTING: put_if_absent.CLASS,
}
"""Settings of sessions with a store, besides its jars."""

_LOOPBACK: Final[Mapping[str, str]] = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
"""A local master needs no connection from outside."""

_SHUFFLE: Final = "spark.sql.shuffle.partitions"

ROWS: Final = 500_000
"""Rows of history per shuffle partition: 50 to 100 MB, so that two fit in 1 GB."""


def delta(jars: Path | str | None) -> Mapping[str, str]:
    """Return the settings of a session with a store. `jars`: their folder; None if Spark has them, as by `--jars`.

    Raises:
        ConfigError: there are no jars in the folder.
    """
    if jars is None:
        return _DELTA
    found = sorted(str(file) for file in Path(jars).glob("*.jar"))
    if not found:
        raise ConfigError(f"--jars: no jars in {jars}; fetch them: kafka-warden pipeline jars --to {jars}")
    return {**_DELTA, "spark.jars": ",".join(found)}


def set_shuffle_partitions(spark: SparkSession, rows: int) -> None:
    """Set the number of shuffle partitions for so many rows of history, unless `--conf` has set it.

    Spark's default of 200 is too many for a small history, and too few for a large one, whose tasks spill.
    """
    if spark.sparkContext.getConf().contains(_SHUFFLE):
        return
    cores = spark.sparkContext.defaultParallelism
    spark.conf.set(_SHUFFLE, max(cores, -(-rows // ROWS)))


def shuffle_partitions(spark: SparkSession) -> int:
    """Return the current number of shuffle partitions."""
    return int(spark.conf.get(_SHUFFLE) or 0)


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Compute a frame once for all its uses in the block; it spills to disk when memory is full."""
    cached = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield cached
    finally:
        cached.unpersist()


def make(
    name: str, master: str | None = None, memory: str = "2g", more: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a session. `name`: suffix of the application's name. `more`: settings that override those here.

    The default of `master` is `LOCAL`, or that of `spark-submit`, which has also set the driver's `memory` already.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = {**SETTINGS, "spark.app.name": f"kafka-warden {name}"}
    if not submitted:
        settings |= {"spark.master": master or LOCAL, "spark.driver.memory": memory}
        settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={_LOG.as_uri()}"
        if settings["spark.master"].startswith("local"):
            settings |= _LOOPBACK
            # Workers need this Python and its libraries, not the first one on the PATH. Only spark-submit reads
            # spark.pyspark.python.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    elif master:
        settings["spark.master"] = master
    builder = SparkSession.builder
    for key, value in {**settings, **(more or {})}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    set_shuffle_partitions(session, 0)
    return session
