"""What a call of `ingest` on a topic takes and reports, by answers of brokers and rows of a store that a test gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from kafka_warden.pipeline import topic, topic_batches
from kafka_warden.pipeline.batch import Batch
from kafka_warden.pipeline.topic import Ends, Span, Topic
from kafka_warden.pipeline.topic_brokers import Described

TOPIC = Topic("host:9092", "history")


@dataclass
class Scene:
    """The brokers' answers in turn, of which the last one is given again; and what was taken."""

    answers: list[Described]
    taken: dict[str, int] = field(default_factory=dict)
    """Place of a partition to the last offset that was taken of it."""
    batches: list[list[Span]] = field(default_factory=list)

    def describe(self, _: Topic) -> Described:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def take(self, _store: Any, _topic: Topic, now: Described, wanted: list[Span], *_: Any) -> Batch:
        self.batches.append(wanted)
        self.taken |= {f"{now.place}{each.partition}": each.after - 1 for each in wanted}
        return Batch((), "messages")

    def last(self, _: Any, place: str) -> Mapping[str, int]:
        return {at: last for at, last in self.taken.items() if at.startswith(place)}

    def call(self) -> list[str]:
        nothing: Any = None
        return [line for done in topic_batches.batches(nothing, TOPIC, date.min, nothing) for line in done.wrong]


def described(topic_id: str = "one", **logs: tuple[int, int]) -> Described:
    """An answer; `p0=(first, after)`."""
    return Described("cluster", "history", topic_id, {int(name[1:]): Ends(*ends) for name, ends in logs.items()})


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A topic of two partitions, of which nothing was taken."""
    made = Scene([described(p0=(5, 9), p1=(0, 0))])
    monkeypatch.setattr(topic_batches, "describe", made.describe)
    monkeypatch.setattr(topic_batches, "_last", made.last)
    monkeypatch.setattr(topic_batches, "_take", made.take)
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
    monkeypatch.setattr(topic_batches, "spans", lambda logs, marks: topic.spans(logs, marks, 10))
    scene.answers = [described(p0=(0, 25)), described(p0=(0, 90)), described(p0=(15, 95)), described(p0=(15, 99))]
    assert [line.partition(";")[0] for line in scene.call()] == [
        "LOST: offsets 10 to 14 of partition 0 of history were deleted while they were taken",
    ]
    assert scene.batches == [[Span(0, 0, 10)], [Span(0, 10, 20)], [Span(0, 20, 25)]]


def test_what_expires_between_two_batches_is_reported(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_batches, "spans", lambda logs, marks: topic.spans(logs, marks, 10))
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
