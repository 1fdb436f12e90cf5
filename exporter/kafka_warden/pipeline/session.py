"""Makes the Spark session of a command. Everywhere else a session is given."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

LOCAL: Final = "local[*]"
"""All cores of this machine."""

_LOG: Final = Path(__file__).with_name("log4j2.properties")

SETTINGS: Final[Mapping[str, str]] = {
    # Days and hours of marts are those of history: UTC.
    "spark.sql.session.timeZone": "UTC",
    # Small partitions of a shuffle are joined, and one busy topic is split; `spread` says how many there are at first.
    "spark.sql.adaptive.enabled": "true",
    # What a task takes of a shuffle, and about what a file of a mart is in memory: a tenth of that on the disk.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64m",
    # Hourly files are small, so one task reads many; 32 MB of zstd are some 5 million replica samples.
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.sql.parquet.compression.codec": "zstd",
    # Unix seconds of marts are in microseconds; what Spark wrote before 3.0 had another form.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Arrow between the JVM and Python where a fold is replayed.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # The web page of a job is for who asks: --conf spark.ui.enabled=true.
    "spark.ui.enabled": "false",
    # Jobs tell of their progress themselves.
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.ui.explainMode": "formatted",
}
"""What every job runs with; `--conf` wins."""

_LOOPBACK: Final[Mapping[str, str]] = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
"""A local master talks to nobody else, so nobody else needs to reach it."""

_SHUFFLE: Final = "spark.sql.shuffle.partitions"

ROWS: Final = 500_000
"""Rows of history in one partition of a shuffle: some 50 to 100 MB, of which two fit beside each other in 1 GB."""


def spread(spark: SparkSession, rows: int) -> None:
    """Say into how many partitions the shuffles that follow are cut, for so many rows of history.

    Spark's 200 are tasks that do nothing for a small history, and spill for a large one. What `--conf` says stays.
    """
    if spark.sparkContext.getConf().contains(_SHUFFLE):
        return
    cores = spark.sparkContext.defaultParallelism
    spark.conf.set(_SHUFFLE, max(cores, -(-rows // ROWS)))


def shuffle_partitions(spark: SparkSession) -> int:
    """Tell into how many partitions shuffles are cut now."""
    return int(spark.conf.get(_SHUFFLE) or 0)


@contextmanager
def kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Make a frame once for all that is made of it in the block; what memory has no room for goes to the disk."""
    persisted = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield persisted
    finally:
        persisted.unpersist()


def make(
    name: str, master: str | None = None, memory: str = "2g", more: Mapping[str, str] | None = None
) -> SparkSession:
    """Make a session.

    Args:
        name: what a cluster shows of it.
        master: of Spark; `LOCAL` when not given, or what `spark-submit` was given.
        memory: of the driver, which does all the work of a local master; `spark-submit` has set it already.
        more: settings of Spark that win over those here.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = {**SETTINGS, "spark.app.name": f"kafka-warden {name}"}
    if not submitted:
        settings |= {"spark.master": master or LOCAL, "spark.driver.memory": memory}
        settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={_LOG.as_uri()}"
        if settings["spark.master"].startswith("local"):
            settings |= _LOOPBACK
            # Its workers stand on this machine: the same Python with the same libraries, not the first on the PATH.
            # The setting spark.pyspark.python is read by spark-submit only.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    elif master:
        settings["spark.master"] = master
    builder = SparkSession.builder
    for key, value in {**settings, **(more or {})}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    spread(session, 0)
    return session
