"""Who rolls up a history in `bench.rollup`: the job, and DuckDB, each in a process of its own."""

import contextlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from bench import procfs
from exporter.formulas.replica_state import STATES

MEMORY: Final = "4g"
"""Of Spark's driver, which does all the work of a local master, and of DuckDB."""

SUMS: Final = """
    SELECT count(*), sum(samples), sum(known_samples), sum(lag_messages_max), sum(late_samples),
           sum(out_of_sync_samples), sum(lag_bytes_mean), sum(lag_bytes_max), count(DISTINCT start)
    FROM read_parquet('{mart}/*/*/*.parquet')"""
"""What two marts have to have in common."""

LOOK: Final = 2.0
"""Seconds between two looks at memory, of which each costs a process of 4 GB some 0.1 s."""

MINUTES: Final = """
    COPY (
        WITH once AS (
            SELECT DISTINCT ON (cluster_id, run, sequence, topic, topic_id, partition, broker) *
            FROM read_parquet('{history}/replicas/*/*/*.parquet')
        )
        SELECT cluster_id, to_timestamp(floor(time / 60) * 60) AS start, topic, topic_id, partition, broker,
               count(*) AS samples, count(lag_bytes) AS known_samples, max(lag_messages) AS lag_messages_max,
               avg(lag_bytes) AS lag_bytes_mean, max(lag_bytes) AS lag_bytes_max, max(lag_seconds) AS lag_seconds_max,
               max(behind_seconds) AS behind_seconds_max, count(*) FILTER (late) AS late_samples,
               count(*) FILTER (following AND NOT in_isr) AS out_of_sync_samples,
               histogram(state) AS states,
               strftime(to_timestamp(floor(any_value(time) / 86400) * 86400), '%Y-%m-%d') AS date,
               (floor(any_value(time) / 3600) % 24)::INT AS hour
        FROM once GROUP BY ALL
    ) TO '{marts}/replica_minute' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date, hour), OVERWRITE)"""

HOURS: Final = """
    COPY (
        SELECT cluster_id, date_trunc('hour', start) AS start, topic, topic_id, partition, broker,
               sum(samples) AS samples, sum(known_samples) AS known_samples, max(lag_messages_max) AS lag_messages_max,
               sum(lag_bytes_mean * known_samples) / nullif(sum(known_samples), 0) AS lag_bytes_mean,
               max(lag_bytes_max) AS lag_bytes_max, max(lag_seconds_max) AS lag_seconds_max,
               max(behind_seconds_max) AS behind_seconds_max, sum(late_samples) AS late_samples,
               sum(out_of_sync_samples) AS out_of_sync_samples,
               MAP {{{states}}} AS states, any_value(date) AS date, any_value(hour) AS hour
        FROM read_parquet('{marts}/replica_minute/*/*/*.parquet') GROUP BY ALL
    ) TO '{marts}/replica_hour' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date, hour), OVERWRITE)"""
"""Hours of minutes, as the job makes them."""


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
    """To the disk, bytes; NaN where nobody tells."""
    sums: tuple[float, ...]
    """What its two marts of replicas sum up to; nothing where it gave up."""
    replicas: float
    """Seconds of these two marts alone."""


def spark(
    history: Path, scratch: Path, rows: int, master: str, flags: Sequence[str], workers: Sequence[int] = ()
) -> Run:
    """Run the job as users do; `workers` are processes that do its work elsewhere."""
    name = "spark" if master.startswith("spark:") else "local"
    marts, events = scratch / f"marts-{name}", scratch / f"events-{name}-{rows}"
    events.mkdir()
    command = [sys.executable, "-m", "exporter.cli", "pipeline", "rollup", "--master", master, *flags]
    command += ["--input", str(history), "--output", str(marts), "--conf", f"spark.local.dir={scratch / 'spark'}"]
    command += ["--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={events.as_uri()}"]
    command += ["--conf", "spark.eventLog.compress=false"]
    seconds, memory = timed(command, scratch / "spark.log", workers)
    title = f"Spark, {master if name == 'local' else 'standalone'}"
    told = list(events_of(events))
    return Run(title, rows, seconds, memory, spilled(told), sums(marts), replica_seconds(told))


def duck(history: Path, scratch: Path, rows: int) -> Run:
    """Roll up the same replicas with DuckDB: minutes and hours."""
    marts = scratch / "marts-duckdb"
    marts.mkdir(exist_ok=True)
    states = ", ".join(f"'{state}': sum(coalesce(states['{state}'], 0))" for state in STATES)
    statements = [MINUTES.format(history=history, marts=marts), HOURS.format(marts=marts, states=states)]
    limits = f"SET threads = 2; SET memory_limit = '{MEMORY[:-1]}GB'; SET temp_directory = '{scratch / 'duckdb'}';"
    limits += " SET preserve_insertion_order = false; SET enable_progress_bar = false; SET TimeZone = 'UTC';"
    code = f"import duckdb; c = duckdb.connect(); c.execute({limits!r}); [c.execute(each) for each in {statements!r}]"
    title = "DuckDB, replicas only"
    try:
        seconds, memory = timed([sys.executable, "-c", code], scratch / "duckdb.log")
    except GaveUpError as failure:
        if "Out of Memory" not in str(failure):
            raise
        return Run(f"{title}: out of memory", rows, math.inf, math.nan, math.nan, (), math.inf)
    return Run(title, rows, seconds, memory, math.nan, sums(marts), seconds)


def timed(command: Sequence[str], log: Path, others: Sequence[int] = ()) -> tuple[float, float]:
    """Run a command.

    Returns:
        Seconds, and the most memory (Pss, bytes) of it, of `others` and of all their children at one look.
    """
    started, most = time.monotonic(), 0
    with log.open("w") as told, subprocess.Popen(command, stdout=told, stderr=told) as process:
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
    """What Spark tells of jobs and tasks."""
    wanted = ("SparkListenerTaskEnd", "SparkListenerJobStart", "SparkListenerJobEnd")
    for file in (each for each in folder.rglob("*") if each.is_file()):
        with file.open() as lines:
            yield from (json.loads(line) for line in lines if any(f'"{name}"' in line for name in wanted))


def spilled(events: Sequence[Mapping[str, Any]]) -> float:
    """Add up what all tasks spilled to the disk, bytes."""
    return float(sum((event.get("Task Metrics") or {}).get("Disk Bytes Spilled", 0) for event in events))


def replica_seconds(events: Sequence[Mapping[str, Any]]) -> float:
    """From the beginning of the first job that makes a mart of replicas to the end of the last one."""
    ends = {event["Job ID"]: event["Completion Time"] for event in events if "Completion Time" in event}
    mine = [
        (event["Submission Time"], ends[event["Job ID"]])
        for event in events
        if str((event.get("Properties") or {}).get("spark.job.description", "")).endswith("s of replicas")
        and "Submission Time" in event
    ]
    return float(max(end for _, end in mine) - min(start for start, _ in mine)) / 1000


def sums(marts: Path) -> tuple[float, ...]:
    """What both marts of replicas sum up to."""
    rows = [duckdb.sql(SUMS.format(mart=marts / f"replica_{grain}")).fetchall()[0] for grain in ("minute", "hour")]
    return tuple(float(each) for row in rows for each in row)
