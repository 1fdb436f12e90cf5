"""Values by topic, derived poll after poll: known, 0 or absent, and never the sum of a part."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_warden.derive.saved import from_document, to_document
from kafka_warden.model import UNKNOWN, Snapshot, TopicConfig
from tests.building import Partition, Topics, judge, snapshot
from tests.derive.following import page, remembering

TWO = TopicConfig(min_insync_replicas=2)


def of_topics(*polls: Snapshot, name: str) -> dict[str, float]:
    return {topic: value for (topic,), value in page(judge(*polls), f"topic_{name}").items()}


def poll(clock: float = 0.0, /, *, topics: Topics | None = None, **fields: Any) -> Snapshot:
    return snapshot(topics or {"t": [Partition()]}, clock=clock, **fields)


@pytest.mark.parametrize(
    ("why", "name", "partitions", "expected"),
    [
        ("all have leaders", "offline_partitions", [Partition(), Partition()], 0),
        ("two have none", "offline_partitions", [Partition(leader=UNKNOWN), Partition(), Partition(leader=UNKNOWN)], 2),
        ("two of three in sync are enough", "under_min_isr_partitions", [Partition(out=(3,))], 0),
        ("one of three", "under_min_isr_partitions", [Partition(out=(2, 3)), Partition()], 1),
        ("one replica cannot have two in sync", "under_min_isr_partitions", [Partition(replicas=(1,))], 0),
        ("a replica that is being added", "under_min_isr_partitions", [Partition(adding=(3,), out=(2,))], 1),
        ("1 -> 3 under way: adding replicas count", "under_min_isr_partitions", [Partition(adding=(2, 3))], 1),
        ("3 -> 1 under way, two in sync", "under_min_isr_partitions", [Partition(removing=(2, 3), out=(3,))], 0),
        (
            "without a leader it is offline and nothing else",
            "under_min_isr_partitions",
            [Partition(leader=UNKNOWN, out=(2, 3))],
            0,
        ),
        ("led by the first", "non_preferred_leader_partitions", [Partition(), Partition(replicas=(3, 1))], 0),
        (
            "led by the second and the third",
            "non_preferred_leader_partitions",
            [Partition(leader=2), Partition(), Partition(leader=3)],
            2,
        ),
        ("the only replica leads", "non_preferred_leader_partitions", [Partition(replicas=(2,))], 0),
        ("no leader at all", "non_preferred_leader_partitions", [Partition(leader=UNKNOWN)], 0),
        ("a leader that is no replica", "non_preferred_leader_partitions", [Partition(leader=9)], 0),
        ("three replicas of 100 bytes an offset", "bytes", [Partition(end=10), Partition(end=5, lag={2: 1})], 4400),
        ("nothing was written", "bytes", [Partition()], 0),
        ("the size of a replica is unknown", "bytes", [Partition(end=10), Partition(sizes={3: UNKNOWN})], None),
    ],
)
def test_of_one_poll(why: str, name: str, partitions: list[Partition], expected: float | None) -> None:
    around = [Partition(end=7), Partition(replicas=(2, 1), leader=1, end=7)]
    topics = {"a": around, "t": partitions, "z": around}
    found = of_topics(poll(topics=topics, topic_configs=dict.fromkeys(topics, TWO)), name=name)
    assert found.get("t") == expected, why
    others = {"offline_partitions": 0, "under_min_isr_partitions": 0, "non_preferred_leader_partitions": 1}
    assert {found["a"], found["z"]} == {others.get(name, 7 * 100 * 5)}


@pytest.mark.parametrize("topics", [{}, {"t": [Partition(replicas=(), leader=UNKNOWN)]}])
def test_without_replicas(topics: Topics) -> None:
    """An empty cluster, and a partition that names no replica, are no reason to fail; no logs have no size."""
    seen = snapshot(topics)
    assert of_topics(seen, name="offline_partitions") == dict.fromkeys(topics, 1)
    assert of_topics(seen, name="bytes") == {}


def test_one_unknown_configuration_hides_one_topic() -> None:
    bad = [Partition(out=(2, 3)), Partition(out=(2, 3))]
    seen = poll(topics={"a": bad, "b": bad, "c": [Partition()]}, topic_configs={"a": TWO, "c": TWO})
    assert of_topics(seen, name="under_min_isr_partitions") == {"a": 2, "c": 0}
    assert page(judge(seen), "under_min_isr_partitions") == {(): 2}
    assert page(judge(seen), "unknown_min_isr_partitions") == {(): 2}
    assert page(judge(seen), "at_min_isr_partitions") == {}


def test_uncounted_topics_are_in_another_number() -> None:
    """Each count that a critical alert reads leaves them out; numbers by topic and under-replication have them."""
    offline, under, at = Partition(leader=UNKNOWN), Partition(out=(2, 3)), Partition(out=(3,))
    topics = {"old": [offline, under, under, at, at, at], "t": [offline, under, at]}
    derived = judge(poll(topics=topics, topic_configs=dict.fromkeys(topics, TWO)))
    names = ("offline", "under_min_isr", "at_min_isr", "under_replicated")
    for uncounted, counts in (("old", [1, 1, 1, 7]), ("", [2, 3, 4, 7])):
        assert [page(derived, f"{name}_partitions", uncounted=uncounted)[()] for name in names] == counts
    left_out = {("offline",): 1, ("under_min_isr",): 2, ("at_min_isr",): 3}
    assert page(derived, "uncounted_partitions", uncounted="old") == left_out
    assert page(derived, "uncounted_partitions") == {}
    assert page(derived, "topic_under_min_isr_partitions", uncounted="old") == {("old",): 2, ("t",): 1}


@pytest.mark.parametrize("configs", [{}, {"t": TWO}])
def test_lower_bound_is_always_known(configs: dict[str, TopicConfig]) -> None:
    derived = judge(poll(topics={"t": [Partition(out=(2, 3))]}, topic_configs=configs))
    assert page(derived, "under_min_isr_partitions") == {(): len(configs)}
    assert page(derived, "unknown_min_isr_partitions") == {(): 1 - len(configs)}


@pytest.mark.parametrize(
    ("why", "before", "now", "expected"),
    [
        ("two partitions", [Partition(end=0), Partition(end=0)], [Partition(end=50), Partition(end=20)], 7.0),
        ("nothing was written", [Partition(end=50)], [Partition(end=50)], 0.0),
        ("a partition has no leader", [Partition()] * 2, [Partition(end=50), Partition(leader=UNKNOWN)], None),
        ("a leader does not answer", [Partition()] * 2, [Partition(end=50), Partition(silent=(1,))], None),
        ("a leader is new", [Partition()], [Partition(end=50, epoch=1, leader=2)], None),
        ("a partition is new", [Partition()], [Partition(end=50), Partition(end=50)], None),
    ],
)
def test_messages(why: str, before: list[Partition], now: list[Partition], expected: float | None) -> None:
    polls = (poll(topics={"t": before}), poll(10.0, topics={"t": now}))
    assert of_topics(*polls, name="messages_in_per_second").get("t") == expected, why


def test_messages_are_unknown_in_the_first_poll() -> None:
    assert of_topics(poll(), name="messages_in_per_second") == {}


MOVE = Partition(replicas=(3, 1, 2), leader=1, adding=(3,), removing=(2,))


@pytest.mark.parametrize(
    ("why", "partitions", "changes"),
    [
        ("nothing happened", [Partition()] * 3, (0, 0)),
        ("it was out before the first poll", [Partition(out=(3,))] * 2, (0, 0)),
        ("one left", [Partition(), Partition(out=(3,))], (1, 0)),
        ("two left at once", [Partition(), Partition(out=(2, 3))], (2, 0)),
        ("one joined", [Partition(out=(3,)), Partition()], (0, 1)),
        ("one left while another joined", [Partition(out=(3,)), Partition(out=(2,))], (1, 1)),
        ("one left, joined and left", [Partition(), Partition(out=(3,)), Partition(), Partition(out=(3,))], (2, 1)),
        ("the order of the replicas changed", [Partition(out=(3,)), Partition(replicas=(3, 2, 1), out=(3,))], (0, 0)),
        ("a new leader", [Partition(), Partition(leader=2, epoch=1, out=(1,))], (1, 0)),
        ("a move: one is added, then it replaces another", [Partition(), MOVE, Partition(replicas=(3, 1))], (0, 0)),
        ("a move that adds and removes between two polls", [Partition(), Partition(replicas=(1, 2, 4))], (0, 0)),
        ("a move that was cancelled", [Partition(), MOVE, Partition(replicas=(1, 2))], (0, 0)),
        ("during a move an old replica left", [Partition(replicas=(1, 2)), replace(MOVE, out=(2,))], (1, 0)),
        ("after a move the new replica left", [MOVE, Partition(replicas=(3, 1)), Partition(replicas=(3, 1), out=(3,))],
         (1, 0)),
    ],
)  # fmt: skip
def test_isr_changes(why: str, partitions: list[Partition], changes: tuple[int, int]) -> None:
    """Of replicas that two polls in a row assign, except while they are being added; another topic has none."""
    topics = [{"a": [Partition(out=(3,))], "t": [Partition(end=9), partition]} for partition in partitions]
    assert changes_of(topics) == {"a": (0, 0), "t": changes}, why


def changes_of(topics: Sequence[Topics], **fields: Sequence[Any]) -> dict[str, tuple[float, float]]:
    """Shrinks and expands by topic after polls of these topics; `fields` has a value for each poll."""
    values = [dict(zip(fields, each, strict=True)) for each in zip(*fields.values(), strict=True)] or [{}] * len(topics)
    polls = [
        snapshot(each, clock=10.0 * number, **of) for number, (each, of) in enumerate(zip(topics, values, strict=True))
    ]
    shrinks, expands = (of_topics(*polls, name=f"isr_{what}_total") for what in ("shrinks", "expands"))
    return {topic: (shrinks[topic], expands[topic]) for topic in shrinks}


OUT, BACK = [Partition(out=(3,))], [Partition()]


def test_isr_changes_start_at_0_when_a_topic_is_first_seen() -> None:
    """A new topic and a new partition change nothing that was counted; a topic that is gone has no count."""
    before: list[Topics] = [{"b": BACK, "z": BACK}, {"b": OUT, "z": OUT}]
    assert changes_of([*before, {"a": OUT, "b": [*OUT, *OUT]}]) == {"a": (0, 0), "b": (1, 0)}
    assert changes_of([*before, {"a": OUT, "b": OUT}, {"a": BACK, "b": BACK}]) == {"a": (0, 1), "b": (1, 1)}


def test_isr_changes_start_at_0_when_a_topic_is_created_again() -> None:
    """With the same name and another id it is another topic, also if no poll was without it."""
    ids = [(b"1" * 16,), (b"1" * 16,), (b"2" * 16,), (b"2" * 16,)]
    topics: list[Topics] = [{"t": BACK}, {"t": OUT}, {"t": BACK}, {"t": OUT}]
    assert changes_of(topics[:3], topic_ids=ids[:3]) == {"t": (0, 0)}
    assert changes_of(topics, topic_ids=ids) == {"t": (1, 0)}
    assert changes_of(topics, topic_ids=ids[:1] * 4) == {"t": (2, 1)}


@pytest.mark.parametrize(
    ("why", "known", "changes"),
    [
        ("a poll without an answer changes nothing", [True, False, True], (0, 0)),
        ("none until the move has ended", [True, False, False], (0, 0)),
        ("never any answer: it may be any replica", [False, False, False], (0, 1)),
    ],
)
def test_isr_changes_while_reassignments_are_unknown(why: str, known: list[bool], changes: tuple[float, float]) -> None:
    """A replica that was being added when that was last known still is, as far as the count goes."""
    unmarked = replace(MOVE, adding=(), removing=(), out=(3,))
    topics: list[Topics] = [{"t": [MOVE if each else unmarked]} for each in known[:2]]
    topics.append({"t": [Partition(replicas=(3, 1, 2), leader=1)]})
    assert changes_of(topics, reassignments_known=known) == {"t": changes}, why


def test_isr_changes_start_at_0_after_a_restart() -> None:
    polls = [poll(10.0 * number, topics={"t": each}) for number, each in enumerate((BACK, OUT, BACK, OUT, BACK))]
    memory, _ = remembering(*polls[:2])[-1]
    again = remembering(*polls[2:], memory=from_document(to_document(memory, polls[1]), polls[1]))
    found = [(each.topics.isr_shrinks.tolist(), each.topics.isr_expands.tolist()) for _, each in again]
    assert found == [([0], [0]), ([1], [0]), ([1], [1])]
