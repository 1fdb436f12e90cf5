"""A listener that speaks as much of the Kafka protocol as a test wants: it answers each request by a function."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from kafka.protocol.api_header import ResponseHeader
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import ApiVersionsResponse

Versions = dict[int, tuple[int, int]]

VERSIONS: Final[Versions] = {
    ApiKey.ListOffsets: (1, 10),
    ApiKey.Metadata: (0, 13),
    ApiKey.SaslHandshake: (0, 1),
    ApiKey.ApiVersions: (0, 4),
    ApiKey.SaslAuthenticate: (0, 2),
    ApiKey.DescribeConfigs: (1, 4),
    ApiKey.DescribeCluster: (0, 2),
}
"""What a broker of Kafka 4 knows, as far as tests need it."""


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    key: int
    version: int
    correlation: int
    body: bytes
    connection: int
    """Number of the connection, from 0."""


Answer = Callable[[Asked], "bytes | None"]
"""Returns the frame without its length, or `None` to close the connection."""


def encoded(asked: Asked, response_class: Any, correlation: int | None = None, **fields: Any) -> bytes:
    """Encode a reply with its header."""
    flexible = response_class.flexible_version_q(asked.version) and response_class is not ApiVersionsResponse
    header = ResponseHeader(correlation_id=asked.correlation if correlation is None else correlation)
    body: bytes = response_class(version=asked.version, **fields).encode(version=asked.version)
    return bytes(header.encode(flexible=flexible)) + body


def api_versions(asked: Asked, versions: Versions = VERSIONS, **fields: Any) -> bytes:
    """Answer ApiVersions."""
    ranges = [
        ApiVersionsResponse.ApiVersion(version=asked.version, api_key=k, min_version=a, max_version=b)
        for k, (a, b) in versions.items()
    ]
    return encoded(asked, ApiVersionsResponse, error_code=0, api_keys=ranges, **fields)


class Listener:
    """A port on loopback. Requests of all its connections go to one function, which may wait."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.asked: list[Asked] = []
        self.accepted = 0
        self._answer = answer
        self._tls = tls
        self._listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """Its number."""
        return int(self._listener.getsockname()[1])

    def keys(self) -> list[int]:
        """Requests in order, without ApiVersions."""
        return [each.key for each in self.asked if each.key != ApiKey.ApiVersions]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Close the port and all connections."""
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10.0)

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._open.append(near)
                self._start(self._serve, near, self.accepted)
                self.accepted += 1

    def _serve(self, plain: socket.socket, connection: int) -> None:
        with contextlib.suppress(OSError, struct.error):
            near = self._tls.wrap_socket(plain, server_side=True) if self._tls is not None else plain
            self._open.append(near)
            with near:
                while True:
                    (length,) = struct.unpack(">i", _read(near, 4))
                    frame = _read(near, length)
                    key, version, correlation = struct.unpack(">hhi", frame[:8])
                    asked = Asked(key, version, correlation, frame[8:], connection)
                    self.asked.append(asked)
                    reply = self._answer(asked)
                    if reply is None:
                        return
                    near.sendall(struct.pack(">i", len(reply)) + reply)


def _read(near: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = near.recv(size - len(data))
        if not part:
            raise OSError("closed")
        data += part
    return data
