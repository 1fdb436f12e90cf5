"""No reply keeps the decoders busy, and what they raise is a `ProtocolError`. The limits belong to one kafka-python."""

import contextlib
import importlib.metadata
import struct
import time
from typing import Any, Final

import pytest
from kafka.protocol.admin import (
    DescribeConfigsResponse,
    DescribeLogDirsResponse,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.consumer import ListOffsetsResponse
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
from kafka.protocol.sasl import SaslHandshakeResponse
from kafka.protocol.schemas.fields.codecs import UnsignedVarInt32

from kafka_warden.clients.kafka.bounds import ALWAYS, BoundedContext, TagsReader
from kafka_warden.clients.kafka.connection import decode_reply
from kafka_warden.errors import ProtocolError

MEBIBYTE: Final = 1 << 20
QUICK: Final = 2.0
"""Seconds of CPU; without the limits it takes minutes, or all memory."""
CLASSES: Final = (
    ApiVersionsResponse,
    DescribeConfigsResponse,
    DescribeLogDirsResponse,
    ListOffsetsResponse,
    MetadataResponse,
)


def decode(response_class: Any, body: bytes, version: int | None = None) -> Any:
    version = response_class.max_version if version is None else version
    header = RequestHeader(
        request_api_key=response_class.API_KEY, request_api_version=version, correlation_id=7, client_id="test"
    )
    flexible = response_class.flexible_version_q(version) and response_class is not ApiVersionsResponse
    return decode_reply(struct.pack(">i", 7) + (b"\0" if flexible else b"") + body, header)


def source(response_class: Any) -> str:
    context = BoundedContext()
    version = response_class.max_version
    flexible = response_class.flexible_version_q(version)
    response_class._struct.emit_decode_from(context, "obj", "", version=version, compact=flexible, tagged=flexible)
    text: str = context.source()
    return text


def test_the_limits_are_written_for_the_installed_kafka_python() -> None:
    """Another version may generate other lines, which would come without a check: look at `bounds.py` again."""
    assert importlib.metadata.version("kafka-python") == "3.0.12"


@pytest.mark.parametrize("response_class", CLASSES, ids=lambda each: each.__name__)
def test_every_varint_and_every_array_is_checked(response_class: Any) -> None:
    """As many checks as there are loops; and no tagged field is read from a copy."""
    text = source(response_class)
    assert text.count("a varint is too long") == text.count("while True:") > 0
    assert text.count("more elements than") == text.count(" in range(") > 0
    assert "_BytesIO(" not in text


@pytest.mark.parametrize("response_class", CLASSES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("byte", [0x00, 0x01, 0x7F, 0x80, 0xFF])
def test_a_mebibyte_of_one_byte_ends_quickly(response_class: Any, byte: int) -> None:
    body = bytes([byte]) * MEBIBYTE
    for version in range(response_class.max_version + 1):
        began = time.process_time()
        with contextlib.suppress(ProtocolError):
            decode(response_class, body, version)
        assert time.process_time() - began < QUICK


def test_tagged_fields_are_read_in_linear_time() -> None:
    element = struct.pack(">hhh", 18, 0, 4) + bytes([1, 99, 4]) + bytes(4)
    count = 40_000
    body = struct.pack(">h", 0) + UnsignedVarInt32.encode(count + 1) + element * count + struct.pack(">i", 0) + b"\0"
    began = time.process_time()
    assert len(decode(ApiVersionsResponse, body).api_keys) == count
    assert time.process_time() - began < QUICK


def test_a_varint_has_five_bytes_at_most() -> None:
    rest = struct.pack(">i", 0) + b"\0"
    assert decode(ApiVersionsResponse, b"\0\0\x81\x80\x80\x80\0" + rest).api_keys == []
    with pytest.raises(ProtocolError, match="a varint is too long"):
        decode(ApiVersionsResponse, b"\0\0\x81\x80\x80\x80\x80\0" + rest)


def test_an_array_cannot_have_more_elements_than_bytes() -> None:
    with pytest.raises(ProtocolError, match="more elements than the reply has bytes"):
        decode(ListOffsetsResponse, struct.pack(">ii", 0, 1 << 30), 1 + 1)


def test_a_reply_makes_no_more_objects_than_its_size_explains() -> None:
    """Objects may need three bytes in a reply, and take fifty times as much memory. Numbers are no objects."""
    count = 2 * ALWAYS
    result = DescribeLogDirsResponse.DescribeLogDirsResult
    topics = [result.DescribeLogDirsTopic(version=4, name="", partitions=[])] * count
    logs = DescribeLogDirsResponse(version=4, results=[result(version=4, log_dir="a", topics=topics)])
    with pytest.raises(ProtocolError, match="too many parts for its size"):
        decode(DescribeLogDirsResponse, logs.encode(version=4), 4)
    topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    partition = topic.OngoingPartitionReassignment(
        version=0, partition_index=0, replicas=[1] * count, adding_replicas=[], removing_replicas=[]
    )
    moves = ListPartitionReassignmentsResponse(version=0, topics=[topic(version=0, name="a", partitions=[partition])])
    (found,) = decode(ListPartitionReassignmentsResponse, moves.encode(version=0), 0).topics
    assert len(found.partitions[0].replicas) == count


def test_a_string_that_ends_after_the_reply_is_refused() -> None:
    """Python's slices would shorten it silently, here the last field of the reply."""
    head = struct.pack(">hi", 0, 1)
    assert decode(SaslHandshakeResponse, head + struct.pack(">h", 5) + b"PLAIN").mechanisms == ["PLAIN"]
    with pytest.raises(ProtocolError, match="cut off"):
        decode(SaslHandshakeResponse, head + struct.pack(">h", 900) + b"PLAIN")


@pytest.mark.parametrize("version", [0, 1, 8])
def test_a_name_that_must_not_be_null_is_refused(version: int) -> None:
    """The name of a topic; from version 12 on it may be null."""
    topic = MetadataResponse.MetadataResponseTopic(version=version, error_code=0, name=None, partitions=[])
    fields: dict[str, Any] = {} if version == 0 else {"controller_id": 1}
    body = MetadataResponse(version=version, brokers=[], topics=[topic], **fields).encode(version=version)
    with pytest.raises(ProtocolError, match="name is null"):
        decode(MetadataResponse, body, version)


def test_a_reply_to_another_request_is_refused() -> None:
    header = RequestHeader(request_api_key=3, request_api_version=1, correlation_id=8, client_id="test")
    with pytest.raises(ProtocolError, match="correlation id 7, not 8"):
        decode_reply(struct.pack(">i", 7), header)


def test_a_reader_reads_no_further_than_its_end() -> None:
    reader = TagsReader(memoryview(b"abcdef"), 2)
    assert (reader.read(3), reader.tell(), reader.read(3), reader.read(1), reader.tell()) == (b"cde", 3, b"f", b"", 4)
    with pytest.raises(ValueError, match=r"^a field has a negative size$"):
        reader.read(-1)
