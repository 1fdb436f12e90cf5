"""Takes the new messages of the topic, in batches of offsets."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ClockError, HistoryFileError
from kafka_warden.history.schema import VERSION
from kafka_warden.pipeline.batch import Batch, Read, take
from kafka_warden.pipeline.landing import AHEAD, Part, Range
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import TAKEN, Store, in_list, unix_time
from kafka_warden.pipeline.timeline import HOUR
from kafka_warden.pipeline.topic import Ends, Span, Topic, expired, lost, opened, spans, table_of, truncated
from kafka_warden.pipeline.topic_brokers import Described, describe

_GROUP: Final = ("partition", "table", "cluster_id", "run", "hour")


def batches(store: Store, topic: Topic, oldest: date, progress: Progress) -> Iterator[Batch]:
    """Take all messages that the topic has now, in one batch or several. `oldest`: the first day that is taken.

    A batch begins after the last offsets in `taken`. One that was interrupted is not there, and is read again.

    Raises:
        ClockError: all rows of a batch are ahead of this machine's clock; nothing of it is taken.
        HistoryTopicError: the topic cannot be read.
        HistoryFileError: a message has a newer version; nothing of its batch is taken.
        StoreInUseError: another process has written the same rows at the same time.
    """
    now = goal = describe(topic)
    marks = _marks(store, now)
    wrong = list(_notes(store, now, marks))
    while now.place == goal.place:
        ends = {at: goal.logs[at].after for at in now.logs if at in goal.logs}
        logs = {at: Ends(min(now.logs[at].first, after), after) for at, after in ends.items()}
        wanted = spans(logs, marks)
        wrong += [_lost(topic, each, "before they were taken") for each in lost(logs, marks)]
        if not wanted:
            break
        done = _take(store, topic, now, wanted, oldest, progress)
        marks |= {each.partition: each.after for each in wanted}
        now = describe(topic)
        yield replace(done, wrong=[*wrong, *done.wrong, *_lost_meanwhile(topic, wanted, now, goal.place)])
        wrong = []
    if wrong or now is goal:
        yield Batch((), "0 messages", wrong)


def waiting(store: Store, topic: Topic) -> int:
    """Return how many offsets the next call would read."""
    now = describe(topic)
    wanted = spans(now.logs, _marks(store, now), sum(after - first for first, after in now.logs.values()))
    return sum(each.after - each.first for each in wanted)


def _take(
    store: Store, topic: Topic, now: Described, wanted: Sequence[Span], oldest: date, progress: Progress
) -> Batch:
    with persisted(opened(topic.read(store.spark, wanted))) as messages:
        offsets = sum(each.after - each.first for each in wanted)
        with progress.step(f"{offsets} messages of {topic.name}"):
            groups = _groups(messages)
        _check(topic, groups)
        fresh = [group for group in groups if group["table"] is not None and group["rows"]]
        first, latest = unix_time(oldest), time.time() + AHEAD
        # Jobs see a clock that steps during a run, so only a run that is ahead as a whole is left out.
        runs = {_run(group) for group in fresh if group["hour"] * HOUR <= latest}
        ahead = [group for group in fresh if _run(group) not in runs]
        in_time = [group for group in fresh if _run(group) in runs]
        if ahead and not in_time:
            raise ClockError(
                f"{topic.place}: all of the next {_total(fresh, 'rows')} rows are more than a day ahead of this"
                " machine's clock, and none is taken. If the clock is wrong, set it; if it is right, delete these"
                " messages"
            )
        kept = [group for group in in_time if group["hour"] * HOUR >= first]
        parts = [_part(now, group) for group in kept]
        ends = _offsets(store, now, wanted)
        missing = take(store, parts, _reader(messages), progress, may_repeat=True, more=ends)
    said = _said(groups, _total(in_time, "rows") - _total(kept, "rows"), oldest)
    return Batch(parts, said, [*missing, *_skipped(ahead)])


def _run(group: Any) -> tuple[str, str]:
    return group["cluster_id"], group["run"]


def _said(groups: Sequence[Any], old: int, oldest: date) -> str:
    parts = [f"{_total(groups, 'messages')} messages"]
    if unreadable := _total((group for group in groups if group["table"] is None), "messages"):
        parts.append(f"{unreadable} messages are not history, and were skipped")
    if old:
        parts.append(f"{old} rows are from before {oldest}, the first day of the store (--keep-raw)")
    return "; ".join(parts)


def _skipped(ahead: Sequence[Any]) -> Iterator[str]:
    """Yield what is wrong with rows that are ahead of the clock."""
    if ahead:
        clusters = ", ".join(sorted({group["cluster_id"] for group in ahead}))
        yield (
            f"NOT TAKEN: {_total(ahead, 'rows')} rows of cluster {clusters}: they are more than a day ahead of this"
            " machine's clock, and are not read again; set the clock of the exporter"
        )


def _total(groups: Iterable[Any], column: str) -> int:
    return sum(group[column] for group in groups)


def _reader(messages: DataFrame) -> Read:
    def read(name: str, parts: Sequence[Part]) -> DataFrame:
        wanted = " OR ".join(
            f"({in_list('cluster_id', [cluster])} AND {in_list('run', [run])})"
            for cluster, run in sorted({(part.range.cluster_id, part.range.run) for part in parts})
        )
        # The same messages may have older rows, which are not taken.
        since = min(part.range.since for part in parts)
        return table_of(messages.where(wanted).where(F.col("time") >= since), name)

    return read


def _groups(messages: DataFrame) -> list[Any]:
    """Return the rows of a batch by partition, table, run and hour. Without a table: messages that are not history."""
    is_history = F.col("table").isNotNull()
    hour = F.floor(F.col("time") / HOUR).alias("hour")
    keys = [F.when(is_history, F.col(name)).alias(name) for name in _GROUP[1:-1]]
    return (
        messages.groupBy("partition", *keys, F.when(is_history, hour).alias("hour"))
        .agg(
            F.min("sequence").alias("first"),
            F.max("sequence").alias("last"),
            F.min("time").alias("since"),
            F.max("time").alias("until"),
            F.sum("rows").alias("rows"),
            F.count("*").alias("messages"),
            F.max("schema_version").alias("version"),
        )
        .orderBy(*_GROUP)
        .collect()
    )


def _check(topic: Topic, groups: Iterable[Any]) -> None:
    newest = max((group["version"] or 0 for group in groups), default=0)
    if newest > VERSION:
        raise HistoryFileError(
            f"{topic.place}: it has tables of version {newest}, and this program reads up to {VERSION};"
            " update kafka-warden"
        )


def _part(now: Described, group: Any) -> Part:
    names = ("cluster_id", "run", "first", "last", "since", "until", "rows")
    rows = Range(**{name: group[name] for name in names})
    return Part(f"{now.place}{group['partition']}", group["messages"], group["table"], rows)


def _offsets(store: Store, now: Described, wanted: Iterable[Span]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `taken` after which the next batch begins."""
    for each in wanted:
        ends = (None, None, each.first, each.after - 1, None, None, None)
        yield (f"{now.place}{each.partition}", None, None, *ends, store.today())


