"""Puts rows of history into the raw tables: an insert of the rows whose key a table does not have yet.

So a batch may be repeated by any process, as after a kill. What it has is added to `taken` last: the next call repeats
what is not there, and jobs find the hours that they compute there.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.landing import Part, few, overlapping
from kafka_warden.pipeline.marts import of_rows
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import LARGEST_FILE, TAKEN, Store, day_of, gathered, in_list, raw
from kafka_warden.pipeline.timeline import DAY, HOUR, row_key

LARGE: Final = 32 << 20
"""Bytes of files of one cluster and day from which they are written without a shuffle. They are one task for each file
that is written: on two cores that is faster; on many cores a shuffle uses more of them.
"""
MOST_LARGE: Final = 64
"""Folders of a table that are written so: each is a query of its own."""

NEAR: Final = 3600
"""Seconds between two spans of new rows that are compared as one, or a day: `few`."""

EVERY_POLL: Final = "polls"
"""The table with one row in each poll, in which a gap of sequences is a loss."""

Read = Callable[[str, Sequence[Part]], DataFrame]
"""Returns the rows of the parts of one table."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch took."""

    parts: Sequence[Part]
    said: str
    """In what these rows were."""
    wrong: Sequence[str] = ()
    """What was lost or not taken."""


def take(
    store: Store,
    parts: Sequence[Part],
    read: Read,
    progress: Progress,
    *,
    may_repeat: bool = False,
    more: Iterable[Sequence[Any]] = (),
) -> list[str]:
    """Insert the rows of new parts that the raw tables do not have; return what is missing before or in them.

    `may_repeat`: a part may have a row twice. `more`: rows of `taken`, besides those of `parts`.

    Raises:
        StoreInUseError: another process has written the same rows at the same time.
    """
    by_table: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts:
        by_table[part.table].append(part)

    # One after the other: of two processes that write the same rows, one ends at the first table where they meet.
    # Polls last: a reader that sees a poll sees all of it.
    for name, mine in sorted(by_table.items(), key=lambda each: (each[0] == EVERY_POLL, each[0])):
        with progress.step(f"{name}: {sum(part.range.rows for part in mine)} rows"):
            twice = {part.place for part in mine} if may_repeat else overlapping(mine)
            store.insert_missing(raw(name), _rows(name, mine, twice, read), row_key(name), _near(mine))
    new = of_rows(store.spark, [*map(taken_row, parts), *more], TAKEN.ddl)
    polls = by_table[EVERY_POLL]
    # A batch of messages may end within a poll, and those that were deleted are known by their offsets.
    missing = [*gaps(store, polls), *(() if may_repeat else missing_rows(store, polls, new))]
    store.append(TAKEN, gathered(TAKEN, new))
    return missing


def taken_row(part: Part) -> tuple[Any, ...]:
    """Return the row of `taken` of a part."""
    return (part.place, part.size, part.table, *astuple(part.range), day_of(part.range.since))


def gaps(store: Store, new: Sequence[Part]) -> list[str]:
    """Return the polls that are missing before new ranges of polls, which `taken` does not have yet.

    A run begins with poll 0. The first runs of a cluster in the store may be older than its history. `history.interval`
    leaves a similar number of polls out between all others.
    """
    if not new:
        return []
    found = [part.range for part in new]
    ranges = [(each.cluster_id, each.run, each.first, each.last, each.rows, True) for each in found]
    ddl = "cluster_id string, run string, first bigint, last bigint, `rows` bigint, is_new boolean"
    clusters = in_list("cluster_id", {part.range.cluster_id for part in new})
    known = store.read(TAKEN).where(f"`table` = '{EVERY_POLL}' AND {clusters}")
    known = known.select("cluster_id", "run", "first", "last", "rows", F.lit(False).alias("is_new"))
    runs = in_list("run", {part.range.run for part in new})
    both = known.unionByName(of_rows(store.spark, ranges, ddl)).where(runs)
    earlier = "PARTITION BY cluster_id, run ORDER BY first, last ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    of_known = F.broadcast(known.select("cluster_id", F.lit(-1).alias("none")).distinct())
    before = F.expr(f"coalesce(max(last) OVER ({earlier}), none)")
    # Sequences from one poll to the next, unknown of a range of one poll.
    step = F.expr("(last - first) / nullif(`rows` - 1, 0)")
    usual = F.expr(f"greatest(coalesce(step, last(step, true) OVER ({earlier}), 1), 1)")
    missing = both.join(of_known, "cluster_id", "left").withColumn("step", step)
    missing = missing.withColumns({"before": before, "usual": usual}).where("is_new AND first > before + 1.5 * usual")
    rows: list[Any] = missing.select("cluster_id", "run", F.expr("before + 1"), F.expr("first - 1")).collect()
    return [_missing(f"polls {first} to {last}", run, cluster) for cluster, run, first, last in sorted(rows)]


