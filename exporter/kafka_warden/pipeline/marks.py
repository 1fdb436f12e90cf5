"""What a job still has to do: the hours that have rows of batches that it has not read."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.ingest.plan import How
from kafka_warden.pipeline.rollup.windows import HOUR
from kafka_warden.pipeline.store import DONE, LANDING, MARKS, Store, day_of, in_list

LARGEST: Final = "replicas"

Span = tuple[int, int]
"""The first hour and the one after the last, counted since 1970."""


@dataclass(frozen=True, slots=True)
class Work:
    """One run of a job."""

    job: str
    run: int
    """Its number, which only grows: the version of its commits."""
    done: int
    """The last complete batch; rows of later ones are not read."""
    hours: Mapping[str, Sequence[Span]]
    """Cluster to the hours that are computed again."""
    moves_marks: bool
    """Whether all hours with new rows are in it."""
    rows: int
    """Rows of `LARGEST` that made the hours, at least."""

    def count(self) -> int:
        """Count the hours of all clusters."""
        return sum(after - first for spans in self.hours.values() for first, after in spans)

    def raw(self) -> str:
        """Return the SQL condition on rows of raw tables."""
        return f"batch <= {self.done} AND {_where(self.hours, 'time', lambda hour: f'{hour * HOUR}D')}"

    def windows(self) -> str:
        """Return the SQL condition on rows of marts."""
        return _where(self.hours, "start", _timestamp)


def begin(store: Store, job: str, start: float, end: float) -> Work:
    """Find the hours that a job has to compute: those with new rows, or with a start or an end (Unix s) all between.

    Raises:
        StoreInUseError: another process has begun the same run.
    """
    chosen = start > 0.0 or end != float("inf")
    marks: list[Any] = store.read(MARKS).where(F.col("job") == job).collect()
    run = max((row["run"] for row in marks), default=0) + 1
    claim = store.spark.createDataFrame([(job, None, None, run, store.writer)], MARKS.ddl)
    mine = (F.col("job") == job) & (F.col("run") == run)
    store.claim(MARKS, claim, mine, f"{job} begins", run, f"runs {job}; run one at a time")
    before = {row["cluster_id"]: row["batch"] for row in marks if row["cluster_id"] is not None}
    complete: list[Any] = store.read(LANDING).where(F.col("how") == DONE).select("batch").collect()
    done = complete[0][0] if complete else 0
    taken = store.read(LANDING).where(F.col("how").isin(How.NEW, How.MERGE) & (F.col("batch") <= done))
    ends = (F.floor(F.col(name) / HOUR).alias(name) for name in ("since", "until"))
    replicas = F.sum(F.when(F.col("table") == LARGEST, F.col("rows")))
    found: list[Any] = taken.groupBy("cluster_id", "batch", *ends).agg(replicas).collect()
    limits = (start // HOUR, -(-end // HOUR) if chosen and end != float("inf") else end)
    hours, rows = defaultdict(list), 0
    for cluster, batch, since, until, part in found:
        if chosen or batch > before.get(cluster, 0):
            span = (max(since, limits[0]), min(until + 1, limits[1]))
            if span[0] < span[1]:
                hours[cluster].append((int(span[0]), int(span[1])))
                rows += part or 0
    return Work(job, run, done, {cluster: joined(spans) for cluster, spans in sorted(hours.items())}, not chosen, rows)


def finish(store: Store, work: Work) -> None:
    """Commit the marks of a run, after all its data."""
    marks: list[Any] = store.read(MARKS).where((F.col("job") == work.job) & F.col("cluster_id").isNotNull()).collect()
    batches = {row["cluster_id"]: row["batch"] for row in marks}
    if work.moves_marks:
        batches |= dict.fromkeys(work.hours, work.done)
    rows = [(work.job, cluster, batch, work.run, store.writer) for cluster, batch in batches.items()]
    rows.append((work.job, None, None, work.run, store.writer))
    where = in_list("job", [work.job])
    store.replace(MARKS, store.spark.createDataFrame(rows, MARKS.ddl), where, work.job, work.run)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap or touch."""
    found: list[Span] = []
    for first, after in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(after, found[-1][1]))
        else:
            found.append((first, after))
    return found


def _where(hours: Mapping[str, Sequence[Span]], column: str, moment: Callable[[int], str]) -> str:
    # Delta's replaceWhere fails on BETWEEN.
    parts = [
        f"({in_list('cluster_id', [cluster])}"
        f" AND date >= '{day_of(first * HOUR)}' AND date <= '{day_of((after - 1) * HOUR)}'"
        f" AND {column} >= {moment(first)} AND {column} < {moment(after)})"
        for cluster, spans in hours.items()
        for first, after in spans
    ]
    return f"({' OR '.join(parts)})"


def _timestamp(hour: int) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(hour * HOUR, UTC):%Y-%m-%dT%H:%M:%SZ}'"
