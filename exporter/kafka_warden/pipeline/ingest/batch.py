"""One batch: rows of the landing zone to the raw tables, each exactly once.

1. The plan is committed to `landing`: which files or offsets, and what is done with each.
2. Each raw table gets its rows in one commit. A column has the number of the batch.
3. The batch is marked as complete.

After a kill, the next call first completes the batch with the same files or offsets: the tables that have no row of it.
Files and offsets that the next call does not have are removed from the plan, and a later call that has them takes them.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.claims import Claim
from kafka_warden.pipeline.compaction import compact
from kafka_warden.pipeline.frames import of_rows
from kafka_warden.pipeline.history import row_key
from kafka_warden.pipeline.ingest.plan import EVERY_POLL, Gap, How, Known, Planned
from kafka_warden.pipeline.ingest.ranges import Range
from kafka_warden.pipeline.ingest.topic import PLACE
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import (
    DONE,
    DONE_DAY,
    LANDING,
    LARGEST_FILE,
    Store,
    StoredTable,
    day_of,
    gathered,
    in_list,
    raw,
)
from kafka_warden.pipeline.timeline import DAY

NAME: Final = "ingest"
"""The job that writes batches."""

AHEAD: Final = DAY
"""Seconds by which rows may be ahead of the clock of this machine. If the clock of a sidecar is ahead during its whole
run, jobs cannot see that, and the run is the latest one until that time has come.
"""

LARGE: Final = 32 << 20
"""Bytes of files of one cluster and day from which they are written without a shuffle. They are one task for each file
that is written: on two cores that is faster; on many cores a shuffle uses more of them.
"""
MOST_LARGE: Final = 64
"""Folders of a table that are written so: each is a query of its own."""

Read = Callable[[str, Sequence[Any]], DataFrame]
"""Returns the rows of one table for its rows of `landing`, which are all of the same `how`."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one batch did."""

    batch: int
    """The last complete batch."""
    rows: int
    """Of files also those that other files had."""
    taken: str
    """What had these rows."""
    wrong: Sequence[str] = ()
    """What was lost or not taken. The next call does not report it again."""
    gaps: Sequence[Gap] = ()
    problems: Sequence[str] = ()
    """What each call reports until it is repaired."""


def fenced(store: Store) -> Iterator[StoredTable]:
    """Yield the tables to which an earlier run may still commit: `claims.holding`."""
    yield LANDING
    # With its fence, no plan can follow.
    _, interrupted = last_batch(store)
    yield from map(raw, sorted({row["table"] for row in interrupted if row["table"] is not None}))


def last_batch(store: Store) -> tuple[int, list[Any]]:
    """Return the last batch, 0 if there is none, and its rows of `landing` if it was interrupted."""
    done = F.max(F.when(F.col("how") == DONE, F.col("batch")))
    ((last, complete),) = store.read(LANDING).agg(F.max("batch"), done).collect()
    if (last or 0) <= (complete or 0):
        return complete or 0, []
    return last, store.read(LANDING).where(F.col("batch") == last).collect()


def known(store: Store, ranges: Iterable[tuple[str, Range]]) -> Known:
    """Return what earlier batches have of the runs of new ranges, each with its table: all that may overlap them.

    Of `EVERY_POLL` it has the last earlier range, too.
    """
    limits: dict[str, tuple[int, int]] = {}
    for _, each in ranges:
        first, last = limits.get(each.run, (each.first, each.last))
        limits[each.run] = (min(first, each.first), max(last, each.last))
    if not limits:
        return {}
    runs = [(in_list("run", [run]), *limit) for run, limit in limits.items()]
    near = " OR ".join(f"({run} AND last >= {first} AND first <= {last})" for run, first, last in runs)
    before = " OR ".join(f"({run} AND last < {first})" for run, first, _ in runs)
    names = ("table", "cluster_id", "run", "first", "last", "since", "until", "rows", "place")
    mine = store.read(LANDING).where(F.col("how").isin(How.NEW, How.MERGE))
    polls = mine.where(f"`table` = '{EVERY_POLL}' AND ({before})").groupBy("cluster_id", "run")
    latest = polls.agg(F.max_by(F.struct(*names), "last").alias("found")).select("found.*")
    found = defaultdict(list)
    rows: list[Any] = mine.where(near).select(*names).unionByName(latest).collect()
    for table, *values, place in rows:
        # A range of offsets may have a part of a poll only.
        found[table, values[0], values[1]].append(replace(Range(*values), whole=not _is_of_topic(place)))
    return found


