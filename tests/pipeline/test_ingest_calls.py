"""What a call of `ingest` on a topic takes and reports, by answers of brokers and rows of a store that a test gives."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_warden.pipeline.ingest import of_topic, offsets
from kafka_warden.pipeline.ingest.batch import Summary
from kafka_warden.pipeline.ingest.brokers import Described
from kafka_warden.pipeline.ingest.offsets import Ends, Span
from kafka_warden.pipeline.ingest.plan import How
from kafka_warden.pipeline.ingest.topic import Topic

TOPIC = Topic("host:9092", "history")


class Quiet:
    """A progress that reports nothing."""

    @contextmanager
    def step(self, _: str) -> Iterator[None]:
        yield


@dataclass
class Scene:
    """The brokers' answers in turn, of which the last one is given again; and the store."""

    answers: list[Described]
    interrupted: list[dict[str, Any]] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    """Place of a partition to the last offset that was taken of it."""
    batches: list[list[Span]] = field(default_factory=list)
    read: list[Span] = field(default_factory=list)
    completed: list[tuple[int, list[str]]] = field(default_factory=list)
    """Batches, and the places of them that are here."""

    def describe(self, _: Topic) -> Described:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def take(self, _claim: Any, _topic: Topic, now: Described, wanted: list[Span], batch: int, *_: Any) -> Summary:
        self.batches.append(wanted)
        self.taken |= {f"{now.place}{each.partition}": each.after - 1 for each in wanted}
        return Summary(batch, 0, "messages")

    def last(self, _: Any, place: str) -> Mapping[str, int]:
        return {at: last for at, last in self.taken.items() if at.startswith(place)}

    def complete(self, _: Any, batch: int, rows: list[Any], is_here: Callable[[Any], bool], *_more: Any) -> list[str]:
        self.completed.append((batch, [row["place"] for row in rows if is_here(row)]))
        return [row["place"] for row in rows if not is_here(row)]

    def call(self) -> list[str]:
        return [line for done in of_topic.ingest(self.claim, TOPIC, date.min, self.progress) for line in done.wrong]

    claim: Any = None
    progress: Any = field(default_factory=Quiet)


