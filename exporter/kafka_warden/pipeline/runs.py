"""What runs of jobs did: rows of the table `runs`, and metrics for Prometheus."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ConfigError, StoreInUseError
from kafka_warden.pipeline.marts import of_rows
from kafka_warden.pipeline.progress import SPARK_FAILURES
from kafka_warden.pipeline.store import RUNS, Store, in_list

KEPT: Final = timedelta(days=180)
"""Age at which rows of `runs` are deleted. A job that did not run for longer computes all hours again."""

_ABOUT: Final = {
    "hours": "Hours of all clusters that the last run computed or took.",
    "rows": "Rows that the last run took, or of replicas that it computed from.",
    "files": "Files, or partitions of the topic, of which the last run took rows.",
    "seconds": "Duration of the last run.",
    "problems": "What the last run did not take, or found missing: it names each.",
    "newest": "Time of the newest row in the store after the last run.",
}
"""Number of a run to the help of its metric."""
_UNITS: Final = {"seconds": "duration_seconds", "newest": "newest_row_timestamp_seconds"}
METRICS: Final = {name: f"kafka_warden_pipeline_{_UNITS.get(name, name)}" for name in _ABOUT}
"""Number of a run to the name of its metric."""


@dataclass(slots=True)
class Run:
    """One run of a job."""

    job: str
    hours: int = 0
    rows: int = 0
    files: int = 0
    problems: int = 0
    newest: float | None = None
    """Unix s."""
    version: int | None = None
    """Of `taken`, up to which the job has read it."""
    began: float = field(default_factory=time.time)
    """Unix s."""
    seconds: float = 0.0


@contextmanager
def ending(store: Store, run: Run, *, is_due: bool) -> Iterator[None]:
    """Store what a run did, after the upkeep of its tables, the block, which `is_due` or not.

    A failure in the block is raised after that: what the run has computed stays.
    """
    failure = None
    try:
        yield
    except (*SPARK_FAILURES, StoreInUseError) as problem:
        failure = problem
    run.newest = store.newest_row()
    run.seconds = time.time() - run.began
    # A loop without new rows leaves nothing.
    if run.hours or run.rows or is_due:
        began, newest = (
            None if each is None else datetime.fromtimestamp(each, UTC) for each in (run.began, run.newest)
        )
        row = (run.job, began, run.seconds, run.version, run.hours, run.rows, run.files, newest, store.today())
        store.append(RUNS, of_rows(store.spark, [row], RUNS.ddl))
    if failure is not None:
        raise failure


def last(store: Store, job: str) -> tuple[int | None, bool]:
    """Return the version of `taken` that a job has read, and whether the upkeep of its tables is due.

    That is in its first run of each UTC day but the first day. A day later than tomorrow comes from a host whose clock
    was ahead. The version is of the run that ended last, and not the highest: of two runs at once it may have
    replaced the rows of the other one.
    """
    today = store.today()
    mine = store.read(RUNS).where(f"{in_list('job', [job])} AND date <= '{today + timedelta(days=1)}'")
    ended = F.expr("CASE WHEN version IS NOT NULL THEN unix_micros(began) + seconds * 1e6 END")
    rows: list[Any] = mine.agg(F.max_by("version", ended), F.max("date")).collect()
    version, day = rows[0]
    return version, day is not None and day < today


def write_metrics(runs: Iterable[Run], file: Path) -> None:
    """Write metrics of runs for node_exporter's textfile collector, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    registry = CollectorRegistry()
    gauges = {name: Gauge(METRICS[name], about, ["job"], registry=registry) for name, about in _ABOUT.items()}
    for run in runs:
        for name, gauge in gauges.items():
            value = getattr(run, name)
            if value is not None:
                gauge.labels(run.job).set(value)
    try:
        write_to_textfile(str(file), registry)
    except OSError as problem:
        raise ConfigError(f"--metrics: {file}: {problem.strerror or problem}") from problem
