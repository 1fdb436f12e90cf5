"""Replies and requests as columns: the same as kafka-python's objects, in every version, also where they are broken."""

import random
import uuid
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.schemas.fields.codecs import UnsignedVarInt32

from kafka_warden.clients.kafka.columns.fields import read_varint
from kafka_warden.clients.kafka.columns.metadata import VERSIONS, read_topics
from kafka_warden.clients.kafka.requests import Undecoded, request_offsets
from kafka_warden.errors import ProtocolError
from kafka_warden.model import NO_LISTENER, UNKNOWN, Longs
from kafka_warden.poller.tables import Rows
from kafka_warden.sources.metadata import Layout, MetadataQuestion, parse_metadata
from kafka_warden.sources.offsets import LATEST, RowIndex, encode_request, index_rows, parse_offsets
from tests.building import Partition, layout

_Topic: Final = MetadataResponse.MetadataResponseTopic
_Offsets: Final = ListOffsetsResponse.ListOffsetsTopicResponse
LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND = 5, 72
MANY: Final = 130
"""Partitions of one topic: more than a varint of one byte counts."""


def metadata(seed: int, version: int) -> bytes:
    """A reply with topics in no order, one of which is being deleted, and partitions of any shape, or of one."""
    chance = random.Random(seed)
    topics = []
    for number in chance.sample(range(8), 8):
        partitions, alike = [], number % 2
        for index in chance.sample(range(MANY), MANY if number < 2 else chance.randrange(4)):
            replicas = chance.sample(range(1, 9), 3 if alike else chance.randint(0, 5))
            partitions.append(
                _Topic.MetadataResponsePartition(
                    error_code=chance.choice([0, LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND]),
                    partition_index=index,
                    leader_id=chance.choice([UNKNOWN, *replicas]),
                    leader_epoch=chance.randrange(9),
                    replica_nodes=replicas,
                    isr_nodes=chance.sample(replicas, len(replicas) if alike else chance.randint(0, len(replicas))),
                    offline_replicas=chance.sample(replicas, min(1, len(replicas))),
                )
            )
        name = f"{'é' if number == 1 else 'topic'}-{number}"
        error = 3 if number == 2 else 0
        topics.append(_Topic(error_code=error, name=name, topic_id=uuid.UUID(int=number + 1), partitions=partitions))
    body: bytes = MetadataResponse(brokers=[], cluster_id="c", topics=topics).encode(version=version)
    return body


def offsets(wanted: RowIndex, ends: dict[int, int], version: int, error: int = 0) -> Undecoded:
    """A reply with the topics in another order than asked; `ends` by partition number, the rest 0."""
    topics = [
        _Offsets(
            name=name,
            partitions=[
                _Offsets.ListOffsetsPartitionResponse(
                    partition_index=number, error_code=error, offset=ends.get(number, 0), leader_epoch=number
                )
                for number in numbers
            ],
        )
        for name, numbers in reversed(list(wanted))
    ]
    body = ListOffsetsResponse(throttle_time_ms=0, topics=topics).encode(version=version)
    return Undecoded(version, body, ListOffsetsResponse[version])


LAYOUT: Final = parse_metadata(MetadataResponse[13].decode(metadata(1, 13)))


def hosted() -> RowIndex:
    return Rows(LAYOUT).hosted[1]


def same(one: Layout, other: Layout) -> bool:
    pairs = [(getattr(one, name), getattr(other, name)) for name in Layout.__slots__]
    return all(
        left.dtype == right.dtype and np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right
        for left, right in pairs
    )


@given(seed=st.integers(0, 10_000), version=st.sampled_from(sorted(VERSIONS)))
def test_metadata_as_columns_is_that_of_objects(seed: int, version: int) -> None:
    reply = Undecoded(version, metadata(seed, version), MetadataResponse[version])
    assert read_topics(reply.split("topics")[1], version) is not None
    assert same(MetadataQuestion().parse(reply), parse_metadata(reply.decode()))


@pytest.mark.parametrize(
    ("error", "expected"), [(0, UNKNOWN), (LEADER_NOT_AVAILABLE, UNKNOWN), (LISTENER_NOT_FOUND, NO_LISTENER)]
)
@pytest.mark.parametrize("version", [0, 7, *sorted(VERSIONS)])
def test_a_leader_without_the_listener_is_no_missing_leader(version: int, error: int, expected: int) -> None:
    """Kafka answers error 72 and leader -1 for it, and error 5 for a partition without a leader."""
    partition = _Topic.MetadataResponsePartition(error_code=error, leader_id=-1, replica_nodes=[1], isr_nodes=[1])
    body = MetadataResponse(brokers=[], cluster_id="c", topics=[_Topic(name="t", partitions=[partition])])
    reply = Undecoded(version, body.encode(version=version), MetadataResponse[version])
    for layout_ in (MetadataQuestion().parse(reply), parse_metadata(reply.decode())):
        assert (layout_.leader.tolist(), layout_.leader_row.tolist()) == ([expected], [UNKNOWN])
        assert layout_.without_listener() == ({1} if expected == NO_LISTENER else set())


@pytest.mark.parametrize("version", range(MetadataResponse.max_version + 1))
def test_columns_are_read_of_the_newest_versions(version: int) -> None:
    reply = Undecoded(version, metadata(0, version), MetadataResponse[version])
    assert (read_topics(reply.split("topics")[1], version) is not None) == (version >= min(VERSIONS))
    assert same(MetadataQuestion().parse(reply), parse_metadata(reply.decode()))


