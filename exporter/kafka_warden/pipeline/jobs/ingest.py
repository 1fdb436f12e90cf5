"""The job `ingest`: takes files or messages of history into the raw tables of a store, each row once."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from kafka_warden.config import values
from kafka_warden.config.flags import read_values
from kafka_warden.errors import ConfigError
from kafka_warden.history.parquet.footers import inventory
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline.ingest.batch import Summary, compact
from kafka_warden.pipeline.ingest.ingest import ingest
from kafka_warden.pipeline.ingest.topic import SCHEME, Topic, is_topic
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import backtest, forecast, moves, plan, rollup
from kafka_warden.pipeline.marts.rollup import MINUTES
from kafka_warden.pipeline.rollup.windows import HOUR
from kafka_warden.pipeline.store import LANDING, Store, of_mart, raw, unix_time

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
    topic: Topic | None = None
    """None: the files of a folder."""


def run(request: Request[Options]) -> None:
    """Take all that is new, compact what that touched, and delete what is too old.

    Raises:
        StoreError: the store cannot be used.
        EmptyHistoryError: the landing zone has no file of history.
        HistoryTopicError: the topic cannot be read.
    """
    store, options = request.store, request.options
    assert store is not None  # noqa: S101  # `places`
    store.create([mart for job in (rollup, moves, backtest, forecast, plan) for mart in job.MARTS])
    before = store.done()
    today = datetime.now(UTC).date()
    oldest = today - timedelta(days=options.keep_raw)
    for done in _batches(request, store, oldest):
        for line in lines(done):
            request.progress.say(line)
    if store.done() > before:
        compact(store, before, today, request.progress)
    for table in (LANDING, *(raw(table.name) for table in TABLES)):
        store.expire(table, oldest)
    for mart in MINUTES:
        store.expire(of_mart(mart), today - timedelta(days=options.keep_minutes))


def _batches(request: Request[Options], store: Store, oldest: date) -> Iterator[Summary]:
    topic = request.options.topic
    if topic is not None:
        from kafka_warden.pipeline.ingest import of_topic  # noqa: PLC0415  # brings librdkafka

        yield from of_topic.ingest(store, topic, oldest, request.progress)
        return
    listed = inventory(request.input)
    kept = tuple(file for file in listed.files if file.hour * HOUR >= unix_time(oldest))
    yield ingest(store, replace(listed, files=kept), request.progress)
    if len(kept) < len(listed.files):
        old = f"{len(listed.files) - len(kept)} files are older than {request.options.keep_raw} days"
        request.progress.say(f"{old}, and were not taken (--keep-raw)")


def lines(done: Summary) -> Iterator[str]:
    """Yield a report: what was taken, then what is wrong."""
    yield f"batch {done.batch}: {done.rows} rows of {done.taken}"
    wrong = list(done.wrong)
    for gap in done.gaps:
        polls = f"polls {gap.first} to {gap.last} of run {gap.run}, cluster {gap.cluster_id}"
        wrong.append(f"MISSING: {polls}: they expired before they were taken, or come later")
    yield from wrong[:MOST_NAMED]
    if len(wrong) > MOST_NAMED:
        yield f"and {len(wrong) - MOST_NAMED} more"


def _add_flags(parser: ArgumentParser) -> None:
    add, default = parser.add_argument, Options()
    add("--keep-raw", metavar="DAYS", help=f"raw rows that are kept (default: {default.keep_raw})")
    add("--keep-minutes", metavar="DAYS", help=f"minutes that are kept (default: {default.keep_minutes})")
    add("--kafka-properties", type=Path, metavar="FILE", help="of a topic: client properties, as for Java clients")


def _read_flags(parsed: Namespace) -> Options:
    names = ("keep_raw", "keep_minutes")
    given = read_values({name: getattr(parsed, name) for name in names}, dict.fromkeys(names, values.whole_number))
    days = {name: days for name, days in given.items() if days is not None}
    if is_topic(parsed.input):
        return Options(**days, topic=Topic.at(parsed.input, parsed.kafka_properties))
    if parsed.kafka_properties is not None:
        raise ConfigError(f"--kafka-properties: only valid with --input {SCHEME}HOST:PORT,.../TOPIC")
    return Options(**days)


JOB: Final = Job(
    "ingest",
    "files or messages of history to the raw tables of a store, each row once",
    _add_flags,
    _read_flags,
    run,
    (frozenset({"input", "store"}),),
)
