"""Requests for offsets that are sent again after a change of the layout: the answers are those to new requests."""

import asyncio
import io
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

from kafka_warden.clients.kafka.requests import Undecoded
from kafka_warden.model import UNKNOWN
from kafka_warden.poller import tables
from kafka_warden.poller.answers import LastAnswers
from kafka_warden.poller.tables import TURNS, Rows
from kafka_warden.sources.metadata import Layout
from kafka_warden.sources.offsets import RowIndex, read_ends
from tests.building import Partition, layout

BROKERS = (1, 2, 3, 4)
VERSION = 10
NOT_HOSTED = 3

PARTITIONS = st.permutations(BROKERS).map(lambda order: Partition(replicas=order[:2]))
TOPICS = st.dictionaries(st.sampled_from("abcdef"), st.lists(PARTITIONS, min_size=1, max_size=6))


def end(topic: str, topic_id: bytes, number: int, broker: int) -> int:
    return zlib.crc32(repr((topic, topic_id, number, broker)).encode())


def ends_of(seen: Layout) -> list[int]:
    topics = seen.topic[seen.partition].tolist()
    replicas = zip(topics, seen.number[seen.partition].tolist(), seen.broker.tolist(), strict=True)
    return [end(seen.topics[topic], seen.topic_ids[topic], number, broker) for topic, number, broker in replicas]


class Broker:
    """A broker that hosts what a layout says, and counts what it is asked about."""

    def __init__(self, seen: Layout, broker: int) -> None:
        self._broker = broker
        self.asked: list[tuple[str, int]] = []
        hosted, ends = seen.broker == broker, ends_of(seen)
        self._ends = {
            (seen.topics[seen.topic[row]], int(seen.number[row])): ends[replica]
            for replica, row in enumerate(seen.partition.tolist())
            if hosted[replica]
        }

    async def ask(self, request: Any, timeout_at: float) -> Undecoded:
        """Answer for what it hosts, and with an error for the rest."""
        assert timeout_at == 5.0
        asked = ListOffsetsRequest[VERSION].decode(io.BytesIO(request.body(VERSION)))
        topics = []
        for topic in asked.topics:
            numbers = [partition.partition_index for partition in topic.partitions]
            self.asked += [(topic.name, number) for number in numbers]
            topics.append(self._answer(topic.name, numbers))
        body = ListOffsetsResponse(throttle_time_ms=0, topics=topics).encode(version=VERSION)
        return Undecoded(VERSION, body, ListOffsetsResponse[VERSION])

    def _answer(self, name: str, numbers: list[int]) -> Any:
        kind = ListOffsetsResponse.ListOffsetsTopicResponse
        return kind(
            name=name,
            partitions=[
                kind.ListOffsetsPartitionResponse(
                    partition_index=number,
                    error_code=0 if (name, number) in self._ends else NOT_HOSTED,
                    offset=self._ends.get((name, number), UNKNOWN),
                )
                for number in numbers
            ],
        )


def ends(seen: Layout, questions: dict[int, RowIndex]) -> tuple[list[int], int]:
    """Ask every broker; return the ends of the replicas (R,), and the number of partitions asked about."""
    target, links = np.full(len(seen.partition), UNKNOWN, np.int64), {each: Broker(seen, each) for each in questions}

    async def ask() -> None:
        for broker, question in questions.items():
            await read_ends(links[broker], question, 5.0, target)  # type: ignore[arg-type]  # a broker of our own

    asyncio.run(ask())
    return target.tolist(), sum(len(link.asked) for link in links.values())


@given(st.lists(st.tuples(TOPICS, st.sets(st.sampled_from("abcdef"))), min_size=2, max_size=8), st.floats(0.1, 3.0))
def test_requests_that_are_sent_again_have_the_answers_to_new_ones(steps: list[Any], most_changed: float) -> None:
    answers = LastAnswers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "LARGE", 1)
        patch.setattr(tables, "MOST_CHANGED", most_changed)
        for topics, again in steps:
            seen = layout(topics)
            ids = {name: bytes(16) for name in again}
            identities = zip(seen.topics, seen.topic_ids, strict=True)
            seen = answers.adopt(replace(seen, topic_ids=tuple(ids.get(*each) for each in identities)))
            rows, new, hosted = answers.rows, Rows(seen), ends_of(seen)
            assert rows is not None
            for kept, made in (rows.followed, new.followed), (rows.led, new.led):
                wanted = [row for question in made.values() for row in question.rows.tolist()]
                target, _ = ends(seen, kept)
                assert target == [hosted[row] if row in wanted else UNKNOWN for row in range(len(target))]


def many(elected: Mapping[int, int] | None = None) -> Layout:
    """A layout of `many_partitions`."""
    return layout({"t": many_partitions(elected)})


def many_partitions(elected: Mapping[int, int] | None = None) -> list[Partition]:
    """2,400 partitions, half of them led by each of two brokers, except those that are `elected`."""
    led = {number: 7 + number % 2 for number in range(2400)} | dict(elected or {})
    return [Partition(replicas=(7, 8), leader=leader) for leader in led.values()]


def adopted(answers: LastAnswers, seen: Layout) -> Rows:
    answers.adopt(seen)
    assert answers.rows is not None
    return answers.rows


def stale(rows: Rows) -> set[int]:
    """Brokers whose requests name replicas that are gone, or not all that they have."""
    questions = {broker: (rows.followed[broker], rows.led[broker]) for broker in rows.hosted}
    return {broker for broker, both in questions.items() if any(each.parts or each.gone for each in both)}


def test_only_what_was_added_is_asked_about_apart() -> None:
    """After an election the last request is sent again, and a small one about the partition that is led now."""
    answers = LastAnswers()
    before = adopted(answers, many())
    ends(many(), before.led)
    rows = adopted(answers, many({0: 8}))

    last, added = rows.led[8].parts
    assert list(added) == [("t", [0])]
    assert last.requests is before.led[8].requests
    assert last.shape is not None
    assert not rows.led[7].parts
    assert rows.led[7].requests is before.led[7].requests
    assert rows.led[7].gone == 1
    assert ends(many({0: 8}), rows.led)[1] == 2401
    assert adopted(answers, many({0: 8, 2: 8})).led[7].gone == 2


def test_brokers_without_a_change_keep_their_requests() -> None:
    answers = LastAnswers()
    before = adopted(answers, many())
    ends(many(), before.led)
    for number in range(2 * TURNS):
        seen = layout({"other": [Partition(replicas=(5, 6))] * (number % 3), "t": many_partitions()})
        rows = adopted(answers, seen)
        assert rows.led[7].requests is before.led[7].requests
        assert stale(rows) == set()


@pytest.mark.parametrize("changing", [False, True])
def test_each_broker_gets_new_requests_in_its_turn(changing: bool) -> None:
    """Also while every poll finds a change. Else a broker would be asked for ever about what it does not have."""
    answers, current = LastAnswers(), set[int]()
    adopted(answers, many())
    for number in range(1, TURNS + 1):
        rows = adopted(answers, many({0: 8} | ({2 * number: 8} if changing else {})))
        current |= {7, 8} - stale(rows)
    assert current == {7, 8}
    assert (stale(rows) == set()) is not changing


def test_requests_are_new_where_much_has_changed() -> None:
    answers = LastAnswers()
    adopted(answers, many())
    seen = many({2 * number: 8 for number in range(500)})
    rows = adopted(answers, seen)
    assert stale(rows) == set()
    assert ends(seen, rows.led)[1] == 2400
