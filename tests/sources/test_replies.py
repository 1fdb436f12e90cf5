"""Where the parts of a reply belong, and what is not worked out twice."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.metadata import MetadataResponse

from exporter.clients.kafka.repeated import Undecoded
from exporter.model import UNKNOWN
from exporter.sources.metadata import Layout, MetadataQuestion, parse_metadata
from exporter.sources.replies import RowIndex, column, index_rows

VERSION = 13


@dataclass
class Topic:
    """What a reply has of one topic."""

    name: str
    partitions: list[int] = field(default_factory=list)


def metadata(topics: dict[str, int], *, isr: tuple[int, ...] = (1, 2), controller: int = 1, port: int = 9092) -> Any:
    """Make a reply: topics with their partitions, each on brokers 1 and 2."""
    response = MetadataResponse
    partition = response.MetadataResponseTopic.MetadataResponsePartition
    made = [
        response.MetadataResponseTopic(
            version=VERSION,
            name=name,
            partitions=[
                partition(
                    version=VERSION,
                    partition_index=number,
                    leader_id=1,
                    leader_epoch=3,
                    replica_nodes=[1, 2],
                    isr_nodes=list(isr),
                    offline_replicas=[],
                )
                for number in range(partitions)
            ],
        )
        for name, partitions in topics.items()
    ]
    node = response.MetadataResponseBroker(version=VERSION, node_id=1, host="one", port=port)
    return response(version=VERSION, brokers=[node], cluster_id="c", controller_id=controller, topics=made)


def undecoded(reply: Any) -> Undecoded:
    """Give it the form in which it comes from the broker."""
    return Undecoded(VERSION, reply.encode(version=VERSION), MetadataResponse[VERSION])


def layout(topics: dict[str, int]) -> Layout:
    """Lay topics out."""
    return parse_metadata(undecoded(metadata(topics)).decode())


@given(st.permutations(["a", "b", "c", "d"]), st.randoms(use_true_random=False))
def test_rows_are_found_in_whatever_order_a_broker_answers(names: list[str], chance: Any) -> None:
    """Topics and partitions come back in an order of the broker's own; unknown ones have no row."""
    laid_out = layout({"a": 3, "b": 1, "c": 20})
    rows = np.flatnonzero(laid_out.broker == 2)
    topics = [Topic(name, chance.sample(range(25), 25)) for name in names]
    numbers = [number for topic in topics for number in topic.partitions]
    found = index_rows(laid_out, rows).find(topics, np.array(numbers))
    expected = {
        (laid_out.topics[laid_out.topic[laid_out.partition[row]]], int(laid_out.number[laid_out.partition[row]])): row
        for row in rows.tolist()
    }
    asked = [(topic.name, number) for topic in topics for number in topic.partitions]
    assert found.tolist() == [expected.get(key, UNKNOWN) for key in asked]


def test_an_index_of_some_replicas_lists_them_by_topic() -> None:
    """That is what requests are built from."""
    laid_out = layout({"a": 2, "b": 1, "c": 3})
    rows = np.flatnonzero((laid_out.broker == 1) & (laid_out.topic[laid_out.partition] != 1))
    assert list(index_rows(laid_out, rows[1:])) == [("a", [1]), ("c", [0, 1, 2])]


def test_an_empty_index_lists_nothing_and_finds_nothing() -> None:
    """A broker that leads nothing is asked about nothing, and may still have strays."""
    index = RowIndex()
    assert not index
    assert list(index) == []
    assert index.find([Topic("a", [0, 1])], np.array([0, 1])).tolist() == [UNKNOWN, UNKNOWN]
    assert index.find([], np.zeros(0, np.int64)).tolist() == []


def test_a_column_is_one_field_of_many_rows() -> None:
    """Large offsets keep every digit."""

    @dataclass
    class Row:
        offset: int

    assert column([Row(5), Row((1 << 62) + 1)], "offset").tolist() == [5, (1 << 62) + 1]


@pytest.mark.parametrize("change", [{"controller": 2}, {"port": 9093}])
def test_topics_that_stay_the_same_are_not_parsed_again(change: dict[str, Any]) -> None:
    """The brokers of the new reply count, the columns are the very objects of the old one."""
    question = MetadataQuestion()
    first = question.parse(undecoded(metadata({"a": 3})))
    fresh = undecoded(metadata({"a": 3}, **change))
    second = question.parse(fresh)
    assert second.broker is first.broker
    assert second.brokers == parse_metadata(fresh.decode()).brokers
    assert replace(second, brokers=first.brokers) == first


@pytest.mark.parametrize("change", [{"isr": (1,)}, {"topics": {"a": 4}}, {"topics": {"b": 3}}])
def test_topics_that_changed_are_parsed_again(change: dict[str, Any]) -> None:
    """One replica out of sync is a new layout."""
    question = MetadataQuestion()
    question.parse(undecoded(metadata({"a": 3})))
    fresh = undecoded(metadata(**{"topics": {"a": 3}, **change}))
    parsed, expected = question.parse(fresh), parse_metadata(fresh.decode())
    assert parsed.topics == expected.topics
    assert parsed.in_isr.tolist() == expected.in_isr.tolist()
