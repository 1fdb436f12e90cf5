"""Requests for offsets after any change of the layout: each broker is asked about what it hosts, and no more."""

import asyncio
import io
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse

from kafka_warden.clients.kafka.requests import Undecoded
from kafka_warden.model import UNKNOWN
from kafka_warden.poller.answers import LastAnswers
from kafka_warden.poller.tables import Rows
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


@given(st.lists(st.tuples(TOPICS, st.sets(st.sampled_from("abcdef"))), min_size=2, max_size=8))
def test_each_broker_is_asked_about_what_it_has_now(steps: list[Any]) -> None:
    answers = LastAnswers()
    for topics, again in steps:
        seen = layout(topics)
        ids = {name: bytes(16) for name in again}
        identities = zip(seen.topics, seen.topic_ids, strict=True)
        seen = answers.adopt(replace(seen, topic_ids=tuple(ids.get(*each) for each in identities)))
        rows, new, hosted = answers.rows, Rows(seen), ends_of(seen)
        assert rows is not None
        for kept, made in (rows.followed, new.followed), (rows.led, new.led):
            wanted = [row for question in made.values() for row in question.rows.tolist()]
            target, asked = ends(seen, kept)
            assert target == [hosted[row] if row in wanted else UNKNOWN for row in range(len(target))]
            assert asked == len(wanted)