def _last(store: Store, place: str) -> Mapping[str, int]:
    """Return the last offset that was taken of each partition below a place."""
    mine = store.read(TAKEN).where(F.col("table").isNull() & F.col("place").startswith(place))
    rows: list[Any] = mine.groupBy("place").agg(F.max("last")).collect()
    return dict(map(tuple, rows))


def _marks(store: Store, now: Described) -> dict[int, int]:
    return {int(place.rpartition("/")[2]): last + 1 for place, last in _last(store, now.place).items()}


def _notes(store: Store, now: Described, marks: Mapping[int, int]) -> Iterator[str]:
    """Yield what happened to the topic since the last batch."""
    name = f"topic {now.name}"
    earlier = {place.rpartition("/")[0] for place in _last(store, now.prefix)} if not marks else ()
    for place in sorted(earlier):
        yield (
            f"CREATED AGAIN: {name} has the id {now.topic_id}, and before it was {place.rpartition('/')[2]}: messages"
            " that were not taken before it was deleted are lost"
        )
    for each in truncated(now.logs, marks):
        yield (
            f"TRUNCATED: partition {each.partition} of {name} ends at offset {each.first}, and {each.after} was reached"
            " before, as after an unclean election: messages up to there are not taken"
        )


def _lost_meanwhile(topic: Topic, wanted: Sequence[Span], now: Described, place: str) -> Iterator[str]:
    """Yield what the topic deleted of wanted ranges until now. `place`: that of the topic that they were planned of."""
    for each in expired(wanted, now.logs if now.place == place else {}):
        yield _lost(topic, each, "while they were taken")


def _lost(topic: Topic, span: Span, when: str) -> str:
    return (
        f"LOST: offsets {span.first} to {span.after - 1} of partition {span.partition} of {topic.name} were deleted"
        f" {when}; files of the same exporter may have their rows"
    )
