"""Requests for offsets after any change of the layout: each broker is asked about what it hosts, and no more."""

import io
from dataclasses import replace
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from kafka.protocol.consumer import ListOffsetsRequest

from kafka_warden.poller.answers import LastAnswers
from kafka_warden.sources.metadata import Layout
from kafka_warden.sources.offsets import LATEST, RowIndex, _request
from tests.building import Partition, layout

BROKERS = (1, 2, 3, 4)
VERSION = 10

PARTITIONS = st.permutations(BROKERS).map(lambda order: Partition(replicas=sorted(order[:2]), leader=order[0]))
TOPICS = st.dictionaries(st.sampled_from("abcdef"), st.lists(PARTITIONS, min_size=1, max_size=6))

Places = dict[tuple[str, int], int]
"""Topic and partition to the row of a replica."""


def asked(question: RowIndex) -> Places:
    """What the request is about, and the rows that its answers go to."""
    request = ListOffsetsRequest[VERSION].decode(io.BytesIO(_request(question, LATEST).body(VERSION)))
    named = [(topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions]
    return dict(zip(named, question.rows.tolist(), strict=True))


def hosted(seen: Layout, *, leading: bool) -> dict[int, Places]:
    """By broker, the replicas that lead or follow."""
    found: dict[int, Places] = {broker: {} for broker in BROKERS}
    for row, (partition, broker) in enumerate(zip(seen.partition.tolist(), seen.broker.tolist(), strict=True)):
        if (seen.leader[partition] == broker) == leading:
            found[broker][seen.topics[seen.topic[partition]], int(seen.number[partition])] = row
    return found


@example([({"a": [Partition(replicas=(1, 2), leader=leader)]}, set()) for leader in (1, 2)])
@given(st.lists(st.tuples(TOPICS, st.sets(st.sampled_from("abcdef"))), min_size=2, max_size=8))
def test_each_broker_is_asked_about_what_it_has_now(steps: list[Any]) -> None:
    """After topics, partitions and brokers change, and topics are created again."""
    answers = LastAnswers()
    for topics, again in steps:
        seen = layout(topics)
        ids = {name: bytes(16) for name in again}
        identities = zip(seen.topics, seen.topic_ids, strict=True)
        answers.adopt(replace(seen, topic_ids=tuple(ids.get(*each) for each in identities)))
        assert answers.rows is not None
        for leading, questions in (False, answers.rows.followed), (True, answers.rows.led):
            assert {broker: asked(questions[broker]) for broker in BROKERS} == hosted(seen, leading=leading)
