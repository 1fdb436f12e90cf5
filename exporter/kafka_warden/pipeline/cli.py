"""`kafka-warden pipeline JOB`: reads the flags, starts Spark and runs one job or several in turn.

Ctrl-C and SIGTERM end it at once; SIGTERM ends a loop (`--every`) after the round that runs.
"""

import argparse
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from kafka_warden.config import values
from kafka_warden.config.options import read_values
from kafka_warden.errors import ClockError, ConfigError, EmptyHistoryError, JobError
from kafka_warden.pipeline import jars, session
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.progress import SPARK_FAILURES, Progress, error_text
from kafka_warden.pipeline.runs import Run, write_metrics
from kafka_warden.pipeline.store import Store

INGEST: Final = "ingest"
JOBS: Final = (INGEST, "rollup", "moves", "backtest", "forecast", "plan", "report", "maintain")
"""Each is a module of the pipeline, in the usual order of running them."""

JARS: Final = "KAFKA_WARDEN_JARS"
"""Variable of the environment: the folder of the jars."""

_SEPARATOR: Final = ","
_ENDS: Final = (signal.SIGINT, signal.SIGTERM)
"""Signals that end a job. In a container, nothing else does that for SIGTERM."""
_SLICE: Final = 0.5
"""Seconds in which the end of a pause between rounds is noticed."""

_Chosen = Sequence[tuple[Job[Any], Any]]
"""Jobs with their options."""


def main(arguments: Sequence[str]) -> int:
    """Run the jobs; stop at the first exit code other than 0 and return it.

    Raises:
        KafkaWardenError: unusable input, with what to do.
    """
    parsed = parser(arguments).parse_args(arguments)
    if parsed.job == jars.COMMAND:
        return jars.run(parsed)
    chosen, every = _chosen(parsed), _every(parsed)
    before = [signal.signal(number, _interrupted) for number in _ENDS]
    try:
        spark = _session(parsed)
        # Each new session replaces the handler of Ctrl-C.
        signal.signal(signal.SIGINT, _interrupted)
        try:
            if every is None:
                return _run(chosen, spark, parsed)
            return repeat(lambda: _run(chosen, spark, parsed), every)
        finally:
            # If the JVM is gone there is nothing to stop, and the job has reported it.
            with suppress(Py4JError):
                spark.stop()
    finally:
        for number, handler in zip(_ENDS, before, strict=True):
            signal.signal(number, handler)


def _interrupted(number: int, _frame: FrameType | None) -> NoReturn:
    # An exception would interrupt a call to the JVM; Py4J prints its stack and takes it for a failure.
    # The JVM ends with this process, which holds its standard input.
    line = "\n" if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{line}kafka-warden: interrupted\n".encode())
    # As in shells.
    os._exit(128 + number)


def repeat(run: Callable[[], int], every: float) -> int:
    """Call `run` every so many seconds until SIGTERM, without a pause if it takes longer.

    Return its first exit code other than 0. A landing zone that has no file yet, or only messages that are ahead of the
    clock, is a round without work.
    """
    stopped: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    try:
        while not stopped:
            due = time.monotonic() + every
            try:
                if code := run():
                    return code
            except (EmptyHistoryError, ClockError) as nothing:
                Progress().say(f"{nothing}; the next round looks again")
            while not stopped and (left := due - time.monotonic()) > 0:
                time.sleep(min(_SLICE, left))
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _every(parsed: argparse.Namespace) -> float | None:
    """Return the seconds between two rounds; None for one round."""
    seconds: float | None = read_values({"every": parsed.every}, {"every": values.duration})["every"]
    if seconds is not None and (parsed.start > 0 or parsed.end != float("inf")):
        raise ConfigError("--start, --end: not valid with --every, which takes all that arrives; leave them out")
    return seconds


def _session(parsed: argparse.Namespace) -> SparkSession:
    settings = _settings(parsed.conf)
    try:
        if parsed.remote is not None:
            return session.connect(parsed.remote, settings)
        return session.make(parsed.job, parsed.master, parsed.memory, parsed.jars or os.environ.get(JARS), settings)
    except SPARK_FAILURES as failure:
        raise JobError(
            f"Spark did not start: {error_text(failure)}; install a JRE 17 or newer, on the PATH or in JAVA_HOME, and"
            " check --master, --remote, --memory and --conf (docs/pipeline.md)"
        ) from failure


