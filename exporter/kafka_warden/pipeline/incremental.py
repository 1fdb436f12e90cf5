"""What a job still has to do: the hours of rows that `taken` has since the last run of the job."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.formatting import in_count
from kafka_warden.pipeline import runs
from kafka_warden.pipeline.batch import EVERY_POLL
from kafka_warden.pipeline.job import Request
from kafka_warden.pipeline.landing import few
from kafka_warden.pipeline.maintain import compact, vacuum
from kafka_warden.pipeline.marts import MARTS, Mart, shaped
from kafka_warden.pipeline.progress import SPARK_FAILURES, Progress, error_text
from kafka_warden.pipeline.session import set_shuffle_partitions
from kafka_warden.pipeline.store import NO_DAY, TAKEN, Store, day_of, gathered, in_list, of_mart, raw, unix_time
from kafka_warden.pipeline.timeline import DAY, HOUR

LARGEST: Final = "replicas"

MARGIN: Final = 24 + 6
"""Hours before new raw rows. Rows that ended earlier do not change: clocks are compared by days, and alarms are joined,
conditions look back, and runs are preferred, over at most six hours. An alarm of unknown condition has not ended."""

NEAR: Final = 24
"""Hours between two spans of a cluster that are joined where there are many."""

RECENT: Final = timedelta(days=2)
"""Age of the days that a job compacts: what earlier runs of that day have written, and the day before, which has ended
since.
"""

_FOLDERS: Final = re.compile(r"/cluster_id=([^/]*)/date=([^/]*)/[^/]*$")

Span = tuple[int, int]
"""The first hour and the one after the last, counted since 1970."""


@dataclass(frozen=True, slots=True)
class Work:
    """One run of a job."""

    store: Store
    hours: Mapping[str, Sequence[Span]]
    """Cluster to the hours that are computed again."""
    rows: int
    """Rows of `LARGEST` that made the hours, at least."""
    progress: Progress = field(default_factory=Progress)

    def count(self) -> int:
        """Count the hours of all clusters."""
        return sum(after - first for spans in self.hours.values() for first, after in spans)

    def __str__(self) -> str:
        return f"{in_count(self.count(), 'hour')} of {in_count(len(self.hours), 'cluster')}"

    def is_one_day(self) -> bool:
        """Return whether all hours are of one cluster and UTC day: one partition of each mart by minute or hour."""
        if len(self.hours) != 1:
            return False
        (spans,) = self.hours.values()
        return day_of(spans[0][0] * HOUR) == day_of((spans[-1][1] - 1) * HOUR)

    def raw(self) -> str:
        """Return the SQL condition on rows of raw tables."""
        return _where(self.hours, "time", lambda hour: f"{hour * HOUR}D")

    def windows(self) -> str:
        """Return the SQL condition on rows of marts."""
        return _where(self.hours, "start", _timestamp)

    def days(self, column: str) -> str:
        """Return the SQL condition on rows of the days of these hours. `column`: of type date."""
        return _any(
            f"{in_list('cluster_id', [cluster])} AND {column} >= '{day_of(first * HOUR)}'"
            f" AND {column} <= '{day_of((after - 1) * HOUR)}'"
            for cluster, spans in self.hours.items()
            for first, after in spans
        )


@contextmanager
def working(request: Request[Any], job: str, start: float = 0.0, end: float = math.inf) -> Iterator[Work]:
    """Find the hours that a job has to compute; after the block, which writes all its data, they are done.

    These are the hours with new rows, or with a start or an end (Unix s) all between. A run that is interrupted leaves
    them to the next one, which replaces the same rows again.

    Raises:
        StoreError: the store cannot be used.
        StoreInUseError: another process has written to the marts at the same time.
    """
    store, run = request.store, runs.Run(job)
    work, run.version, is_due = _pending(request, job, start, end)
    yield work
    run.hours, run.rows = work.count(), work.rows
    request.runs.append(run)
    with runs.ending(store, run, is_due=is_due):
        if is_due:
            recent = f"date >= '{store.today() - RECENT}'"
            mine = [of_mart(mart) for mart in MARTS[job]]
            for each in mine:
                compact(store, each, recent if "date" in each.partition_by else "true", request.progress)
            vacuum(store, mine, request.progress)


def compute(request: Request[Any], job: str, span: tuple[float, float], write: Callable[[Work], None]) -> None:
    """Write the marts of a job for the hours of `working`, unless there are none, and say for how many.

    `span`: start and end, Unix s.
    """
    with working(request, job, *span) as work:
        if work.hours:
            set_shuffle_partitions(request.spark, work.rows)
            write(work)
    request.progress.say(f"{job}: {work}")


def preview(request: Request[Any], job: str) -> str:
    """Return what a run of a job would compute."""
    if request.store.version() is None:
        return f"{job}: all hours that ingest takes would be computed, since there is no store yet"
    work, *_ = _pending(request, job, *request.span)
    return f"{job}: {work} would be computed"


def _pending(request: Request[Any], job: str, start: float, end: float) -> tuple[Work, int | None, bool]:
    """Return what a job has to compute, the version of `taken` up to which it has then read, and as `runs.last`."""
    store = request.store
    store.open()
    version, is_due = runs.last(store, job)
    if start > 0.0 or end != math.inf:
        # Others that have to be computed stay so: the version is not stored.
        return _work(request, _hours(store.read(TAKEN)), start, end), None, is_due
    newest = store.newest_version(TAKEN)
    return _work(request, _new_hours(request, version, newest), start, end), newest, is_due


def replace(work: Work, mart: Mart, frame: DataFrame, where: str, *, gather: bool = True) -> None:
    """Replace the rows of a mart that match an SQL condition. Arguments as of `Store.replace` and `marts.shaped`.

    `gather`: as of `store.gathered`. Without it, rows of one partition are written by several tasks at a time.
    """
    table, rows = of_mart(mart), shaped(mart, frame)
    count = work.store.replace(table, gathered(table, rows) if gather else rows, where)
    work.progress.say(f"{mart.name}: {in_count(count, 'row')}")


def _new_hours(request: Request[Any], version: int | None, newest: int) -> list[Any]:
    """Return what `taken` has since a version: all of it without one, or if Delta has deleted what was between."""
    store = request.store
    if version == newest:
        return []
    if version is not None and version < newest:
        try:
            # Raw rows of earlier days may be gone, and their hours in marts stay.
            return _hours(store.added(TAKEN, version, newest).where(f"date >= '{store.taken_since()}'"))
        except SPARK_FAILURES as failure:
            why = f"what was taken after version {version} cannot be read: {error_text(failure)}"
            request.progress.say(f"{why}; all hours are computed again")
    return _hours(store.read(TAKEN))


def _hours(taken: DataFrame) -> list[Any]:
    """Return the hours of rows of `taken`: cluster, first and last hour, and rows of `LARGEST`."""
    ends = (F.floor(F.col(name) / HOUR).alias(name) for name in ("since", "until"))
    replicas = F.sum(F.when(F.col("table") == LARGEST, F.col("rows")))
    found: list[Any] = taken.where("`table` IS NOT NULL").groupBy("cluster_id", *ends).agg(replicas).collect()
    return found


def _work(request: Request[Any], found: Iterable[Any], start: float, end: float) -> Work:
    limits = (start // HOUR, -(-end // HOUR) if end != math.inf else end)
    hours, rows = defaultdict(list), 0
    for cluster, since, until, part in found:
        span = (max(since, limits[0]), min(until + 1, limits[1]))
        if span[0] < span[1]:
            hours[cluster].append((int(span[0]), int(span[1])))
            rows += part or 0
    spans = {cluster: few(each, 0, NEAR) for cluster, each in sorted(hours.items())}
    return Work(request.store, spans, rows, request.progress)


@dataclass(frozen=True, slots=True)
class Unended:
    """What may have changed in a mart whose rows have a `began` and an `ended`, and the raw rows that it depends on."""

    clusters: Mapping[str, tuple[int, date]]
    """Cluster to an hour, counted since 1970: rows that ended before it stay. And the first day of raw rows."""
    begin: date = NO_DAY
    """`Store.taken_since`: polls of earlier days may be there without the rows of other tables."""

    def raw(self, table: str) -> str:
        """Return the SQL condition on rows of a raw table. Of polls, all of the store: the oldest run is preferred."""
        return _any(
            f"{in_list('cluster_id', [cluster])} AND date >= '{self.begin if table == EVERY_POLL else day}'"
            for cluster, (_, day) in self.clusters.items()
        )

    def rows(self, mart: Mart, also: str = "false") -> str:
        """Return the SQL condition on rows of a mart. `also`: a condition on other rows of these clusters."""
        return _any(
            f"{in_list('cluster_id', [cluster])} AND (ended IS NULL OR ended >= {_timestamp(hour)} OR {also})"
            + (f" AND date >= '{day}'" if "date" in mart.names else "")
            for cluster, (hour, day) in self.clusters.items()
        )

    def replace(self, work: Work, mart: Mart, frame: DataFrame, also: str = "false") -> None:
        """Replace these rows of a mart. Others of `frame` are dropped: some of their raw rows were not read."""
        where = self.rows(mart, also)
        replace(work, mart, frame.where(where), where)


def unended(store: Store, mart: Mart, work: Work) -> Unended:
    """Find what new rows may change: all that had not ended `MARGIN` before the first hour with new rows.

    What began before the first raw row that is left, and ended up to `MARGIN` after it, stays, and all that ended
    before: it cannot be computed again.
    """
    since = {cluster: spans[0][0] - MARGIN for cluster, spans in work.hours.items()}
    # Raw rows of earlier days may be deleted while they are read.
    begin = store.taken_since()
    changed = Unended({cluster: (hour, NO_DAY) for cluster, hour in since.items()}).rows(mart)
    stays = _any(
        f"{in_list('cluster_id', [cluster])} AND began < {_timestamp(hour)} AND ended < {_timestamp(hour + MARGIN)}"
        for cluster, hour in _oldest_hours(store, since, begin).items()
    )
    last = F.max(F.when(F.expr(stays), F.col("ended")))
    ends = (F.floor(F.unix_seconds(each) / HOUR) for each in (F.min("began"), last))
    rows: list[Any] = store.read(of_mart(mart)).where(changed).groupBy("cluster_id").agg(*ends).collect()
    first = since | {cluster: min(since[cluster], hour) for cluster, hour, _ in rows}
    since |= {cluster: max(since[cluster], hour + 1) for cluster, _, hour in rows if hour is not None}
    # One day more: what looks back, looks back for less.
    days = {cluster: max(day_of(hour * HOUR - DAY), begin) for cluster, hour in first.items()}
    return Unended({cluster: (since[cluster], day) for cluster, day in days.items()}, begin)


def _oldest_hours(store: Store, clusters: Iterable[str], begin: date) -> Mapping[str, int]:
    """Return the first hour, counted since 1970, of the first day from `begin` of which each cluster has raw rows."""
    oldest: dict[str, int] = {}
    for file in store.files(raw(EVERY_POLL), f"{in_list('cluster_id', clusters)} AND date >= '{begin}'"):
        if found := _FOLDERS.search(file):
            # Once escaped by Spark in the name of the folder, and once in the address.
            cluster, hour = unquote(unquote(found[1])), int(unix_time(date.fromisoformat(found[2]))) // HOUR
            oldest[cluster] = min(hour, oldest.get(cluster, hour))
    return oldest


def _where(hours: Mapping[str, Sequence[Span]], column: str, moment: Callable[[int], str]) -> str:
    # Delta's replaceWhere fails on BETWEEN.
    return _any(
        f"{in_list('cluster_id', [cluster])}"
        f" AND date >= '{day_of(first * HOUR)}' AND date <= '{day_of((after - 1) * HOUR)}'"
        f" AND {column} >= {moment(first)} AND {column} < {moment(after)}"
        for cluster, spans in hours.items()
        for first, after in spans
    )


def _any(conditions: Iterable[str]) -> str:
    return f"({' OR '.join(f'({each})' for each in conditions) or 'false'})"


def _timestamp(hour: int) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(hour * HOUR, UTC):%Y-%m-%dT%H:%M:%SZ}'"
