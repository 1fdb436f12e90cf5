"""`kafka-warden pipeline JOB`: reads the flags, makes the session, runs one job."""

import argparse
import importlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from exporter.errors import ConfigError, JobError
from exporter.pipeline import session
from exporter.pipeline.failures import told
from exporter.pipeline.history import History
from exporter.pipeline.job import Job, Request
from exporter.pipeline.progress import Progress

JOBS: Final = ("rollup", "moves", "backtest", "forecast", "plan", "report")
"""Each is a module, or a package, of `exporter.pipeline.jobs`; in the order in which one would run them."""


def main(arguments: Sequence[str]) -> int:
    """Run a job and return its exit code.

    Raises:
        KafkaWardenError: what cannot be used, and what to do.
    """
    parsed = parser(arguments).parse_args(arguments)
    job: Job[Any] = load(parsed.job)
    options = job.read_flags(parsed)
    spark = session.make(job.name, parsed.master, parsed.memory, _settings(parsed.conf))
    try:
        return _run(job, options, spark, parsed)
    except (PySparkException, Py4JError) as failure:
        raise JobError(f"{job.name}: Spark gave up: {told(failure)}") from failure
    finally:
        spark.stop()


def _run(job: Job[Any], options: Any, spark: SparkSession, parsed: argparse.Namespace) -> int:
    history = History(spark, parsed.input, parsed.start, parsed.end)
    code = job.run(Request(spark, history, parsed.input, parsed.output, options, Progress(spark.sparkContext)))
    return code or 0


def load(name: str) -> Job[Any]:
    """Load a job."""
    found: Job[Any] = importlib.import_module(f"exporter.pipeline.jobs.{name}").JOB
    return found


def parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser, with the flags of the job that is named in the arguments, or of all."""
    made = argparse.ArgumentParser(
        prog="kafka-warden pipeline",
        description="Spark jobs over the history of one cluster or of a fleet (docs/pipeline.md).",
        allow_abbrev=False,
    )
    commands = made.add_subparsers(dest="job", required=True, metavar="JOB")
    named = [name for name in JOBS if name in arguments[:1]]
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