def _run(chosen: _Chosen, spark: SparkSession, parsed: argparse.Namespace) -> int:
    store, progress, span = Store(spark, parsed.store), Progress(), (parsed.start, parsed.end)
    done: list[Run] = []
    for job, options in chosen:
        request = Request(store, options, progress, parsed.input or "", span, done)
        try:
            if parsed.dry_run:
                progress.say(job.preview(request))
                continue
            code = job.run(request)
        except SPARK_FAILURES as failure:
            raise JobError(f"{job.name}: Spark failed: {error_text(failure)}{_advice(failure)}") from failure
        if parsed.metrics is not None:
            write_metrics(done, parsed.metrics)
        if code:
            return code
    return 0


def _advice(failure: Exception) -> str:
    missing = "S3AFileSystem not found" in str(failure)
    return "; fetch the jars of S3: kafka-warden pipeline jars --s3 --to FOLDER" if missing else ""


def _chosen(parsed: argparse.Namespace) -> _Chosen:
    """Read the options of every named job."""
    names = parsed.job.split(_SEPARATOR)
    if (INGEST in names) != (parsed.input is not None):
        raise ConfigError(
            f"--input: {INGEST} needs the landing zone, and no other job reads it; first run"
            f" kafka-warden pipeline {INGEST} --input LANDING --store STORE"
        )
    return [(job, job.read_flags(parsed)) for job in map(load, names)]


def load(name: str) -> Job[Any]:
    """Load a job."""
    found: Job[Any] = importlib.import_module(f"kafka_warden.pipeline.{name}").JOB
    return found


def parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser, with the flags of the job in the arguments, or else of all jobs."""
    made = argparse.ArgumentParser(
        prog="kafka-warden pipeline",
        description="Spark jobs over the history of one cluster or of a fleet (docs/pipeline.md). Several, such as"
        " rollup,moves,report, run one after the other in one session, with the flags of all of them.",
        allow_abbrev=False,
    )
    commands = made.add_subparsers(dest="job", required=True, metavar="JOB")
    first = next(iter(arguments), "")
    is_known = set(first.split(_SEPARATOR)) <= set(JOBS)
    for names in [first] if is_known else JOBS:
        jobs = [load(name) for name in names.split(_SEPARATOR)]
        about = "; ".join(job.about for job in jobs)
        # A flag of two jobs is for both.
        conflicts = "error" if len(jobs) == 1 else "resolve"
        command = commands.add_parser(
            names, help=about, description=about, allow_abbrev=False, conflict_handler=conflicts
        )
        _add_shared(command)
        for job in jobs:
            job.add_flags(command)
    if not is_known:
        jars.add_flags(commands.add_parser(jars.COMMAND, help=jars.ABOUT, description=jars.ABOUT, allow_abbrev=False))
    return made


def _add_shared(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--store", required=True, metavar="PLACE", help="folder or address of the tables, such as s3a://bucket/store"
    )
    about = f"of {INGEST}: folder or address of the history of one or many exporters, or kafka://HOST:PORT/TOPIC"
    command.add_argument("--input", metavar="PLACE", help=about)
    command.add_argument("--jars", metavar="FOLDER", help=f"those of kafka-warden pipeline jars (default: ${JARS})")
    command.add_argument("--master", help=f"Spark's master (default: {session.LOCAL}, or that of spark-submit)")
    command.add_argument("--remote", metavar="URL", help="a Spark Connect server, sc://HOST:PORT, instead of a master")
    command.add_argument(
        "--memory", default="2g", help="of the driver, which does all work of a local master (default: 2g)"
    )
    command.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting")
    command.add_argument("--every", metavar="DURATION", help="run again and again, for example every 5m")
    command.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
    about = (
        "file for node_exporter's textfile collector: hours, rows, problems, duration and newest row of all but report"
    )
    command.add_argument("--metrics", type=Path, metavar="FILE.prom", help=about)
    command.add_argument("--start", type=_time, default=0.0, metavar="TIME", help="first hour to compute again; UTC")
    command.add_argument("--end", type=_time, default=float("inf"), metavar="TIME", help="stop before this hour; UTC")


def _time(text: str) -> float:
    """Read an ISO 8601 time, UTC by default."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 2026-11-21T17:00, got {text!r}") from None
    # 0 is the default, which chooses nothing. No row is older.
    return max((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), 1.0)


def _settings(given: Sequence[str]) -> Mapping[str, str]:
    settings = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--conf: expected KEY=VALUE, got {setting!r}")
        settings[key] = value
    return settings
