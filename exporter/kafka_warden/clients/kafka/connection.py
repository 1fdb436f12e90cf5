"""The Kafka protocol over one connection: frames, the one function that sends, API versions, and throttle times."""

import asyncio
import io
from collections.abc import Callable
from typing import Any, Final, cast

from kafka.errors import IncompatibleBrokerVersion
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.broker_version_data import BrokerVersionData

from kafka_warden.clients.kafka import bounds  # noqa: F401  # limits the decoders of all messages
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.requests import (
    LISTING,
    LOGIN,
    MOST_DECODED,
    READ_ONLY,
    RELEASE_4_4,
    ApiVersionsRequest,
    Repeated,
    Since,
    Undecoded,
    decoding,
)
from kafka_warden.errors import ForbiddenRequestError, ProtocolError, SourceError, TooLargeError, UnsupportedError

LENGTH: Final = 4
SMALL: Final = 512 * 1024
"""Bytes that a reply may have unless it lists what grows with the cluster."""
BEFORE_LOGIN: Final = 64 * 1024
"""Bytes that a reply of a login may have, and one with API versions, which are some 2 kB."""

UNSUPPORTED_VERSION: Final = 35
MUTED_BY_CLIENT: Final = (2, 0)
"""First release whose brokers answer at once and leave it to the client to wait (KIP-219)."""
LONGEST_PAUSE: Final = 60.0
"""Seconds. A broker asks for at most one quota window: 1 s by default, quota.window.size.seconds."""

_CORRELATIONS: Final = 1 << 31


class BrokerConnection(asyncio.Protocol):
    """Sends requests and decodes their replies, one at a time, over TCP or TLS.

    A frame is a length of four bytes and as many bytes of message. The buffer grows with the bytes that arrive, never
    with the length that a frame claims to have. A reply that arrives together with the end of the stream is returned: a
    broker that refuses a password sends the reason and closes.

    `address` is for messages; `timeout` is seconds for each request; `most` is the bytes of a reply that lists; `lost`
    is called at the end of the connection.
    """

    def __init__(
        self,
        client_id: str,
        address: str,
        timeout: float | None = None,
        most: int = SMALL,
        lost: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = address
        self.throttle_time = 0.0
        """Seconds that the last reply asks the client to wait before the next request."""
        self._client_id = client_id
        self._timeout = timeout
        self._most = most
        self._lost = lost
        self._correlation = 0
        self._versions: BrokerVersionData | None = None
        self._limit = BEFORE_LOGIN
        """Bytes that the next frame may have."""
        self._buffer = bytearray()
        self._reply: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._closed = False

    @property
    def kafka_version(self) -> tuple[int, ...]:
        """The release that the broker's API versions belong to, such as `(4, 1)`; empty before they are known."""
        return tuple(self._versions.broker_version) if self._versions is not None else ()

    @property
    def connected(self) -> bool:
        """Whether the connection is still there."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close the connection at once, or as soon as it is made."""
        self._closed = True
        if self._transport is not None:
            self._transport.abort()

    def knows(self, since: Since) -> bool:
        """Return whether the broker knows that version of a request."""
        versions = self._versions.api_versions if self._versions is not None else {}
        return bool(versions.get(since.request.API_KEY, (0, -1))[1] >= since.version)

    async def send(self, request: Any, version: int | None = None) -> Any:
        """Send one read-only request of kafka-python's, or a `Repeated`, and return its reply, decoded or `Undecoded`.

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
        most = self._most if repeated is not None else min(self._most, MOST_DECODED)
        small = BEFORE_LOGIN if request_class.API_KEY in LOGIN else SMALL
        self._limit = most if request_class.API_KEY in LISTING else small
        async with asyncio.timeout(self._timeout):
            frame = await self._exchange(b"".join([(len(head) + len(body)).to_bytes(4, "big"), head, body]))
        reply = decode_reply(frame, header, undecoded=repeated is not None)
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
            self._versions = BrokerVersionData((4, 4) if newest >= RELEASE_4_4.version else None, ranges)
        self._note_throttle(reply)  # now that the release is known

    async def _exchange(self, frame: bytes) -> bytes:
        """Send a message, with its length before it, and return the message that comes back.

        Raises:
            OSError: the connection failed, or the other side closed it.
            SourceError: what came is no frame, or one that is too large.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        try:
            return await self._reply
        finally:
            self._reply = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection over; asyncio calls it."""
        self._transport = cast("asyncio.Transport", transport)
        if self._closed:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the exchange that is under way, and call `lost`; asyncio calls it."""
        self._transport = None
        self._buffer = bytearray()
        self._fail(exc or ConnectionResetError())
        self._lost()

    def data_received(self, data: bytes) -> None:
        """Collect bytes until the frame is complete; asyncio calls it."""
        self._buffer += data
        if len(self._buffer) < LENGTH:
            return
        length = int.from_bytes(self._buffer[:LENGTH], "big", signed=True)
        surplus = len(self._buffer) - LENGTH - length
        if surplus > 0 or self._reply is None or self._reply.done():
            self._reject(ProtocolError("the reply is not a Kafka reply; is this the port of a broker?"))
        elif length > self._limit:
            self._reject(TooLargeError(f"a reply has {length} bytes, more than the {self._limit} that are accepted"))
        elif surplus == 0:
            frame = bytes(memoryview(self._buffer)[LENGTH:])
            self._buffer = bytearray()
            self._reply.set_result(frame)

    def _reject(self, fault: SourceError) -> None:
        self._buffer = bytearray()
        self._fail(fault)
        self.close()

    def _fail(self, failure: Any) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(failure)

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
