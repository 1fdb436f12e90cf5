"""The Kafka protocol over one connection: the one function that sends, API versions, and throttle times of replies."""

import asyncio
import io
from typing import Any, Final

from kafka.errors import IncompatibleBrokerVersion
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.api_key import ApiKey
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.metadata import ApiVersionsRequest

from kafka_warden.clients.kafka import bounds  # noqa: F401  # limits the decoders of all messages
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.frames import BEFORE_LOGIN, SMALL, Frames
from kafka_warden.clients.kafka.repeated import MOST_DECODED, Repeated, Undecoded, decoding
from kafka_warden.errors import ForbiddenRequestError, ProtocolError, UnsupportedError

READ_ONLY: Final = frozenset(
    {
        ApiKey.ApiVersions,
        ApiKey.SaslHandshake,
        ApiKey.SaslAuthenticate,
        ApiKey.Metadata,
        ApiKey.ListOffsets,
        ApiKey.DescribeCluster,
        ApiKey.DescribeConfigs,
        ApiKey.DescribeLogDirs,
        ApiKey.DescribeClientQuotas,
        ApiKey.DescribeQuorum,
        ApiKey.DescribeTopicPartitions,
        ApiKey.ListPartitionReassignments,
    },
)
"""Every request that this program may send. None of them changes anything."""

LOGIN: Final = {ApiKey.ApiVersions, ApiKey.SaslHandshake, ApiKey.SaslAuthenticate}
"""Requests whose replies have at most `BEFORE_LOGIN` bytes."""
LARGE: Final = READ_ONLY - LOGIN - {ApiKey.DescribeCluster, ApiKey.DescribeQuorum}
"""Requests whose replies list topics, logs or clients. All others have at most `SMALL` bytes."""

UNSUPPORTED_VERSION: Final = 35
SINCE_4_4: Final = 5
"""Version of ApiVersions that is new in Kafka 4.4. kafka-python knows releases up to 4.3 by such versions."""
MUTED_BY_CLIENT: Final = (2, 0)
"""First release whose brokers answer at once and leave it to the client to wait (KIP-219)."""
LONGEST_PAUSE: Final = 60.0
"""Seconds. A broker asks for at most one quota window: 1 s by default, quota.window.size.seconds."""

_CORRELATIONS: Final = 1 << 31


