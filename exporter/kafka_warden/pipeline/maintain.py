"""The job `maintain`: deletes old days, compacts all tables and deletes unused files, and says what it did."""

from collections.abc import Mapping
from typing import Final

from kafka_warden.pipeline import runs
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.maintenance import RAW, add_keep, compact, delete_old, read_keep, vacuum
from kafka_warden.pipeline.marts import MARTS
from kafka_warden.pipeline.store import RUNS, TAKEN, of_mart


def run(request: Request[Mapping[str, int]]) -> None:
    """Do now, for all tables, what other jobs do for theirs once a day.

    Raises:
        StoreError: the store cannot be used, or another process has written to it at the same time.
    """
    store, progress, done = request.store, request.progress, runs.Run("maintain")
    request.runs.append(done)
    store.open()
    keep = {**store.retention(), **request.options}
    store.set_retention(keep)
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
    keep = {**request.store.retention(), **request.options}
    return f"maintain: would keep {keep['raw']} days of raw rows and {keep['minutes']} of minutes"


JOB: Final = Job(
    "maintain", "deletes old days, compacts tables, deletes unused files", add_keep, read_keep, run, preview
)
