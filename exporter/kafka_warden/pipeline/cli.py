"""`kafka-warden pipeline JOB`: reads the flags, starts Spark and runs one job or several in turn."""

import argparse
import importlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_warden.config import values
from kafka_warden.config.flags import read_values
from kafka_warden.errors import ConfigError, JobError
from kafka_warden.pipeline import interrupt, jars, loop, session
from kafka_warden.pipeline.failures import error_text
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import Store
from kafka_warden.pipeline.stored_history import StoredHistory

JOBS: Final = ("ingest", "rollup", "moves", "backtest", "forecast", "plan", "report")
"""Each is a module or package of `kafka_warden.pipeline.jobs`, in the usual order of running them."""

JARS: Final = "KAFKA_WARDEN_JARS"
"""Variable of the environment: the folder of the jars."""

_SEPARATOR: Final = ","

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
    with interrupt.installed():
        spark = _session(parsed)
        interrupt.install()
        try:
            if every is None:
                return _run(chosen, spark, parsed)
            report = Progress(spark.sparkContext).say
            return loop.repeat(lambda: _run(chosen, spark, parsed), every, report)
        finally:
            # If the JVM is gone there is nothing to stop, and the job has reported it.
            with suppress(Py4JError):
                spark.stop()


def _every(parsed: argparse.Namespace) -> float | None:
    """Return the seconds between two rounds; None for one round."""
    if parsed.every is None:
        return None
    if parsed.start > 0 or parsed.end != float("inf"):
        raise ConfigError("--start, --end: not valid with --every, which takes all that arrives; leave them out")
    seconds: float = read_values({"every": parsed.every}, {"every": values.duration})["every"]
    return seconds


def _session(parsed: argparse.Namespace) -> SparkSession:
    try:
        settings = dict(session.delta(_jars(parsed))) if parsed.store is not None else {}
        return session.make(parsed.job, parsed.master, parsed.memory, {**settings, **_settings(parsed.conf)})
    except (PySparkException, Py4JError) as failure:
        raise JobError(
            f"Spark did not start: {error_text(failure)}; install a JRE 17 or newer, on the PATH or in JAVA_HOME, and"
            " check --master, --memory and --conf (docs/pipeline.md)"
        ) from failure


def _jars(parsed: argparse.Namespace) -> str | None:
    folder: str | None = parsed.jars or os.environ.get(JARS)
    return folder


def _run(chosen: _Chosen, spark: SparkSession, parsed: argparse.Namespace) -> int:
    span = (parsed.start, parsed.end)
    store = None if parsed.store is None else Store(spark, parsed.store)
    history = History(spark, parsed.input, *span) if store is None else StoredHistory(store, *span)
    places = (parsed.input or parsed.store, parsed.output or parsed.store)
    progress = Progress(spark.sparkContext)
    for job, options in chosen:
        try:
            code = job.run(Request(spark, history, *places, options, progress, store))
        except (PySparkException, Py4JError) as failure:
            raise JobError(f"{job.name}: Spark failed: {error_text(failure)}") from failure
        if code:
            return code
    return 0


def _chosen(parsed: argparse.Namespace) -> _Chosen:
    """Read the options of every named job."""
    jobs = [load(name) for name in parsed.job.split(_SEPARATOR)]
    given = {name for name in ("input", "output", "store") if getattr(parsed, name) is not None}
    for job in jobs:
        if not any(places <= given for places in job.places):
            wanted = ", or ".join(" and ".join(f"--{name}" for name in sorted(places)) for places in job.places)
            raise ConfigError(f"{job.name}: give {wanted}")
    return [(job, job.read_flags(parsed)) for job in jobs]


def load(name: str) -> Job[Any]:
    """Load a job."""
    found: Job[Any] = importlib.import_module(f"kafka_warden.pipeline.jobs.{name}").JOB
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
    several = first.split(_SEPARATOR)
    if len(several) > 1 and set(several) <= set(JOBS):
        # A flag of two jobs is for both.
        command = commands.add_parser(first, allow_abbrev=False, conflict_handler="resolve")
        _add_shared(command)
        for name in several:
            load(name).add_flags(command)
        return made
    for name in [first] if first in JOBS else JOBS:
        job = load(name)
        command = commands.add_parser(name, help=job.about, description=job.about, allow_abbrev=False)
        _add_shared(command)
        job.add_flags(command)
    if first not in JOBS:
        jars.add_flags(commands.add_parser(jars.COMMAND, help=jars.ABOUT, description=jars.ABOUT, allow_abbrev=False))
    return made


def _add_shared(command: argparse.ArgumentParser) -> None:
    command.add_argument("--input", metavar="FOLDER", help="history of one sidecar, or of many; of ingest also a topic")
    command.add_argument("--output", metavar="FOLDER", help="folder for the marts")
    command.add_argument("--store", metavar="FOLDER", help="store of tables (docs/pipeline-store.md)")
    command.add_argument(
        "--jars", metavar="FOLDER", help=f"jars for a store, of kafka-warden pipeline jars (or {JARS})"
    )
    command.add_argument("--master", help=f"Spark's master (default: {session.LOCAL}, or that of spark-submit)")
    command.add_argument("--memory", default="2g", help="of the driver; all of it with a local master (default: 2g)")
    command.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting")
    command.add_argument("--every", metavar="DURATION", help="run again and again, for example every 5m")
    command.add_argument("--start", type=_time, default=0.0, metavar="TIME", help="first hour of history to read")
    command.add_argument("--end", type=_time, default=float("inf"), metavar="TIME", help="end of the history to read")


def _time(text: str) -> float:
    """Read an ISO 8601 time, UTC by default."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 2026-11-21T17:00, got {text!r}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _settings(given: Sequence[str]) -> Mapping[str, str]:
    settings = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--conf: expected KEY=VALUE, got {setting!r}")
        settings[key] = value
    return settings
