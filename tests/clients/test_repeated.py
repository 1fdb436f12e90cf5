"""Requests that are encoded once, and replies that are decoded as far as they are wanted."""

import asyncio
from typing import Any

import pytest
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from kafka_warden.clients.kafka import requests
from kafka_warden.clients.kafka.connection import BrokerConnection
from kafka_warden.clients.kafka.requests import Repeated, Undecoded, request_metadata, request_offsets
from kafka_warden.errors import ProtocolError, TooLargeError

CLIENT = "kafka-warden"
FIRST_WITH_THROTTLE = 3


def offsets_request() -> Any:
    return request_offsets([("orders", [0, 7])], -1)


def offsets(version: int) -> bytes:
    """Encode an empty reply to it, with the tags of the header."""
    tags = b"\0" if ListOffsetsResponse.flexible_version_q(version) else b""
    return tags + bytes(ListOffsetsResponse(version=version, topics=[]).encode(version=version))


def metadata(version: int, **fields: Any) -> bytes:
    node = MetadataResponse.MetadataResponseBroker(version=version, node_id=1, host="one", port=9092, rack=None)
    topic = MetadataResponse.MetadataResponseTopic(version=version, error_code=0, name="orders", partitions=[])
    values = {"throttle_time_ms": 0, "cluster_id": "c", "controller_id": 1, **fields}
    known = {name: value for name, value in values.items() if MetadataResponse.fields[name].for_version_q(version)}
    return bytes(MetadataResponse(version=version, brokers=[node], topics=[topic], **known).encode(version=version))


class Exchanged(BrokerConnection):
    """Keeps the frames that it sends, and answers each with a body of the test."""

    def __init__(self, *bodies: bytes) -> None:
        super().__init__(CLIENT, "broker.example:9092")
        self.sent: list[bytes] = []
        self._bodies = list(bodies)

    async def _exchange(self, frame: bytes) -> bytes:
        """Answer with the correlation id of the request, which stands after length, key and version."""
        self.sent.append(frame)
        return frame[8:12] + self._bodies.pop(0)


@pytest.mark.parametrize("version", range(1, ListOffsetsRequest.max_version + 1))
def test_a_repeated_request_is_the_frame_that_kafka_python_makes(version: int) -> None:
    body = offsets(version)
    connection = Exchanged(body, body, body)
    repeated = Repeated(ListOffsetsRequest, lambda version: offsets_request().encode(version=version))

    async def send() -> None:
        for request in (offsets_request(), repeated, repeated):
            await connection.send(request, version)

    asyncio.run(send())
    for correlation, frame in enumerate(connection.sent, start=1):
        expected = offsets_request()
        expected.API_VERSION = version
        expected.with_header(correlation_id=correlation, client_id=CLIENT)
        assert frame == expected.encode(framed=True, header=True)


def test_a_repeated_request_is_encoded_once_a_version() -> None:
    """Building thousands of partitions is what the shortcut saves; another version is another encoding."""
    encoded = []

    def encode(version: int) -> bytes:
        encoded.append(version)
        return bytes([version])

    repeated = Repeated(ListOffsetsRequest, encode)
    assert [repeated.body(version) for version in (6, 6, 7, 6)] == [b"\6", b"\6", b"\7", b"\6"]
    assert encoded == [6, 7]


@pytest.mark.parametrize("version", [1, 5, 8, 9, 12, 13])
def test_an_undecoded_reply_comes_through_the_connection_and_decodes_to_the_same(version: int) -> None:
    """The connection matches it by its correlation id, and what is left of it is all of its fields."""
    tags = b"\0" if MetadataResponse.flexible_version_q(version) else b""
    connection = Exchanged(tags + metadata(version))
    request = Repeated(MetadataRequest, lambda version: request_metadata().encode(version=version))
    reply = asyncio.run(connection.send(request, version))
    assert reply.version == version
    assert [topic.name for topic in reply.decode().topics] == ["orders"]
    before, rest = reply.split("topics")
    assert [(node.node_id, node.host) for node in before["brokers"]] == [(1, "one")]
    assert metadata(version).endswith(rest)
    assert "topics" not in before


def test_a_split_separates_a_change_before_the_field_from_one_after_it() -> None:
    first, second = (Undecoded(13, metadata(13, controller_id=node), MetadataResponse[13]) for node in (1, 2))
    assert first.body != second.body
    assert first.split("topics")[1] == second.split("topics")[1]
    assert first.split("controller_id")[1] != second.split("controller_id")[1]


@pytest.mark.parametrize(("version", "expected"), [(FIRST_WITH_THROTTLE - 1, 0), (FIRST_WITH_THROTTLE, 250), (13, 250)])
def test_an_undecoded_reply_has_its_throttle_time(version: int, expected: int) -> None:
    reply = Undecoded(version, metadata(version, throttle_time_ms=250), MetadataResponse[version])
    assert reply.throttle_time_ms == expected


@pytest.mark.parametrize("length", [0, 3, 10, 40, None])
def test_a_broken_reply_is_a_protocol_error(length: int | None) -> None:
    reply = Undecoded(13, metadata(13).replace(b"\x04one", b"\0")[:length], MetadataResponse[13])
    for decode in (reply.decode, lambda: reply.split("none")):
        with pytest.raises(ProtocolError, match="cannot be decoded"):
            decode()


def test_objects_are_made_of_a_bounded_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    body = metadata(12)
    reply = Undecoded(12, body, MetadataResponse[12])
    monkeypatch.setattr(requests, "MOST_DECODED", len(body))
    assert reply.decode().cluster_id == "c"
    monkeypatch.setattr(requests, "MOST_DECODED", len(body) - 1)
    with pytest.raises(TooLargeError, match=f"has {len(body)} bytes; of such replies {len(body) - 1} are decoded"):
        reply.decode()
    assert reply.split("topics")[0]["cluster_id"] == "c"
    monkeypatch.setattr(requests, "MOST_DECODED", 10)
    with pytest.raises(ProtocolError, match="cannot be decoded"):
        reply.split("topics")
