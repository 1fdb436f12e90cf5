"""The job `ingest`: takes files or messages of history into the raw tables of a store, each row once."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.errors import ConfigError
from kafka_warden.history.parquet.reader import inventory
from kafka_warden.history.schema import BY_NAME, ddl
from kafka_warden.pipeline import runs
from kafka_warden.pipeline.batch import Batch, take
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.landing import Part, batches, literal, new_parts
from kafka_warden.pipeline.maintain import RAW, add_keep, compact, delete_old, keep_days, read_keep, vacuum
from kafka_warden.pipeline.progress import SPARK_FAILURES
from kafka_warden.pipeline.store import RUNS, TAKEN, Store, day_of, raw, unix_time
from kafka_warden.pipeline.timeline import DAY, HOUR
from kafka_warden.pipeline.topic import SCHEME, Topic, is_topic

NAME: Final = "ingest"
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
    """Take all that is new, compact what that touched, and once a day delete what is too old.

    Raises:
        StoreError: the store cannot be used, or another process has written to it at the same time.
        EmptyHistoryError: the landing zone has no file of history.
        ClockError: all new messages are ahead of this machine's clock.
        HistoryTopicError: the topic cannot be read.
    """
    store, progress, done = request.store, request.progress, runs.Run(NAME)
    request.runs.append(done)
    store.create()
    _, is_due = runs.last(store, NAME)
    keep, is_less = keep_days(store, request.options.keep)
    took: list[Part] = []
    for batch in _batches(request, first_day(store, keep)):
        for line in lines(batch):
            progress.say(line)
        took += batch.parts
        done.problems += len(batch.wrong)
    _count(done, took)
    with runs.ending(store, done, is_due=is_due):
        if took:
            _compact(request, took)
        if is_due or is_less:
            # Each table is asked, so a loop does it once a day.
            delete_old(store, keep, progress, raw_rows=is_due)
        if is_due:
            vacuum(store, [TAKEN, RUNS, *RAW], progress)


def preview(request: Request[Options]) -> str:
    """Return what a run would take."""
    store, topic = request.store, request.options.topic
    if topic is not None:
        from kafka_warden.pipeline import topic_batches  # noqa: PLC0415  # brings librdkafka

        return f"{NAME}: {topic_batches.waiting(store, topic)} offsets of {topic.name} would be read"
    keep = {**store.retention(), **request.options.keep}
    parts, problems = _new_files(request, first_day(store, keep))
    rows, files = sum(part.range.rows for part in parts), len({part.place for part in parts})
    return "\n".join([f"{NAME}: {rows} rows of {files} files would be taken", *problems[:MOST_NAMED]])


def first_day(store: Store, keep: Mapping[str, int]) -> date:
    """Return the first UTC day whose rows are taken."""
    return max(store.taken_since(), store.today() - timedelta(days=keep["raw"]))


def _batches(request: Request[Options], oldest: date) -> Iterator[Batch]:
    topic = request.options.topic
    if topic is not None:
        from kafka_warden.pipeline import topic_batches  # noqa: PLC0415  # brings librdkafka

        yield from topic_batches.batches(request.store, topic, oldest, request.progress)
        return
    parts, problems = _new_files(request, oldest)
    put = partial(take, request.store, read=partial(_read, request.spark), progress=request.progress)
    left = batches(parts)
    while left:
        try:
            missing = put(left[0]) if left[0] else []
        except SPARK_FAILURES:
            # One damaged file would stop the files of all clusters.
            found = {part.place for batch in left for part in batch}
            parts, problems = _new_files(request, oldest, to_end=True)
            if found <= {part.place for part in parts}:
                raise
            left = batches(parts)
            continue
        done = left.pop(0)
        yield Batch(done, f"{len({part.place for part in done})} new files", [*missing, *([] if left else problems)])


def _new_files(request: Request[Options], oldest: date, *, to_end: bool = False) -> tuple[list[Part], list[str]]:
    """Return the rows of new files, and what is wrong with others. `to_end`: as of `new_parts`."""
    landing, first = inventory(request.input), unix_time(oldest)
    files = request.store.read(TAKEN).where("`table` IS NOT NULL").select("place", "size").distinct()
    known: list[Any] = files.collect()
    what = "all rows" if to_end else "footers"
    with request.progress.step(f"{len(landing.files)} files, {len(known)} of them known: {what} of the others"):
        parts, problems = new_parts(landing, {(place, size) for place, size in known}, first, to_end=to_end)
    if old := sum(1 for file in landing.files if file.hour * HOUR < first):
        request.progress.say(f"{old} files are from before {oldest}, the first day of the store (--keep-raw)")
    return parts, problems


def _read(spark: SparkSession, name: str, parts: Sequence[Part]) -> DataFrame:
    places = sorted({part.place for part in parts})
    return spark.read.schema(ddl(BY_NAME[name])).parquet(*map(literal, places))


def _count(done: runs.Run, parts: Sequence[Part]) -> None:
    """Add up what a run took."""
    ranges = [part.range for part in parts]
    done.rows = sum(each.rows for each in ranges)
    done.files = len({part.place for part in parts})
    spans = [(each.cluster_id, int(each.since // HOUR), int(each.until // HOUR)) for each in ranges]
    done.hours = len({(cluster, hour) for cluster, first, last in spans for hour in range(first, last + 1)})


def _compact(request: Request[Options], parts: Sequence[Part]) -> None:
    """Compact what a run has added files to. The day before may have ended since its last batch."""
    days: dict[str, tuple[date, date]] = {}
    for part in parts:
        first, last = day_of(part.range.since - DAY), day_of(part.range.until)
        known = days.get(part.table, (first, last))
        days[part.table] = (min(first, known[0]), max(last, known[1]))
    found = [(raw(name), f"date BETWEEN '{first}' AND '{last}'") for name, (first, last) in days.items()]
    for table, where in [*found, (TAKEN, "true"), (RUNS, "true")]:
        compact(request.store, table, where, request.progress)


def lines(done: Batch) -> Iterator[str]:
    """Yield a report: what was taken, then what is wrong."""
    yield f"ingest: {sum(part.range.rows for part in done.parts)} rows of {done.said}"
    yield from done.wrong[:MOST_NAMED]
    if len(done.wrong) > MOST_NAMED:
        yield f"and {len(done.wrong) - MOST_NAMED} more"


def _add_flags(parser: ArgumentParser) -> None:
    add_keep(parser)
    what = "of a topic: client properties, as for Java clients"
    parser.add_argument("--kafka-properties", type=Path, metavar="FILE", help=what)


def _read_flags(parsed: Namespace) -> Options:
    keep = read_keep(parsed)
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
    preview,
)