def plan(claim: Claim, batch: int, decided: Iterable[Planned], more: Iterable[Sequence[Any]] = ()) -> list[Any]:
    """Commit the plan of a batch, and return its rows of `landing`. `more`: such rows, besides those of `decided`.

    Raises:
        StoreInUseError: another process has taken over.
    """
    store = claim.store
    rows = of_rows(store.spark, [*landing_rows(store, batch, decided), *more], LANDING.ddl)
    claim.append(LANDING, gathered(LANDING, rows))
    # If Delta has skipped it, the batch is that of another process, and its tables have no fence against this run.
    claim.check()
    return store.read(LANDING).where(F.col("batch") == batch).collect()


def landing_rows(store: Store, batch: int, decided: Iterable[Planned]) -> Iterable[tuple[Any, ...]]:
    """Yield the rows of `landing` of a plan of files."""
    for each in decided:
        for part in each.ranges:
            span = (part.cluster_id, part.run, part.first, part.last, part.since, part.until, part.rows)
            file = (each.file.place, each.file.size, store.writer, day_of(part.since))
            yield (batch, str(each.how), each.file.table, *span, *file)


def complete(
    claim: Claim, batch: int, rows: Sequence[Any], is_here: Callable[[Any], bool], read: Read, progress: Progress
) -> set[str]:
    """Write the rest of a batch that was interrupted.

    Returns the places that this call does not have. They are removed from the plan.

    Args:
        claim: Of this call.
        batch: The number.
        rows: All its rows of `landing`.
        is_here: Whether this call has the file or the offsets of a row.
        read: Reads rows that are here.
        progress: Of this call.

    Raises:
        StoreInUseError: another process has taken over.
    """

    def is_written(name: str) -> bool:
        return not claim.store.read(raw(name)).where(F.col("batch") == batch).isEmpty()

    with progress.step(f"batch {batch}, which was interrupted"):
        written = {name for name in {row["table"] for row in rows} - {None} if is_written(name)}
        left = [row for row in rows if row["how"] != How.DUPLICATE and row["table"] not in written]
        here = [row for row in left if is_here(row)]
        away = set(left) - set(here)
        if away:
            _withdraw(claim, batch, rows, away)
        write(claim, batch, here, read, progress)
    return {row["place"] for row in away}


def _withdraw(claim: Claim, batch: int, rows: Iterable[Any], away: Collection[Any]) -> None:
    """Remove rows from the plan of a batch."""
    # What was a duplicate may now be the only file with its rows.
    kept = [row for row in rows if row["how"] != How.DUPLICATE and row not in away]
    # The first offset stays: messages that expire before the next call are then reported as lost.
    kept += [Row(**{**row.asDict(), "last": row["first"] - 1}) for row in away if row["how"] == How.OFFSETS]
    left = of_rows(claim.store.spark, kept, LANDING.ddl)
    claim.replace(LANDING, gathered(LANDING, left), f"batch = {batch}")


def withdrawn(batch: int, places: Iterable[str]) -> list[str]:
    """Return what to report of the places that `complete` returns."""
    why = f"batch {batch} was interrupted, and this is not in the input of this call. A later call that has it takes it"
    return [f"NOT TAKEN: {place}: {why}; if it was deleted, its rows are lost" for place in sorted(places)]


def write(claim: Claim, batch: int, rows: Sequence[Any], read: Read, progress: Progress) -> None:
    """Write what a batch takes, by its rows of `landing`, and mark it as complete.

    Raises:
        StoreInUseError: another process has taken over.
    """
    store = claim.store

    def put(name: str, mine: Sequence[Any]) -> None:
        with progress.step(f"{name}: {sum(row['rows'] for row in mine)} rows"):
            claim.append(raw(name), _fresh(store, name, batch, mine, read))

    taken = defaultdict(list)
    for row in rows:
        if row["how"] in (How.NEW, How.MERGE):
            taken[row["table"]].append(row)
    # All tables at once: a large one may be a single task, which would leave the other cores idle.
    with ThreadPoolExecutor() as threads:
        list(threads.map(put, taken, taken.values()))
    done = of_rows(store.spark, [(batch, DONE, *[None] * 10, store.writer, DONE_DAY)], LANDING.ddl)
    claim.replace(LANDING, done, f"date = '{DONE_DAY}'")
    claim.check()


