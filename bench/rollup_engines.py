"""The engines of `bench.rollup`: the job and DuckDB, each in its own process."""

import contextlib
import json
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import duckdb

from bench import procfs
from bench.rollup_duckdb import statements
from kafka_warden.derive.replica_state import STATES
from kafka_warden.pipeline.jars import S3, fetch, listed
from kafka_warden.pipeline.marts import WINDOWS, Mart
from sandbox.jars import cache_directory

MEMORY: Final = "4g"
"""Of Spark's driver, which does all the work of a local master, and of DuckDB."""

NUMBERS: Final = ("double", "bigint", "int")

LOOK: Final = 2.0
"""Seconds between two measurements of memory; each costs a process of 4 GB about 0.1 s."""


class GaveUpError(Exception):
    """A run ended with an error; the message is its output."""


@dataclass(frozen=True)
class Run:
    """One run."""

    name: str
    rows: int
    """Samples of replicas."""
    seconds: float
    memory: float
    """The most at any time, bytes."""
    spilled: float
    """Bytes spilled to disk, NaN if unknown."""
    sums: Mapping[str, tuple[float, ...]]
    """Sums of its marts, by name; empty if it made none."""


def spark(
    history: Path, scratch: Path, rows: int, master: str, flags: Sequence[str], workers: Sequence[int] = ()
) -> list[Run]:
    """Run the jobs `ingest` and `rollup` as users do; `workers` are processes that do their work elsewhere."""
    name = "standalone" if master.startswith("spark:") else master
    store = scratch / f"store-{rows}-{name}"
    jobs = {"ingest": ["--input", str(history), "--keep-raw", "100000", "--keep-minutes", "100000"], "rollup": []}
    found = []
    for job, own in jobs.items():
        events = scratch / f"events-{job}-{name}-{rows}"
        events.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "kafka_warden.cli", "pipeline", job, "--master", master, *flags, *own]
        command += [
            "--store",
            str(store),
            "--jars",
            str(spark_jars()),
            "--conf",
            f"spark.local.dir={scratch / 'spark'}",
        ]
        command += ["--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={events.as_uri()}"]
        command += ["--conf", "spark.eventLog.compress=false"]
        seconds, memory = timed(command, scratch / "spark.log", workers)
        made = sums(lambda mart: live_files(store / mart.name), hive=True) if job == "rollup" else {}
        found.append(Run(f"Spark, {name}: {job}", rows, seconds, memory, spilled(events_of(events)), made))
    shutil.rmtree(store)
    return found


def plain(history: Path, scratch: Path, rows: int) -> Run:
    """Read the same files with Spark and write them as they are: what `ingest` is compared with."""
    copy = scratch / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    settings = {"spark.master": "local[2]", "spark.driver.memory": MEMORY, "spark.driver.host": "127.0.0.1"}
    settings |= {"spark.local.dir": str(scratch / "spark"), "spark.sql.parquet.compression.codec": "zstd"}
    code = f"""
from pyspark.sql import SparkSession
spark = SparkSession.builder.config(map={settings!r}).getOrCreate()
for table in {[each.name for each in history.iterdir()]!r}:
    spark.read.parquet({str(history)!r} + "/" + table).write.parquet({str(copy)!r} + "/" + table)
"""
    seconds, memory = timed([sys.executable, "-c", code], scratch / "plain.log")
    shutil.rmtree(copy)
    return Run("Spark, local[2]: plain read and write", rows, seconds, memory, math.nan, {})


def spark_jars() -> Path:
    """Return the folder of the jars of tables, fetched on first use."""
    folder = cache_directory() / "spark-jars"
    fetch([jar for jar in listed() if jar.of != S3], folder)
    return folder


def live_files(table: Path) -> list[str]:
    """Return the files of a Delta table whose log has all of its entries."""
    live: dict[str, None] = {}
    for log in sorted((table / "_delta_log").glob("*.json")):
        for action in map(json.loads, log.read_text().splitlines()):
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
            elif "add" in action:
                live[action["add"]["path"]] = None
    return [str(table / unquote(file)) for file in live]


