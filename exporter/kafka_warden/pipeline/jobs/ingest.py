"""The job `ingest`: takes the files of the landing zone into the raw tables of a store, each row once."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_warden.config import values
from kafka_warden.config.flags import read_values
from kafka_warden.history.parquet.footers import inventory
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline.claims import holding
from kafka_warden.pipeline.ingest.ingest import NAME, Summary, compact, fenced, ingest
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import backtest, forecast, moves, plan, rollup
from kafka_warden.pipeline.marts.rollup import MINUTES
from kafka_warden.pipeline.rollup.windows import HOUR
from kafka_warden.pipeline.store import LANDING, of_mart, raw, unix_time

KEEP: Final = 30
KEEP_MINUTES: Final = 90
"""Days."""
MOST_NAMED: Final = 3
"""Problems that are named one by one."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    keep_raw: int = KEEP
    keep_minutes: int = KEEP_MINUTES
    """Days of rows that are kept."""


def run(request: Request[Options]) -> None:
    """Take all new files, compact what they touched, and delete what is too old.

    Raises:
        StoreError: the store cannot be used, or another process ingests.
        EmptyHistoryError: the landing zone has no file of history.
    """
    store, options = request.store, request.options
    assert store is not None  # noqa: S101  # `places`
    store.create([mart for job in (rollup, moves, backtest, forecast, plan) for mart in job.MARTS])
    today = datetime.now(UTC).date()
    oldest = today - timedelta(days=options.keep_raw)
    listed = inventory(request.input)
    kept = tuple(file for file in listed.files if file.hour * HOUR >= unix_time(oldest))
    with holding(store, NAME, fenced) as claim:
        done = ingest(claim, replace(listed, files=kept), request.progress)
        for line in lines(done, len(listed.files) - len(kept), options.keep_raw):
            request.progress.say(line)
        if done.files:
            compact(store, done.batch, request.progress)
        for table in (LANDING, *(raw(table.name) for table in TABLES)):
            store.expire(table, oldest)
        for mart in MINUTES:
            store.expire(of_mart(mart), today - timedelta(days=options.keep_minutes))


def lines(done: Summary, old: int, days: int) -> Iterator[str]:
    """Yield a report: what was taken, then what is wrong."""
    yield f"batch {done.batch}: {done.rows} rows of {done.files} new files; {done.duplicates} files were known"
    if old:
        yield f"{old} files are older than {days} days, and were not taken (--keep-raw)"
    wrong = [f"NOT TAKEN: {problem}" for problem in done.problems]
    wrong += [f"LOST: {place}: deleted before its rows were taken" for place in done.vanished]
    for gap in done.gaps:
        polls = f"polls {gap.first} to {gap.last} of run {gap.run}, cluster {gap.cluster_id}"
        wrong.append(f"MISSING: {polls}: their files expired before they were taken, or come later")
    yield from wrong[:MOST_NAMED]
    if len(wrong) > MOST_NAMED:
        yield f"and {len(wrong) - MOST_NAMED} more"


def _add_flags(parser: ArgumentParser) -> None:
    add, default = parser.add_argument, Options()
    add("--keep-raw", metavar="DAYS", help=f"raw rows that are kept (default: {default.keep_raw})")
    add("--keep-minutes", metavar="DAYS", help=f"minutes that are kept (default: {default.keep_minutes})")


def _read_flags(parsed: Namespace) -> Options:
    given = read_values(vars(parsed), dict.fromkeys(("keep_raw", "keep_minutes"), values.whole_number))
    return Options(**{name: days for name, days in given.items() if days is not None})


JOB: Final = Job(
    NAME,
    "landing files to the raw tables of a store, each row once",
    _add_flags,
    _read_flags,
    run,
    (frozenset({"input", "store"}),),
)
