"""Takes the new messages of the topic, in batches of offsets."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ClockError, HistoryFileError
from kafka_warden.history.parquet.reader import Found
from kafka_warden.history.schema import VERSION
from kafka_warden.pipeline.claims import Claim
from kafka_warden.pipeline.ingest import messages
from kafka_warden.pipeline.ingest.batch import (
    AHEAD,
    Read,
    Summary,
    complete,
    known,
    last_batch,
    plan,
    withdrawn,
    write,
)
from kafka_warden.pipeline.ingest.brokers import Described, describe
from kafka_warden.pipeline.ingest.offsets import Ends, Span, expired, lost, remaining, spans, truncated
from kafka_warden.pipeline.ingest.plan import How, gaps, planned, whole_runs
from kafka_warden.pipeline.ingest.ranges import Range
from kafka_warden.pipeline.ingest.topic import Topic
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import LANDING, Store, in_list, unix_time
from kafka_warden.pipeline.timeline import HOUR

_GROUP: Final = ("partition", "table", "cluster_id", "run", "hour")


def ingest(claim: Claim, topic: Topic, oldest: date, progress: Progress) -> Iterator[Summary]:
    """Take all messages that the topic has now, in one batch or several. `oldest`: the first day that is taken.

    Raises:
        ClockError: all rows of a batch are ahead of this machine's clock; nothing of it is taken.
        HistoryTopicError: the topic cannot be read.
        HistoryFileError: a message has a newer version; nothing of its batch is taken.
        StoreInUseError: another process has taken over.
    """
    store = claim.store
    now = goal = describe(topic)
    last, interrupted = last_batch(store)
    wrong = list(_complete(claim, last, interrupted, topic, now, progress)) if interrupted else []
    marks = _marks(store, now)
    wrong += _notes(store, now, marks)
    while now.place == goal.place:
        ends = {at: goal.logs[at].after for at in now.logs if at in goal.logs}
        logs = {at: Ends(min(now.logs[at].first, after), after) for at, after in ends.items()}
        wanted = spans(logs, marks)
        wrong += [_lost(topic, each, "before they were taken") for each in lost(logs, marks)]
        if not wanted:
            break
        last += 1
        done = _take(claim, topic, now, wanted, last, oldest, progress)
        marks |= {each.partition: each.after for each in wanted}
        now = describe(topic)
        yield replace(done, wrong=[*wrong, *done.wrong, *_lost_meanwhile(topic, wanted, now, goal.place)])
        wrong = []
    if wrong or now is goal:
        yield Summary(last, 0, "0 messages", wrong)


def _take(
    claim: Claim, topic: Topic, now: Described, wanted: Sequence[Span], batch: int, oldest: date, progress: Progress
) -> Summary:
    store = claim.store
    with persisted(messages.opened(topic.read(store.spark, wanted))) as opened:
        offsets = sum(each.after - each.first for each in wanted)
        with progress.step(f"{offsets} messages of {topic.name}"):
            groups = _groups(opened)
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
        found = [(_found(now, group), [_range(group)]) for group in kept]
        before = known(store, ((file.table, part) for file, (part,) in found))
        decided = whole_runs(planned(found, before), _twice(kept))
        rows = plan(claim, batch, decided, _offsets(store, batch, now, wanted))
        write(claim, batch, rows, _reader(opened), progress)
    said = _said(groups, _total(in_time, "rows") - _total(kept, "rows"), oldest)
    return Summary(batch, _total(kept, "rows"), said, list(_skipped(ahead)), gaps(decided, before))


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
            " machine's clock, and are not read again; set the clock of the sidecar"
        )


def _total(groups: Iterable[Any], column: str) -> int:
    return sum(group[column] for group in groups)


def _complete(
    claim: Claim, batch: int, rows: Sequence[Any], topic: Topic, now: Described, progress: Progress
) -> Iterator[str]:
    """Complete a batch that was interrupted; yield what is lost of it."""
    mine = [row for row in rows if row["how"] == How.OFFSETS and row["place"].startswith(now.prefix)]
    place = mine[0]["place"].rpartition("/")[0] if mine else ""
    taken = [Span(int(row["place"].rpartition("/")[2]), row["first"], row["last"] + 1) for row in mine]
    yield from _lost_meanwhile(topic, taken, now, f"{place}/")
    # Of a topic that was created again nothing is left.
    logs = now.logs if now.place == f"{place}/" else {}
    with persisted(messages.opened(topic.read(claim.store.spark, remaining(taken, logs)))) as opened:
        away = complete(claim, batch, rows, lambda _: bool(mine), _reader(opened), progress)
    yield from withdrawn(batch, away)


def _reader(opened: DataFrame) -> Read:
    def read(name: str, rows: Sequence[Any]) -> DataFrame:
        wanted = " OR ".join(
            f"({in_list('cluster_id', [cluster])} AND {in_list('run', [run])})"
            for cluster, run in sorted({(row["cluster_id"], row["run"]) for row in rows})
        )
        # Older rows of the same messages were not planned.
        since = min(row["since"] for row in rows)
        return messages.table_of(opened.where(wanted).where(F.col("time") >= since), name)

    return read


def _groups(opened: DataFrame) -> list[Any]:
    """Return the rows of a batch by partition, table, run and hour. Without a table: messages that are not history."""
    is_history = F.col("table").isNotNull()
    hour = F.floor(F.col("time") / HOUR).alias("hour")
    keys = [F.when(is_history, F.col(name)).alias(name) for name in _GROUP[1:-1]]
    return (
        opened.groupBy("partition", *keys, F.when(is_history, hour).alias("hour"))
        .agg(
            F.min("sequence").alias("first"),
            F.max("sequence").alias("last"),
            F.min("time").alias("since"),
            F.max("time").alias("until"),
            F.sum("rows").alias("rows"),
            F.count("*").alias("messages"),
            F.count_distinct(F.xxhash64("value")).alias("distinct"),
            F.max("schema_version").alias("version"),
        )
        .orderBy(*_GROUP)
        .collect()
    )


def _twice(groups: Iterable[Any]) -> set[tuple[str, str, str]]:
    """Return the runs, with table and cluster, of which the batch has a message twice."""
    repeated = (group for group in groups if group["messages"] > group["distinct"])
    return {(group["table"], group["cluster_id"], group["run"]) for group in repeated}


def _check(topic: Topic, groups: Iterable[Any]) -> None:
    newest = max((group["version"] or 0 for group in groups), default=0)
    if newest > VERSION:
        raise HistoryFileError(
            f"{topic.place}: it has tables of version {newest}, and this program reads up to {VERSION};"
            " update kafka-warden"
        )


def _found(now: Described, group: Any) -> Found:
    return Found(f"{now.place}{group['partition']}", "", group["table"], group["hour"], group["messages"])


def _range(group: Any) -> Range:
    names = ("cluster_id", "run", "first", "last", "since", "until", "rows")
    return Range(**{name: group[name] for name in names}, whole=False)


def _offsets(store: Store, batch: int, now: Described, wanted: Iterable[Span]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `landing` from which the next batch continues."""
    today = store.today()
    for each in wanted:
        span = (None, None, each.first, each.after - 1, None, None, None)
        yield (batch, str(How.OFFSETS), None, *span, f"{now.place}{each.partition}", None, store.writer, today)


def _last(store: Store, place: str) -> Mapping[str, int]:
    """Return the last offset that was taken of each partition below a place."""
    mine = store.read(LANDING).where((F.col("how") == How.OFFSETS) & F.col("place").startswith(place))
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
        f" {when}; files of the same sidecar may have their rows"
    )