def duck(history: Path, scratch: Path, rows: int) -> Run:
    """Roll up the same history with DuckDB."""
    marts = scratch / "marts-duckdb"
    shutil.rmtree(marts, ignore_errors=True)
    marts.mkdir()
    limits = f"SET threads = 2; SET memory_limit = '{MEMORY[:-1]}GB'; SET temp_directory = '{scratch / 'duckdb'}';"
    limits += " SET preserve_insertion_order = false; SET enable_progress_bar = false; SET TimeZone = 'UTC';"
    made = [limits, *statements(history, marts)]
    program = scratch / "run_duckdb.py"
    # Too long for a command line.
    program.write_text(f"import duckdb\nc = duckdb.connect()\nfor each in {made!r}:\n    c.execute(each)\n")
    try:
        seconds, memory = timed([sys.executable, str(program)], scratch / "duckdb.log")
    except GaveUpError as failure:
        if "Out of Memory" not in str(failure):
            raise
        return Run("DuckDB: out of memory", rows, math.inf, math.nan, math.nan, {})
    found = sums(lambda mart: list(map(str, (marts / mart.name).glob("*/*/*.parquet"))), hive=False)
    return Run("DuckDB", rows, seconds, memory, math.nan, found)


def timed(command: Sequence[str], log: Path, others: Sequence[int] = ()) -> tuple[float, float]:
    """Run a command.

    Returns:
        Seconds, and the peak memory (Pss, bytes) of it, of `others` and of all their children.
    """
    started, most = time.monotonic(), 0
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        while process.poll() is None:
            most = max(most, sum(map(memory_of, (process.pid, *others))))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK)
    if process.returncode:
        raise GaveUpError(log.read_text()[-10_000:])
    return time.monotonic() - started, most


def memory_of(process: int) -> int:
    """Add up the memory of a process and all its children, bytes."""
    total = 0
    for each in procfs.tree(process):
        # It may just have ended.
        with contextlib.suppress(OSError, StopIteration):
            total += procfs.pss_bytes([each])
    return total


def events_of(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Spark's metrics of finished tasks."""
    for file in (each for each in folder.rglob("*") if each.is_file()):
        with file.open() as lines:
            yield from (json.loads(line) for line in lines if '"SparkListenerTaskEnd"' in line)


def spilled(events: Iterator[Mapping[str, Any]]) -> float:
    """Add up the bytes that all tasks spilled to disk."""
    return float(sum((event.get("Task Metrics") or {}).get("Disk Bytes Spilled", 0) for event in events))


def sums(files: Callable[[Mart], list[str]], *, hive: bool) -> dict[str, tuple[float, ...]]:
    """Per mart: number of keys, and per column the number of values, of infinities, and the sum; nothing if empty.

    `hive`: whether columns are in the names of folders.
    """
    return {mart.name: tuple(_sums_of(mart, found, hive)) if (found := files(mart)) else () for mart in WINDOWS}


def _sums_of(mart: Mart, files: list[str], hive: bool) -> Iterator[float]:
    reading = f"FROM read_parquet(?, hive_partitioning = {hive}, hive_types_autocast = false)"
    rows: Any = duckdb.sql(reading, params=[files])
    key = ", ".join("epoch(start)" if name == "start" else name for name in mart.key)
    asked = ["count(*)", f"sum(hash(concat_ws('|', {key})) % 1000003)"]
    for column in mart.columns:
        if column.type in NUMBERS and column.name != "hour":
            number = f"{column.name}::DOUBLE"
            asked += [f"count({number})", f"coalesce(sum({number}) FILTER (isfinite({number})), 0)"]
            asked += [f"count(*) FILTER (isinf({number}))"]
    if "states" in mart.names:
        asked += [f"sum(coalesce(states['{state}'], 0))" for state in STATES]
    yield from map(float, rows.aggregate(", ".join(asked)).fetchall()[0])