class Connection:
    """Sends requests and decodes their replies, one at a time, over an open connection.

    `address` is for messages; `timeout` is seconds for each request; `most` is the bytes of a reply in `LARGE`.
    """

    def __init__(
        self, frames: Frames, client_id: str, address: str, timeout: float | None = None, most: int = SMALL
    ) -> None:
        self.address = address
        self.throttle_time = 0.0
        """Seconds that the last reply asks the client to wait before the next request."""
        self._frames = frames
        self._client_id = client_id
        self._timeout = timeout
        self._most = most
        self._correlation = 0
        self._versions: BrokerVersionData | None = None

    @property
    def kafka_version(self) -> tuple[int, ...]:
        """The release that the broker's API versions belong to, such as `(4, 1)`; empty before they are known."""
        return tuple(self._versions.broker_version) if self._versions is not None else ()

    @property
    def connected(self) -> bool:
        """Whether the connection is still there."""
        return self._frames.connected

    def close(self) -> None:
        """Close the connection at once."""
        self._frames.abort()

    def newest(self, request_class: Any) -> int:
        """Return the newest version of a request that the broker knows, -1 where it does not know the request."""
        versions = self._versions.api_versions if self._versions is not None else {}
        return int(versions.get(request_class.API_KEY, (0, -1))[1])

    async def send(self, request: Any, version: int | None = None) -> Any:
        """Send one read-only request of kafka-python's, or a `Repeated`, and return its decoded reply.

        The version of the protocol is by default the newest that both sides know.

        Raises:
            TimeoutError: there was no reply in time.
            ForbiddenRequestError: the request is not on the list; nothing was sent.
            UnsupportedError: the broker does not know the request; nothing was sent.
            ProtocolError: the reply cannot be decoded, belongs to another request, or asks for an absurd pause.
        """
        repeated = request if isinstance(request, Repeated) else None
        request_class = repeated.request_class if repeated is not None else type(request)
        if request_class.API_KEY not in READ_ONLY:
            raise ForbiddenRequestError(f"{request_class.__name__} is not a read-only request and was not sent")
        if version is None:
            version = self._agreed(request_class)
        self._correlation = (self._correlation + 1) % _CORRELATIONS
        header = RequestHeader(
            request_api_key=request_class.API_KEY,
            request_api_version=version,
            correlation_id=self._correlation,
            client_id=self._client_id,
        )
        head = header.encode(flexible=request_class.flexible_version_q(version))
        body = repeated.body(version) if repeated is not None else request.encode(version=version)
        undecoded = repeated is not None and repeated.undecoded
        most = self._most if undecoded else min(self._most, MOST_DECODED)
        small = BEFORE_LOGIN if request_class.API_KEY in LOGIN else SMALL
        self._frames.limit = most if request_class.API_KEY in LARGE else small
        async with asyncio.timeout(self._timeout):
            frame = await self._frames.exchange(b"".join([(len(head) + len(body)).to_bytes(4, "big"), head, body]))
        reply = decode_reply(frame, header, undecoded=undecoded)
        self._note_throttle(reply)
        return reply

    async def negotiate(self) -> None:
        """Ask for the broker's API versions: in the newest version first, and in one that it knows if it refuses that.

        Raises:
            SourceError: the broker did not answer usefully.
        """
        version = ApiVersionsRequest.max_version
        request = ApiVersionsRequest(client_software_name="kafka-warden", client_software_version="unknown")
        reply = await self.send(request, version)
        if reply.error_code == UNSUPPORTED_VERSION:
            known = {each.api_key: each.max_version for each in reply.api_keys}
            version = min(max(known.get(ApiVersionsRequest.API_KEY, 0), 0), version)
            reply = await self.send(request, version)
        if fault := error_code_fault(reply.error_code, None, self.address):
            raise fault
        with decoding(type(reply)):
            ranges = {each.api_key: (each.min_version, each.max_version) for each in reply.api_keys}
            newest = ranges.get(ApiVersionsRequest.API_KEY, (0, 0))[1]
            self._versions = BrokerVersionData((4, 4) if newest >= SINCE_4_4 else None, ranges)
        self._note_throttle(reply)  # now that the release is known

    def _agreed(self, request_class: Any) -> int:
        if self._versions is None:
            raise ProtocolError(f"{self.address}: no API versions are known yet")
        try:
            return int(self._versions.api_version(request_class))
        except IncompatibleBrokerVersion as failure:
            raise UnsupportedError(f"{self.address} does not know this request ({failure})") from None

    def _note_throttle(self, reply: Any) -> None:
        muted = self.kafka_version >= MUTED_BY_CLIENT
        pause = max(getattr(reply, "throttle_time_ms", 0), 0) / 1000 if muted else 0.0
        if pause > LONGEST_PAUSE:
            raise ProtocolError(
                f"{self.address} asks for a pause of {pause:.0f} s (throttle_time_ms); more than {LONGEST_PAUSE:.0f} s"
                " is not accepted; check quota.window.size.seconds of the broker"
            )
        self.throttle_time = pause


def decode_reply(frame: bytes, header: RequestHeader, *, undecoded: bool = False) -> Any:
    """Decode the reply to the request with this header; with `undecoded` only as far as its header.

    Raises:
        ProtocolError: it cannot be decoded, or belongs to another request.
    """
    response_class = header.get_response_class()
    buffer = io.BytesIO(frame)
    with decoding(response_class):
        correlation = response_class.parse_header(buffer).correlation_id
        if correlation != header.correlation_id:
            raise ProtocolError(f"the reply has correlation id {correlation}, not {header.correlation_id}")
        start = buffer.tell()
        if undecoded:
            return Undecoded(header.request_api_version, frame[start:], response_class)
        return response_class.decode(memoryview(frame)[start:])
