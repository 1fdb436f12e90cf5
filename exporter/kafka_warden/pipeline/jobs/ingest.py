"""The job `ingest`: takes files or messages of history into the raw tables of a store, each row once."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.config import values
from kafka_warden.config.options import read_values
from kafka_warden.errors import ConfigError
from kafka_warden.history.parquet.reader import inventory
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline.claims import Claim, holding
from kafka_warden.pipeline.ingest.batch import NAME, Summary, compact_touched, fenced
from kafka_warden.pipeline.ingest.ingest import ingest
from kafka_warden.pipeline.ingest.topic import SCHEME, Topic, is_topic
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import MINUTES
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import DONE_DAY, KEEP, LANDING, of_mart, raw, unix_time
from kafka_warden.pipeline.timeline import HOUR

LATER: Final = timedelta(days=2)
"""Between the moment when a day leaves `landing`, where jobs find hours, and the deletion of its raw rows. A job that
runs may have found the day before: without raw rows, it would replace its results by nothing.
"""

AFTER_DONE: Final = DONE_DAY + timedelta(days=1)
"""First day of rows: that before has no plan of `landing`."""
MOST_DAYS: Final = 100_000
"""The most that rows are kept: as long before today there still is a date."""
MOST_NAMED: Final = 100
"""Problems that are named one by one."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    keep: Mapping[str, int] = field(default_factory=dict)
    """Days of rows that are kept, by the names of `store.KEEP`; the store has the others."""
    topic: Topic | None = None
    """None: the files of a folder."""


def run(request: Request[Options]) -> None:
    """Take all that is new, compact what that touched, and delete what is too old.

    Raises:
        StoreError: the store cannot be used, or another process ingests.
        EmptyHistoryError: the landing zone has no file of history.
        ClockError: all new messages are ahead of this machine's clock.
        HistoryTopicError: the topic cannot be read.
    """
    store = request.store
    store.create()
    with holding(store, NAME, fenced) as claim:
        _ingest(request, claim)


def _ingest(request: Request[Options], claim: Claim) -> None:
    store = claim.store
    before = store.done()
    kept = store.retention()
    keep = {**kept, **request.options.keep}
    if keep != kept:
        store.set_retention(keep)
    oldest = max(AFTER_DONE, store.taken_since(), store.today() - timedelta(days=keep["raw"]))
    for done in _batches(request, claim, oldest):
        for line in lines(done):
            request.progress.say(line)
    with claim.upkeep():
        if store.done() > before:
            compact_touched(store, before, request.progress)
        delete_old(claim, keep, kept, request.progress)


def delete_old(claim: Claim, keep: Mapping[str, int], kept: Mapping[str, int], progress: Progress) -> None:
    """Delete what is older than the days of `keep`: once a day, and when a number is smaller than before (`kept`)."""
    store, mine = claim.store, [raw(table.name) for table in TABLES]
    # Each table is asked, so a loop does it once a day. A new store has no such days.
    if claim.is_new_day() or any(keep[name] < kept[name] for name in keep):
        before, today = store.taken_since(), store.today()
        since = today - timedelta(days=keep["raw"])
        ((newest,),) = store.read(LANDING).agg(F.max("until")).collect()
        if newest is None or newest >= unix_time(since):
            if newest is not None:
                store.set_taken_since(max(before, since))
            store.expire(LANDING, since)
            if claim.is_new_day():
                for table in mine:
                    store.expire(table, min(before, since - LATER))
            for mart in MINUTES:
                store.expire(of_mart(mart), today - timedelta(days=keep["minutes"]))
        else:
            progress.say(f"all rows are from before {since}, so none is deleted; is this machine's clock right?")
    claim.vacuum([LANDING, *mine])


def _batches(request: Request[Options], claim: Claim, oldest: date) -> Iterator[Summary]:
    topic = request.options.topic
    if topic is not None:
        from kafka_warden.pipeline.ingest import of_topic  # noqa: PLC0415  # brings librdkafka

        yield from of_topic.ingest(claim, topic, oldest, request.progress)
        return
    landing, first = inventory(request.input), unix_time(oldest)
    yield ingest(claim, landing, request.progress, first)
    if old := sum(1 for file in landing.files if file.hour * HOUR < first):
        request.progress.say(f"{old} files are from before {oldest}, the first day of the store (--keep-raw)")


def lines(done: Summary) -> Iterator[str]:
    """Yield a report: what was taken, then what is wrong."""
    yield f"batch {done.batch}: {done.rows} rows of {done.taken}"
    wrong = list(done.wrong)
    for gap in done.gaps:
        polls = f"polls {gap.first} to {gap.last} of run {gap.run}, cluster {gap.cluster_id}"
        wrong.append(f"MISSING: {polls}: they expired before they were taken, or come later")
    wrong += done.problems
    yield from wrong[:MOST_NAMED]
    if len(wrong) > MOST_NAMED:
        yield f"and {len(wrong) - MOST_NAMED} more"


def _add_flags(parser: ArgumentParser) -> None:
    for name, days in KEEP.items():
        what = f"days of {name} rows that the store keeps, from now on (at first {days})"
        parser.add_argument(f"--keep-{name}", metavar="DAYS", help=what)
    what = "of a topic: client properties, as for Java clients"
    parser.add_argument("--kafka-properties", type=Path, metavar="FILE", help=what)


def _read_flags(parsed: Namespace) -> Options:
    flags = {f"keep_{name}": getattr(parsed, f"keep_{name}") for name in KEEP}
    given = read_values(flags, dict.fromkeys(flags, values.days_up_to(MOST_DAYS)))
    keep = {name.removeprefix("keep_"): days for name, days in given.items() if days is not None}
    if is_topic(parsed.input):
        return Options(keep, Topic.at(parsed.input, parsed.kafka_properties))
    if parsed.kafka_properties is not None:
        raise ConfigError(f"--kafka-properties: only valid with --input {SCHEME}HOST:PORT,.../TOPIC")
    return Options(keep)


JOB: Final = Job(
    NAME,
    "files or messages of history to the raw tables of a store, each row once",
    _add_flags,
    _read_flags,
    run,
)
