"""One batch: landing files to rows of the raw tables, each exactly once.

1. The plan is committed to `landing`: which files, and what is done with each.
2. Each raw table gets the rows of its files in one commit. A column has the number of the batch.
3. The batch is marked as complete.

After a kill, the next call first completes the batch with the same files: the tables that have no row of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import HistoryFileError
from kafka_warden.history.parquet.footers import Found, Inventory, Range
from kafka_warden.history.schema import BY_NAME, TABLES, ddl
from kafka_warden.pipeline.claims import Claim
from kafka_warden.pipeline.history import row_key
from kafka_warden.pipeline.ingest.plan import Gap, How, Known, Planned, gaps, planned
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.storage import literal
from kafka_warden.pipeline.store import DONE, DONE_DAY, LANDING, Store, StoredTable, day_of, in_list, raw
from kafka_warden.pipeline.timeline import DAY

NAME: Final = "ingest"


@dataclass(frozen=True, slots=True)
class Summary:
    """What one call did."""

    batch: int
    """The last complete batch."""
    files: int
    rows: int
    """Of the files, also those that other files had."""
    duplicates: int
    """Files of which all rows were known."""
    vanished: Sequence[str]
    """Files that were deleted before their rows were taken."""
    problems: Sequence[HistoryFileError]
    """Of damaged files, which the next call tries again."""
    gaps: Sequence[Gap]


def fenced(store: Store) -> Iterator[StoredTable]:
    """Yield the tables to which an earlier run may still commit: `claims.holding`."""
    yield LANDING
    # With its fence, no plan can follow.
    last, done = _batches(store)
    if last > done:
        names: list[Any] = store.read(LANDING).where(F.col("batch") == last).select("table").distinct().collect()
        yield from (raw(name) for (name,) in names)


def ingest(claim: Claim, landing: Inventory, progress: Progress) -> Summary:
    """Take all new files of a landing zone in one batch. The store exists.

    Raises:
        StoreInUseError: another process has taken over.
    """
    store = claim.store
    last, done = _batches(store)
    listed = {file.place for file in landing.files}
    vanished = []
    if last > done:
        with progress.step(f"batch {last}, which was interrupted"):
            vanished = _write(claim, last, listed, progress, again=True)
    new = _unknown(store, landing)
    with progress.step(f"{len(new)} new files: footers"):
        found, problems = _opened(landing, new)
    known = _known(store, {part.run for _, ranges in found for part in ranges})
    decided = planned(found, known)
    if decided:
        last += 1
        _plan(claim, last, decided)
        vanished += _write(claim, last, listed, progress)
    taken = [each for each in decided if each.how is not How.DUPLICATE]
    rows = sum(part.rows for each in taken for part in each.ranges)
    return Summary(last, len(taken), rows, len(decided) - len(taken), vanished, problems, gaps(decided, known))


def compact(store: Store, batch: int, progress: Progress) -> None:
    """Compact the days that a batch has added rows to."""
    touched = store.read(LANDING).where((F.col("batch") == batch) & F.col("how").isin(How.NEW, How.MERGE))
    spans: list[Any] = touched.groupBy("table").agg(F.min("since"), F.max("until")).collect()
    for name, since, until in spans:
        with progress.step(f"{name}: compaction"):
            store.compact(raw(name), f"date BETWEEN '{day_of(since)}' AND '{day_of(until)}'")


def _batches(store: Store) -> tuple[int, int]:
    """Return the last planned batch and the last complete one; 0 if there is none."""
    done = F.max(F.when(F.col("how") == DONE, F.col("batch")))
    ((last, complete),) = store.read(LANDING).agg(F.max("batch"), done).collect()
    return last or 0, complete or 0


def _unknown(store: Store, landing: Inventory) -> list[Found]:
    """Return the files that no batch has. A file that was replaced by one of another size is another file."""
    rows: list[Any] = store.read(LANDING).select("place", "size").distinct().collect()
    known = {(place, size) for place, size in rows}
    return [file for file in landing.files if (file.place, file.size) not in known]


def _opened(
    landing: Inventory, files: Sequence[Found]
) -> tuple[list[tuple[Found, Sequence[Range]]], list[HistoryFileError]]:
    found: list[tuple[Found, Sequence[Range]]] = []
    problems = []
    for file, ranges in landing.ranges(files):
        if isinstance(ranges, HistoryFileError):
            problems.append(ranges)
        elif ranges:
            found.append((file, ranges))
    return found, problems


def _known(store: Store, runs: Iterable[str]) -> Known:
    names = ("cluster_id", "run", "first", "last", "since", "until", "rows")
    mine = store.read(LANDING).where(F.col("run").isin(*runs) & (F.col("how") != How.DUPLICATE))
    known = defaultdict(list)
    rows: list[Any] = mine.select("table", *names).collect()
    for table, *values in rows:
        known[table, values[0], values[1]].append(Range(*values))
    return known


def _plan(claim: Claim, batch: int, decided: Sequence[Planned]) -> None:
    rows = []
    for each in decided:
        for part in each.ranges:
            span = (part.cluster_id, part.run, part.first, part.last, part.since, part.until, part.rows)
            file = (each.file.place, each.file.size, claim.store.writer, day_of(part.since))
            rows.append((batch, str(each.how), each.file.table, *span, *file))
    claim.append(LANDING, claim.store.spark.createDataFrame(rows, LANDING.ddl))


def _write(claim: Claim, batch: int, listed: set[str], progress: Progress, *, again: bool = False) -> list[str]:
    """Write the rows of a planned batch, and return the files that have vanished."""
    store = claim.store
    plan: list[Any] = (
        store.read(LANDING).where((F.col("batch") == batch) & F.col("how").isin(How.NEW, How.MERGE)).collect()
    )
    vanished: list[str] = []
    for name in (table.name for table in TABLES):
        mine = [row for row in plan if row["table"] == name]
        if not mine or (again and not store.read(raw(name)).where(F.col("batch") == batch).isEmpty()):
            continue
        vanished += sorted({row["place"] for row in mine if row["place"] not in listed})
        left = [row for row in mine if row["place"] in listed]
        if left:
            with progress.step(f"{name}: {sum(row['rows'] for row in left)} rows"):
                claim.append(raw(name), _rows(store, name, left).withColumn("batch", F.lit(batch).cast("bigint")))
    done = store.spark.createDataFrame([(batch, DONE, *[None] * 10, store.writer, DONE_DAY)], LANDING.ddl)
    claim.replace(LANDING, done, f"date = '{DONE_DAY}'")
    claim.check()
    return vanished


def _rows(store: Store, name: str, plan: Sequence[Any]) -> DataFrame:
    """Return the rows of planned files that no batch has yet."""

    def read(how: How) -> tuple[DataFrame, list[Any]]:
        mine = [row for row in plan if row["how"] == how]
        places = sorted({row["place"] for row in mine})
        reader = store.spark.read.schema(ddl(BY_NAME[name]))
        rows = reader.parquet(*map(literal, places)) if places else store.spark.createDataFrame([], ddl(BY_NAME[name]))
        return rows.withColumn("date", F.date_from_unix_date(F.floor(F.col("time") / DAY).cast("int"))), mine

    new, _ = read(How.NEW)
    merge, overlapping = read(How.MERGE)
    return new.unionByName(_missing(store, name, merge, overlapping)) if overlapping else new


def _missing(store: Store, name: str, rows: DataFrame, plan: Sequence[Any]) -> DataFrame:
    """Return the distinct rows that the raw table does not have."""
    key = row_key(name)
    first, last = min(row["since"] for row in plan), max(row["until"] for row in plan)
    clusters = in_list("cluster_id", {row["cluster_id"] for row in plan})
    runs = in_list("run", {row["run"] for row in plan})
    stored = store.read(raw(name)).where(
        f"date BETWEEN '{day_of(first)}' AND '{day_of(last)}' AND {clusters} AND {runs}"
    )
    mine, other = rows.dropDuplicates(key).alias("mine"), stored.select(*key).alias("other")
    # A part of a key may be null, such as the topic of a broker's configuration.
    same = reduce(and_, (F.col(f"mine.{column}").eqNullSafe(F.col(f"other.{column}")) for column in key))
    return mine.join(other, same, "left_anti")
