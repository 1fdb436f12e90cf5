"""`kafka-warden pipeline JOB`: reads the flags, makes the session, runs a job, or several one after the other."""

import argparse
import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NoReturn

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_warden.errors import ConfigError, JobError
from kafka_warden.pipeline import interrupt, session
from kafka_warden.pipeline.failures import told
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.progress import Progress

JOBS: Final = ("rollup", "moves", "backtest", "forecast", "plan", "report")
"""Each is a module, or a package, of `kafka_warden.pipeline.jobs`; in the order in which one would run them."""

_JOINT: Final = ","

_Chosen = Sequence[tuple[Job[Any], Any]]
"""Jobs with their options."""


def main(arguments: Sequence[str]) -> int:
    """Run what is named, and return the exit code of the first job that has another one than 0, or 0.

    Raises:
        KafkaWardenError: what cannot be used, and what to do.
    """
    parsed = parser(arguments).parse_args(arguments)
    chosen = _chosen(parsed)
    with interrupt.heeded():
        spark = _session(parsed)
        interrupt.heed()
        try:
            return _run(chosen, spark, parsed)
        finally:
            # Where the JVM is gone there is nothing to stop, and the job has told.
            with suppress(Py4JError):
                spark.stop()


def _session(parsed: argparse.Namespace) -> SparkSession:
    try:
        return session.make(parsed.job, parsed.master, parsed.memory, _settings(parsed.conf))
    except (PySparkException, Py4JError) as failure:
        raise JobError(
            f"Spark did not start: {told(failure)}; it needs a JRE 17 or newer, by JAVA_HOME or on the PATH, and"
            " --master, --memory and --conf that it knows (docs/pipeline.md)"
        ) from failure


def _run(chosen: _Chosen, spark: SparkSession, parsed: argparse.Namespace) -> int:
    history = History(spark, parsed.input, parsed.start, parsed.end)
    progress = Progress(spark.sparkContext)
    for job, options in chosen:
        try:
            code = job.run(Request(spark, history, parsed.input, parsed.output, options, progress))
        except (PySparkException, Py4JError) as failure:
            raise JobError(f"{job.name}: Spark gave up: {told(failure)}") from failure
        if code:
            return code
    return 0


def _chosen(parsed: argparse.Namespace) -> _Chosen:
    """Read the flags of every job that is named; of several, each has its own flags as they are when not given."""
    jobs = [load(name) for name in parsed.job.split(_JOINT)]
    if len(jobs) == 1:
        return [(jobs[0], jobs[0].read_flags(parsed))]
    return [(job, job.read_flags(_with_defaults(job, parsed))) for job in jobs]


def _with_defaults(job: Job[Any], parsed: argparse.Namespace) -> argparse.Namespace:
    own = _Own(prog=job.name, add_help=False)
    job.add_flags(own)
    return argparse.Namespace(**{**vars(own.parse_args([])), **vars(parsed)})


class _Own(argparse.ArgumentParser):
    """The flags of one job among several."""

    def error(self, message: str) -> NoReturn:
        """Say that it cannot do without flags of its own."""
        raise ConfigError(f"{self.prog} cannot be run together with other jobs, run it by itself: {message}")


def load(name: str) -> Job[Any]:
    """Load a job."""
    found: Job[Any] = importlib.import_module(f"kafka_warden.pipeline.jobs.{name}").JOB
    return found


def parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser, with the flags of the job that is named in the arguments, or of all."""
    made = argparse.ArgumentParser(
        prog="kafka-warden pipeline",
        description="Spark jobs over the history of one cluster or of a fleet (docs/pipeline.md). Several, such as"
        " rollup,moves,report, run one after the other in one session; they have the flags that all jobs have.",
        allow_abbrev=False,
    )
    commands = made.add_subparsers(dest="job", required=True, metavar="JOB")
    first = next(iter(arguments), "")
    if _JOINT in first and set(first.split(_JOINT)) <= set(JOBS):
        _add_shared(commands.add_parser(first, allow_abbrev=False))
        return made
    named = [name for name in JOBS if name == first]
    for name in named or JOBS:
        job = load(name)
        command = commands.add_parser(name, help=job.about, description=job.about, allow_abbrev=False)
        _add_shared(command)
        job.add_flags(command)
    return made


def _add_shared(command: argparse.ArgumentParser) -> None:
    command.add_argument("--input", required=True, metavar="FOLDER", help="history of a sidecar, or of many")
    command.add_argument("--output", required=True, metavar="FOLDER", help="where marts go")
    command.add_argument("--master", help=f"Spark's master (default: {session.LOCAL}, or that of spark-submit)")
    command.add_argument("--memory", default="2g", help="of the driver, with a local master all there is (default: 2g)")
    command.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")
    command.add_argument("--start", type=_time, default=0.0, metavar="TIME", help="history from there on, by the hour")
    command.add_argument("--end", type=_time, default=float("inf"), metavar="TIME", help="history before that")


def _time(text: str) -> float:
    """Read an ISO 8601 time, UTC when it does not say."""
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
