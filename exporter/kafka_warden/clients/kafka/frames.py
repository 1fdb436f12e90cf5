"""Frames of the Kafka protocol over one TCP or TLS connection: a length of four bytes and as many bytes of message."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from kafka_warden.errors import ProtocolError, SourceError, TooLargeError

LENGTH: Final = 4
SMALL: Final = 512 * 1024
"""Bytes that a frame may have unless its request lists what grows with the cluster."""
BEFORE_LOGIN: Final = 64 * 1024
"""Bytes that a frame of a login may have, and one with API versions, which are some 2 kB."""


class ConnectionLostError(Exception):
    """The other side closed the connection."""


class Frames(asyncio.Protocol):
    """Sends one frame at a time and returns the one that comes back.

    The buffer grows with the bytes that arrive, never with the length that a frame claims to have. A reply that arrives
    together with the end of the stream is returned: a broker that refuses a password sends the reason and closes.
    """

    def __init__(self, lost: Callable[[], None] = lambda: None) -> None:
        self.limit = BEFORE_LOGIN
        """Bytes that a frame may have."""
        self._buffer = bytearray()
        self._reply: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._lost = lost
        self._aborted = False

    @property
    def connected(self) -> bool:
        """Whether the connection is still there."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, frame: bytes) -> bytes:
        """Send a message, with its length before it, and return the message that comes back.

        Raises:
            ConnectionLostError: the other side closed the connection.
            OSError: the connection failed.
            SourceError: what came is no frame, or one that is too large.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionLostError
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        try:
            return await self._reply
        finally:
            self._reply = None

    def abort(self) -> None:
        """Close the connection at once, or as soon as it is made."""
        self._aborted = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection over; asyncio calls it."""
        self._transport = cast("asyncio.Transport", transport)
        if self._aborted:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the exchange that is under way, and call `lost`; asyncio calls it."""
        self._transport = None
        self._buffer = bytearray()
        self._fail(exc or ConnectionLostError())
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
        elif length > self.limit:
            self._reject(TooLargeError(f"a reply has {length} bytes, more than the {self.limit} that are accepted"))
        elif surplus == 0:
            frame = bytes(memoryview(self._buffer)[LENGTH:])
            self._buffer = bytearray()
            self._reply.set_result(frame)

    def _reject(self, fault: SourceError) -> None:
        self._buffer = bytearray()
        self._fail(fault)
        self.abort()

    def _fail(self, failure: Any) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(failure)
