"""Requests that every poll repeats: encoded once, and their replies decoded only as far as they are wanted.

With 10,005 partitions x 3 replicas, building and encoding the same six ListOffsets requests took 84 ms of CPU a poll,
and decoding metadata that had not changed another 30. Touches kafka-python's internals: what follows speaks to a
connection as `kafka.protocol.sasl.SaslBytesRequest` does.
"""

import io
import itertools
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.api_header import RequestHeader

from kafka_warden.errors import ProtocolError


class Repeated:
    """A request that stays the same from poll to poll.

    Args:
        request_class: one of `requests`.
        build: makes the request; called once per version of the protocol.
        undecoded: whether the reply comes as :class:`Undecoded`.
    """

    def __init__(self, request_class: Any, build: Callable[[], Any], *, undecoded: bool = False) -> None:
        self.request_class = request_class
        self.undecoded = undecoded
        self._build = build
        self._bodies: dict[int, bytes] = {}

    def body(self, version: int) -> bytes:
        """Return the request without its header, encoded."""
        if version not in self._bodies:
            self._bodies[version] = self._build().encode(version=version)
        return self._bodies[version]


class Sending:
    """One sending of a `Repeated`, in the version that was settled with the broker: what a connection is given."""

    def __init__(self, repeated: Repeated, version: int) -> None:
        self.API_KEY = repeated.request_class.API_KEY
        self.API_VERSION = version
        self.header: Any = None
        self._repeated = repeated

    def with_header(self, correlation_id: int, client_id: str) -> None:
        """Take the header that the connection has in mind."""
        header = RequestHeader(
            request_api_key=self.API_KEY,
            request_api_version=self.API_VERSION,
            correlation_id=correlation_id,
            client_id=client_id,
        )
        self.header = _Expected(header) if self._repeated.undecoded else header

    def encode(self, **_: bool) -> bytes:
        """Return the frame; what kafka-python passes asks for a header and for the length before it."""
        flexible = self._repeated.request_class.flexible_version_q(self.API_VERSION)
        message: bytes = self.header.encode(flexible=flexible) + self._repeated.body(self.API_VERSION)
        return struct.pack(">i", len(message)) + message

    def expect_response(self) -> bool:
        """Tell that there will be a reply."""
        return True


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A reply without its header, as it came."""

    version: int
    body: bytes = field(repr=False)
    response_class: Any = field(repr=False)

    @property
    def throttle_time_ms(self) -> int:
        """What the connection looks for in every reply: for how long the broker wants to be left alone."""
        first = self._fields()[0]
        return int.from_bytes(self.body[:4], "big", signed=True) if first.name == "throttle_time_ms" else 0

    def split(self, name: str) -> tuple[dict[str, Any], bytes]:
        """Decode the fields before the one of that name; return them, and the rest as it came.

        Raises:
            ProtocolError: they cannot be decoded.
        """
        buffer, flexible = io.BytesIO(self.body), self.response_class.flexible_version_q(self.version)
        before = itertools.takewhile(lambda field: field.name != name, self._fields())
        with self._decoding():
            values = {
                field.name: field.decode(buffer, version=self.version, compact=flexible, tagged=flexible)
                for field in before
            }
        return values, self.body[buffer.tell() :]

    def decode(self) -> Any:
        """Return kafka-python's object.

        Raises:
            ProtocolError: it cannot be decoded.
        """
        with self._decoding():
            return self.response_class.decode(self.body)

    def _fields(self) -> Sequence[Any]:
        fields: Sequence[Any] = self.response_class._struct.untagged_fields(self.version)  # noqa: SLF001  # this room may
        return fields

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, IndexError, struct.error) as failure:
            raise ProtocolError(f"a {self.response_class.__name__} cannot be decoded: {failure}") from failure


class _Expected:
    """A request's header that makes an `Undecoded` of the reply."""

    def __init__(self, header: Any) -> None:
        self.correlation_id = header.correlation_id
        self.api_version = header.request_api_version
        self._header = header
        self._response_class = header.get_response_class()

    def encode(self, *, flexible: bool) -> bytes:
        encoded: bytes = self._header.encode(flexible=flexible)
        return encoded

    def get_response_class(self) -> "_Expected":
        return self

    def parse_header(self, buffer: Any) -> Any:
        return self._response_class.parse_header(buffer)

    def decode(self, buffer: Any) -> Undecoded:
        return Undecoded(self.api_version, buffer.read(), self._response_class)