def missing_rows(store: Store, polls: Sequence[Part], new: DataFrame) -> list[str]:
    """Return the rows of other tables that polls count and the store does not have, in hours with new polls.

    `new`: rows that `taken` does not have yet. A raw table is read only if both have too few rows of it: after a kill
    it may have rows of files that were then deleted.
    """
    if not polls:
        return []
    key = ["cluster_id", "run", "hour"]
    hours = {
        (part.range.cluster_id, part.range.run, hour)
        for part in polls
        for hour in range(int(part.range.since // HOUR), int(part.range.until // HOUR) + 1)
    }
    wanted = F.broadcast(of_rows(store.spark, hours, "cluster_id string, run string, hour bigint"))
    clusters = in_list("cluster_id", {cluster for cluster, *_ in hours})
    days = F.col("date").isin({day_of(hour * HOUR) for *_, hour in hours})

    def of_hours(rows: DataFrame, time: str = "time") -> DataFrame:
        hour = F.floor(F.col(time) / HOUR)
        return rows.where(clusters).where(days).withColumn("hour", hour).join(wanted, key)

    def total(rows: DataFrame, name: str) -> DataFrame:
        return rows.groupBy(*key, "table").agg(F.sum("rows").alias(name))

    counted = of_hours(store.read(raw(EVERY_POLL))).select(*key, F.explode("rows").alias("table", "rows"))
    taken = of_hours(store.read(TAKEN).unionByName(new), "since")
    # Copies of a file count once.
    taken = taken.dropDuplicates([*key, "table", "first", "last"])
    both = total(counted, "counted").join(total(taken, "taken"), [*key, "table"], "left")
    fewer: list[Any] = both.where("counted > coalesce(taken, 0)").select("table", *key, "counted").collect()
    stored: dict[Any, int] = {}
    for name in {row["table"] for row in fewer}:
        of_table: list[Any] = of_hours(store.read(raw(name))).groupBy(*key).count().collect()
        stored |= {(name, *of_hour): count for *of_hour, count in of_table}
    return [
        _missing(
            f"{lost} of {count} rows of {name} in the hour {datetime.fromtimestamp(hour * HOUR, UTC):%Y-%m-%dT%H}",
            run,
            cluster,
        )
        for name, cluster, run, hour, count in sorted(fewer)
        if (lost := count - stored.get((name, cluster, run, hour), 0)) > 0
    ]


def _missing(what: str, run: str, cluster: str) -> str:
    where = f"of run {run}, cluster {cluster}"
    return f"MISSING: {what} {where}: they were deleted before they were taken, were never written, or come later"


def _rows(name: str, parts: Sequence[Part], twice: Collection[str], read: Read) -> DataFrame:
    """Return the rows of new parts, each once, those of one folder together. `twice`: places that may share rows."""
    large, small = large_folders(part for part in parts if part.place not in twice)
    day = {"date": F.date_from_unix_date(F.floor(F.col("time") / DAY).cast("int"))}
    frames = [read(name, mine).coalesce(files).withColumns(day) for mine, files in large]
    if small:
        frames.append(gathered(raw(name), read(name, small).withColumns(day)))
    if twice:
        compared = read(name, [part for part in parts if part.place in twice]).dropDuplicates(row_key(name))
        frames.append(gathered(raw(name), compared.withColumns(day)))
    return reduce(DataFrame.unionByName, frames)


def large_folders(parts: Iterable[Part]) -> tuple[list[tuple[list[Part], int]], list[Part]]:
    """Find the files of one table that by themselves make a large folder of it.

    Returns those of each large folder, with the number of files to write to it, and all others. A file is read as a
    whole: one with rows of two folders is among the others.
    """
    files: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts:
        files[part.place].append(part)
    folders: defaultdict[Any, list[Part]] = defaultdict(list)
    for mine in files.values():
        found = {(part.range.cluster_id, day_of(end)) for part in mine for end in (part.range.since, part.range.until)}
        folders[found.pop() if len(found) == 1 else None] += mine
    others = folders.pop(None, [])
    large: list[tuple[list[Part], int]] = []
    sized = [(sum({part.place: part.size for part in mine}.values()), mine) for mine in folders.values()]
    for size, mine in sorted(sized, key=lambda each: -each[0]):
        if size < LARGE or len(large) == MOST_LARGE:
            others += mine
        else:
            files_made = math.ceil(size / LARGEST_FILE)
            # Each is a task. The last of three would leave one of two cores idle.
            large.append((mine, files_made if files_made == 1 else files_made + files_made % 2))
    return large, others


def _near(parts: Iterable[Part]) -> str:
    """Return the condition on stored rows that may be those of new parts. Delta opens no other files.

    Constants: Delta skips files by the partition, and by its statistics of `time`.
    """
    spans: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for part in parts:
        spans[part.range.cluster_id].append((part.range.since, part.range.until))
    return " OR ".join(
        f"({in_list('t.cluster_id', [cluster])} AND t.date >= '{day_of(since)}' AND t.date <= '{day_of(until)}'"
        f" AND t.time >= {since!r}D AND t.time <= {until!r}D)"
        for cluster, mine in sorted(spans.items())
        for since, until in few(mine, NEAR, DAY)
    )