@pytest.mark.parametrize("after", [0, MANY - 2])
def test_tagged_fields_of_a_partition_are_left_to_objects(after: int) -> None:
    """Also where all other partitions of the topic have the same form; so many partitions come after it."""
    partition = _Topic.MetadataResponsePartition(leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3])
    one, many = (
        MetadataResponse(brokers=[], cluster_id="c", topics=[_Topic(name="t", partitions=[partition] * count)])
        for count in (1, MANY)
    )
    body = bytearray(Undecoded(13, many.encode(version=13), MetadataResponse[13]).split("topics")[1])
    assert read_topics(bytes(body), 13) is not None

    size = (len(many.encode(version=13)) - len(one.encode(version=13))) // (MANY - 1)
    body[-9 - size * after] = 1
    assert read_topics(bytes(body), 13) is None


@given(seed=st.integers(0, 3), at=st.integers(0, 12_000), byte=st.integers(0, 255))
@example(seed=0, at=7, byte=0)  # another controller: a part of the reply that `parse_metadata` leaves to the caller
def test_broken_metadata_is_what_objects_make_of_it(seed: int, at: int, byte: int) -> None:
    """With any byte changed: the same columns, or the same error."""
    body = bytearray(metadata(seed, 13))
    body[at % len(body)] = byte
    reply = Undecoded(13, bytes(body), MetadataResponse[13])
    try:
        decoded = reply.decode()
        expected = replace(parse_metadata(decoded), controller=decoded.controller_id)
    except (ProtocolError, AttributeError, TypeError):
        with pytest.raises((ProtocolError, AttributeError, TypeError)):
            MetadataQuestion().parse(reply)
    else:
        assert same(MetadataQuestion().parse(reply), expected)


@given(st.integers(0, (1 << 21) - 1))
def test_numbers_of_elements_are_read_as_they_are_written(value: int) -> None:
    written = UnsignedVarInt32.encode(value)
    assert read_varint(written, 0) == (value, len(written))


@pytest.mark.parametrize("version", range(1, ListOffsetsRequest.max_version + 1))
def test_a_request_is_the_bytes_of_kafka_python(version: int) -> None:
    # A name that a broken reply of Metadata has twice.
    first, _, *others = LAYOUT.topics
    twice = index_rows(replace(LAYOUT, topics=(first, first, *others)), np.arange(len(LAYOUT.partition)))
    for wanted in (RowIndex(), hosted(), twice):
        expected = request_offsets(wanted, LATEST).encode(version=version)
        assert encode_request(wanted, LATEST, version) == expected


@pytest.mark.parametrize("version", range(1, ListOffsetsRequest.max_version + 1))
def test_offsets_go_to_the_same_rows_in_every_version(version: int) -> None:
    """Also when the next reply has other values, another order, an error, or fewer topics."""
    wanted = hosted()
    fewer = RowIndex(wanted.names, wanted.places, wanted.keys[3:], wanted.rows[3:])
    replies = [
        offsets(wanted, {0: 5, 7: 1 << 40}, version),
        offsets(wanted, {0: -1, 8: 2}, version),
        offsets(fewer, {}, version),
        offsets(RowIndex(), {}, version),
        offsets(wanted, {0: 9}, version, error=6),
    ]
    for reply in replies:
        columns, objects = (np.full(len(LAYOUT.partition), UNKNOWN, np.int64) for _ in range(2))
        parse_offsets(reply, wanted, columns)
        parse_offsets(reply.decode(), wanted, objects)
        assert np.array_equal(columns, objects)
    assert (wanted.shape is not None) == (version >= 6)


@pytest.mark.parametrize(("name", "partitions"), [("t", 126), ("t", MANY), ("t" * 126, 1), ("t" * 249, MANY)])
def test_offsets_of_long_names_and_of_many_partitions(name: str, partitions: int) -> None:
    wanted, fewer = (
        Rows(layout(dict.fromkeys(names, [Partition(replicas=(1, 2))] * partitions))).hosted[1]
        for names in (("a", name, "z"), ("a", "z"))
    )
    reply = offsets(wanted, {0: 5, partitions - 1: 1 << 40}, 10)
    for asked in (wanted, fewer):
        columns, objects = (np.full(6 * partitions, UNKNOWN, np.int64) for _ in range(2))
        parse_offsets(reply, asked, columns)
        parse_offsets(reply.decode(), asked, objects)
        assert np.array_equal(columns, objects)
        assert asked.shape is not None


def test_a_throttled_reply_has_the_same_shape() -> None:
    wanted = hosted()
    reply = offsets(wanted, {0: 5}, 10)
    column = np.full(len(LAYOUT.partition), UNKNOWN, np.int64)
    parse_offsets(reply, wanted, column)
    shape = wanted.shape
    parse_offsets(Undecoded(10, (700).to_bytes(4) + reply.body[4:], reply.response_class), wanted, column)
    assert wanted.shape is shape is not None


@given(at=st.integers(0, 5000), byte=st.integers(0, 255), warm=st.booleans())
def test_broken_offsets_are_what_objects_make_of_them(at: int, byte: int, *, warm: bool) -> None:
    """With any byte changed: the same offsets, or the same error, whether or not a reply of that shape came before."""
    wanted = hosted()
    good = offsets(wanted, {0: 5}, 10)
    body = bytearray(good.body)
    body[at % len(body)] = byte
    reply = Undecoded(10, bytes(body), good.response_class)

    def target(answer: Any) -> Longs:
        column = np.full(len(LAYOUT.partition), UNKNOWN, np.int64)
        if warm:
            parse_offsets(good, wanted, column.copy())
        parse_offsets(answer, wanted, column)
        return column

    try:
        expected = target(reply.decode())
    except ProtocolError:
        with pytest.raises(ProtocolError):
            target(reply)
    else:
        assert np.array_equal(target(reply), expected)