def _fresh(store: Store, name: str, batch: int, rows: Sequence[Any], read: Read) -> DataFrame:
    """Return the rows that no batch has yet, as the raw table has them."""
    large, others = large_folders(row for row in rows if row["how"] == How.NEW)
    merge = [row for row in rows if row["how"] == How.MERGE]
    small = [read(name, others)] if others else []
    if merge:
        small.append(_missing(store, name, read(name, merge), merge))
    day = F.date_from_unix_date(F.floor(F.col("time") / DAY).cast("int"))
    own = {"date": day, "batch": F.lit(batch).cast("bigint")}
    frames = [read(name, mine).coalesce(files).withColumns(own) for mine, files in large]
    frames += [gathered(raw(name), each.withColumns(own)) for each in small]
    return reduce(DataFrame.unionByName, frames)


def large_folders(rows: Iterable[Any]) -> tuple[list[tuple[list[Any], int]], list[Any]]:
    """Find the files that by themselves make a large folder of a raw table.

    `rows`: of `landing`, of one table. Returns those of each large folder, with the number of files to write to it, and
    all others. Messages of a topic are always among the others: their reader selects by run.
    """
    files: defaultdict[str, list[Any]] = defaultdict(list)
    for row in rows:
        files[row["place"]].append(row)
    folders: defaultdict[Any, list[Any]] = defaultdict(list)
    for place, mine in files.items():
        of = {(row["cluster_id"], day_of(row[end])) for row in mine for end in ("since", "until")}
        folders[of.pop() if len(of) == 1 and not _is_of_topic(place) else None] += mine
    others = folders.pop(None, [])
    large: list[tuple[list[Any], int]] = []
    sized = [(sum({row["place"]: row["size"] for row in mine}.values()), mine) for mine in folders.values()]
    for size, mine in sorted(sized, key=lambda each: -each[0]):
        if size < LARGE or len(large) == MOST_LARGE:
            others += mine
        else:
            large.append((mine, math.ceil(size / LARGEST_FILE)))
    return large, others


def _is_of_topic(place: str) -> bool:
    return place.startswith(PLACE)


def _missing(store: Store, name: str, rows: DataFrame, plan_rows: Sequence[Any]) -> DataFrame:
    """Return the distinct rows that the raw table does not have."""
    key = row_key(name)
    since, until = min(row["since"] for row in plan_rows), max(row["until"] for row in plan_rows)
    first, last = min(row["first"] for row in plan_rows), max(row["last"] for row in plan_rows)
    clusters = in_list("cluster_id", {row["cluster_id"] for row in plan_rows})
    runs = in_list("run", {row["run"] for row in plan_rows})
    stored = store.read(raw(name)).where(
        f"date BETWEEN '{day_of(since)}' AND '{day_of(until)}' AND {clusters} AND {runs}"
        f" AND sequence BETWEEN {first} AND {last}"
    )
    mine, other = rows.dropDuplicates(key).alias("mine"), stored.select(*key).alias("other")
    # A part of a key may be null, such as the topic of a broker's configuration.
    same = reduce(and_, (F.col(f"mine.{column}").eqNullSafe(F.col(f"other.{column}")) for column in key))
    return mine.join(other, same, "left_anti")


def compact_touched(store: Store, since: int, progress: Progress) -> None:
    """Compact what batches after `since` have added files to."""
    touched = store.read(LANDING).where((F.col("batch") > since) & F.col("how").isin(How.NEW, How.MERGE))
    ends: list[Any] = touched.groupBy("table").agg(F.min("since"), F.max("until")).collect()
    # The day before may have ended since its last batch.
    found = [(raw(name), f"date BETWEEN '{day_of(first - DAY)}' AND '{day_of(last)}'") for name, first, last in ends]
    for table, where in [*found, (LANDING, f"date > '{DONE_DAY}'")]:
        compact(store, table, where, progress)
