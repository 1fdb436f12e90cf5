"""The job `ingest`: takes the files of the landing zone into the raw tables of a store, each row once."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_warden.config import values
from kafka_warden.config.flags import read_values
from kafka_warden.history.parquet.footers import inventory
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline.ingest.ingest import Summary, compact, ingest
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import backtest, forecast, moves, plan, rollup
from kafka_warden.pipeline.marts.rollup import MINUTES
from kafka_warden.pipeline.rollup.windows import HOUR
from kafka_warden.pipeline.store import KEEP, LANDING, of_mart, raw, unix_time

MOST_NAMED: Final = 3
"""Problems that are named one by one."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    keep: Mapping[str, int] = field(default_factory=dict)
    """Days of rows that are kept, by the names of `store.KEEP`; the store has the others."""


def run(request: Request[Options]) -> None:
    """Take all new files, compact what they touched, and delete what is too old.

    Raises:
        StoreError: the store cannot be used.
        EmptyHistoryError: the landing zone has no file of history.
    """
    store = request.store
    store.create([mart for job in (rollup, moves, backtest, forecast, plan) for mart in job.MARTS])
    today = datetime.now(UTC).date()
    keep = store.retention(request.options.keep)
    oldest = today - timedelta(days=keep["raw"])
    listed = inventory(request.input)
    kept = tuple(file for file in listed.files if file.hour * HOUR >= unix_time(oldest))
    done = ingest(store, replace(listed, files=kept), request.progress)
    for line in lines(done, len(listed.files) - len(kept), keep["raw"]):
        request.progress.say(line)
    if done.files:
        compact(store, done.batch, request.progress)
    for table in (LANDING, *(raw(table.name) for table in TABLES)):
        store.expire(table, oldest)
    for mart in MINUTES:
        store.expire(of_mart(mart), today - timedelta(days=keep["minutes"]))


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
    for name, days in KEEP.items():
        what = f"days of {name} rows that the store keeps, from now on (at first {days})"
        parser.add_argument(f"--keep-{name}", metavar="DAYS", help=what)


def _read_flags(parsed: Namespace) -> Options:
    given = read_values(vars(parsed), {f"keep_{name}": values.whole_number for name in KEEP})
    return Options({name.removeprefix("keep_"): days for name, days in given.items() if days is not None})


JOB: Final = Job(
    "ingest",
    "landing files to the raw tables of a store, each row once",
    _add_flags,
    _read_flags,
    run,
)