def described(topic_id: str = "one", **logs: tuple[int, int]) -> Described:
    """An answer; `p0=(first, after)`."""
    return Described("cluster", "history", topic_id, {int(name[1:]): Ends(*ends) for name, ends in logs.items()})


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A topic of two partitions, of which nothing was taken."""
    made = Scene([described(p0=(5, 9), p1=(0, 0))])

    @contextmanager
    def persisted(frame: Any) -> Iterator[Any]:
        yield frame

    def read(_topic: Topic, _spark: Any, wanted: list[Span]) -> list[Span]:
        made.read = wanted
        return wanted

    monkeypatch.setattr(of_topic, "describe", made.describe)
    monkeypatch.setattr(of_topic, "last_batch", lambda _: (7, made.interrupted))
    monkeypatch.setattr(of_topic, "_last", made.last)
    monkeypatch.setattr(of_topic, "_take", made.take)
    monkeypatch.setattr(of_topic, "complete", made.complete)
    monkeypatch.setattr(of_topic, "persisted", persisted)
    monkeypatch.setattr("kafka_warden.pipeline.ingest.messages.opened", lambda frame: frame)
    monkeypatch.setattr(Topic, "read", read)
    made.claim = SimpleNamespace(store=SimpleNamespace(spark=None, place="store"))
    return made


def test_calls_continue_where_the_last_one_ended(scene: Scene) -> None:
    assert scene.call() == []
    assert scene.call() == []
    assert scene.batches == [[Span(0, 5, 9), Span(1, 0, 0)]]
    scene.answers = [described(p0=(12, 12), p1=(0, 1), p2=(3, 4))]
    assert [line.partition(" were")[0] for line in scene.call()] == [
        "LOST: offsets 9 to 11 of partition 0 of history",
        "LOST: offsets 0 to 2 of partition 2 of history",
    ]
    assert scene.batches[1:] == [[Span(0, 12, 12), Span(1, 0, 1), Span(2, 3, 4)]]
    assert scene.call() == []
    assert len(scene.batches) == 2


def test_call_ends_at_the_offsets_of_its_start(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_topic, "spans", lambda logs, marks: offsets.spans(logs, marks, 10))
    scene.answers = [described(p0=(0, 25)), described(p0=(0, 90)), described(p0=(15, 95)), described(p0=(15, 99))]
    assert [line.partition(";")[0] for line in scene.call()] == [
        "LOST: offsets 10 to 14 of partition 0 of history were deleted while they were taken",
    ]
    assert scene.batches == [[Span(0, 0, 10)], [Span(0, 10, 20)], [Span(0, 20, 25)]]


def test_what_expires_between_two_batches_is_reported(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_topic, "spans", lambda logs, marks: offsets.spans(logs, marks, 10))
    scene.answers = [described(p0=(0, 25)), described(p0=(13, 25))]
    said = [line.partition(";")[0] for line in scene.call()]
    assert said == [
        "LOST: offsets 0 to 9 of partition 0 of history were deleted while they were taken",
        "LOST: offsets 10 to 12 of partition 0 of history were deleted before they were taken",
    ]
    assert scene.batches == [[Span(0, 0, 10)], [Span(0, 13, 23)], [Span(0, 23, 25)]]


def test_topic_that_was_created_again(scene: Scene) -> None:
    scene.call()
    scene.answers = [described("two", p0=(0, 3))]
    (line,) = scene.call()
    assert line.startswith("CREATED AGAIN: topic history has the id two, and before it was one: messages that were not")
    assert scene.batches[1:] == [[Span(0, 0, 3)]]
    assert scene.call() == []
    scene.answers = [Described("other", "history", "three", {0: Ends(0, 2)})]
    assert scene.call() == []


def test_topic_that_is_created_again_during_a_call(scene: Scene) -> None:
    """What was wanted of it may be lost, and the call ends; the next one begins with the new topic."""
    scene.answers = [described(p0=(0, 5)), described("two", p0=(0, 3))]
    (line,) = scene.call()
    assert line.startswith("LOST: offsets 0 to 4 of partition 0 of history were deleted while they were taken")
    assert scene.batches == [[Span(0, 0, 5)]]
    (line,) = scene.call()
    assert line.startswith("CREATED AGAIN")


def test_partition_that_was_truncated(scene: Scene) -> None:
    scene.call()
    scene.answers = [described(p0=(5, 7), p1=(0, 0))]
    (line,) = scene.call()
    assert line.startswith("TRUNCATED: partition 0 of topic history ends at offset 7, and 9 was reached before")
    scene.answers = [described(p0=(5, 10), p1=(0, 0))]
    assert scene.call() == []
    assert scene.batches[1:] == [[Span(0, 9, 10), Span(1, 0, 0)]]


def planned(place: str) -> list[dict[str, Any]]:
    """The rows of `landing` of an interrupted batch: offsets 5 to 8."""
    return [{"how": How.OFFSETS, "place": f"{place}/0", "first": 5, "last": 8}]


@pytest.mark.parametrize(
    ("now", "read", "said"),
    [
        (described(p0=(5, 20)), [Span(0, 5, 9)], []),
        (described(p0=(7, 20)), [Span(0, 7, 9)], ["LOST: offsets 5 to 6"]),
        (described(p0=(15, 20)), [Span(0, 9, 9)], ["LOST: offsets 5 to 8", "LOST: offsets 9 to 14"]),
        (described("two", p0=(0, 20)), [], ["LOST: offsets 5 to 8", "CREATED AGAIN: topic"]),
    ],
)
def test_interrupted_batch_is_completed_first(scene: Scene, now: Described, read: list[Span], said: list[str]) -> None:
    scene.interrupted = planned("kafka:cluster/history/one")
    scene.taken = {"kafka:cluster/history/one/0": 8}
    scene.answers = [now]
    assert [line[: len(start)] for line, start in zip(scene.call(), said, strict=True)] == said
    assert (scene.read, scene.completed) == (read, [(7, ["kafka:cluster/history/one/0"])])
    assert scene.batches == [[Span(0, 0 if now.topic_id == "two" else max(9, now.logs[0].first), 20)]]


def test_interrupted_batch_of_another_topic_is_left_to_it(scene: Scene) -> None:
    scene.interrupted = planned("kafka:other/history/one")
    (line,) = scene.call()
    assert line.startswith("NOT TAKEN: kafka:other/history/one/0: batch 7 was interrupted, and this is not in")
    assert (scene.read, scene.completed) == ([], [(7, [])])
    assert scene.batches == [[Span(0, 5, 9), Span(1, 0, 0)]]
