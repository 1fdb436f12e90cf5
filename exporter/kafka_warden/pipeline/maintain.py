"""The job `maintain`, and the upkeep of other jobs: compaction, and deletion of old days and of unused files.

`ingest` and incremental jobs do it for their tables once a day. `maintain` does it for all tables, now.
"""

import re
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Final

from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.config import values
from kafka_warden.config.options import read_values
from kafka_warden.formatting import in_count
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline import runs
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import MARTS, MINUTES
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import KEEP, RUNS, TAKEN, Store, StoredTable, in_list, of_mart, raw, unix_time

FILES: Final = 32
"""Files of a partition above which they are compacted, unless it is of a day that has ended: loops add many."""
UNUSED: Final = 7 * 24
"""Hours for which files stay that no version of a table has any more: readers may still have them open."""
LATER: Final = timedelta(days=2)
"""Between the moment when a day leaves `taken`, where jobs find hours, and the deletion of its raw rows. A job that
runs may have found the day before: without raw rows, it would replace its results by nothing.
"""
MOST_DAYS: Final = 100_000
"""The most that rows are kept: as long before today there still is a date."""

RAW: Final = tuple(raw(table.name) for table in TABLES)

_DAY_FOLDER: Final = re.compile(r"/date=(\d{4}-\d\d-\d\d)$")


def compact(store: Store, table: StoredTable, where: str, progress: Progress) -> None:
    """Compact the partitions that match an SQL condition and have too many files."""
    found = crowded(store.files(table, where), store.today())
    if found is not None:
        with progress.step(f"{table.name}: compaction"):
            store.compact(table, found)


def crowded(files: Iterable[str], today: date) -> str | None:
    """Return an SQL condition on the days with too many files, or on all rows of a table without days.

    `files`: addresses. None: no folder has too many.
    """
    days = set()
    for folder, count in Counter(file.rpartition("/")[0] for file in files).items():
        found = _DAY_FOLDER.search(folder)
        if found is None and count > FILES:
            return "cluster_id IS NOT NULL"
        if found is not None and count > (1 if found[1] < str(today) else FILES):
            days.add(found[1])
    return in_list("date", days) if days else None


def keep_days(store: Store, chosen: Mapping[str, int]) -> tuple[dict[str, int], bool]:
    """Let the store keep the chosen days; return all its days, and whether one of them is less than before."""
    kept = store.retention()
    keep = {**kept, **chosen}
    if keep != kept:
        store.set_retention(keep)
    return keep, any(keep[name] < kept[name] for name in keep)


def delete_old(store: Store, keep: Mapping[str, int], progress: Progress, *, raw_rows: bool) -> None:
    """Delete what is older than the days of `keep`. Raw rows only if no job can be reading them: `raw_rows`."""
    before, since = store.taken_since(), store.today() - timedelta(days=keep["raw"])
    newest = store.newest_row()
    if newest is not None and newest < unix_time(since):
        progress.say(f"all rows are from before {since}, so none is deleted; is this machine's clock right?")
        return
    if newest is not None:
        store.set_taken_since(max(before, since))
    for table, day in _first_days(store, keep, before):
        if (raw_rows or table not in RAW) and (count := store.expire(table, day)):
            progress.say(f"{table.name}: deleted {in_count(count, 'row')} from before {day}")


def _first_days(store: Store, keep: Mapping[str, int], taken_since: date) -> Iterator[tuple[StoredTable, date]]:
    """Yield each table that loses its old rows, and the first day that it keeps."""
    today = store.today()
    since = today - timedelta(days=keep["raw"])
    yield TAKEN, since
    yield from ((table, min(taken_since, since - LATER)) for table in RAW)
    yield from ((of_mart(mart), today - timedelta(days=keep["minutes"])) for mart in MINUTES)
    yield RUNS, today - runs.KEPT


def vacuum(store: Store, tables: Iterable[StoredTable], progress: Progress) -> None:
    """Delete the files that the tables do not use any more."""
    with progress.step("vacuum"):
        for table in tables:
            store.vacuum(table, UNUSED)


def add_keep(parser: ArgumentParser) -> None:
    """Add the flags of retention."""
    for name, days in KEEP.items():
        what = f"days of {name} rows that the store keeps, from now on (at first {days})"
        parser.add_argument(f"--keep-{name}", metavar="DAYS", help=what)


def read_keep(parsed: Namespace) -> dict[str, int]:
    """Return the days that the user chose, by the names of `store.KEEP`."""
    flags = {f"keep_{name}": getattr(parsed, f"keep_{name}") for name in KEEP}
    given = read_values(flags, dict.fromkeys(flags, values.days_up_to(MOST_DAYS)))
    return {name.removeprefix("keep_"): days for name, days in given.items() if days is not None}


def run(request: Request[Mapping[str, int]]) -> None:
    """Do now, for all tables, what other jobs do for theirs once a day.

    Raises:
        StoreError: the store cannot be used, or another process has written to it at the same time.
    """
    store, progress, done = request.store, request.progress, runs.Run("maintain")
    request.runs.append(done)
    store.open()
    keep, _ = keep_days(store, request.options)
    marts = [of_mart(mart) for mine in MARTS.values() for mart in mine]
    tables = [table for table in (TAKEN, RUNS, *RAW, *marts) if store.find(table) is not None]
    before = {table.name: len(store.files(table, "true")) for table in tables}
    with runs.ending(store, done, is_due=True):
        with progress.step(
            f"days before the last {keep['raw']} of raw rows, and {keep['minutes']} of minutes: deletion"
        ):
            delete_old(store, keep, progress, raw_rows=True)
        for table in tables:
            compact(store, table, "true", progress)
        vacuum(store, tables, progress)
    for table in tables:
        progress.say(f"{table.name}: {before[table.name]} files before, {len(store.files(table, 'true'))} after")


def preview(request: Request[Mapping[str, int]]) -> str:
    """Return what a run would delete."""
    store = request.store
    keep = {**store.retention(), **request.options}
    lines = [
        f"{table.name}: {in_count(count, 'row')} from before {day} would be deleted"
        for table, day in _first_days(store, keep, store.taken_since())
        if (count := store.read(table).where(F.col("date") < day).count())
    ]
    return "\n".join([f"maintain: would keep {keep['raw']} days of raw rows and {keep['minutes']} of minutes", *lines])


JOB: Final = Job(
    "maintain", "deletes old days, compacts tables, deletes unused files", add_keep, read_keep, run, preview
)
