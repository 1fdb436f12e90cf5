"""Requests over HTTP with a limit for the whole answer: the time limit of a socket is that of one call. They block."""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self

CHUNK: Final = 64 * 1024
"""Bytes that are read at once."""


class TimeLimit:
    """Shuts the connection down when the `seconds` since the `with` began are over; this raises a TimeoutError then."""

    def __init__(self, seconds: float) -> None:
        self.late = False
        self._sock: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def use(self, sock: socket.socket) -> None:
        """Set the socket, which is another one after a TLS handshake."""
        self._sock = sock
        if self.late:
            self._end()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._sock = None
        # The end of the connection may look like that of the answer.
        if self.late and isinstance(raised, Exception | None):
            raise TimeoutError from None

    def _end(self) -> None:
        self.late = True
        if (sock := self._sock) is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


class _Connection(http.client.HTTPConnection):
    """Gives each of its sockets to the limit, so that it holds for the answer of a proxy, too."""

    def __init__(self, limit: TimeLimit, *args: Any, **given: Any) -> None:
        self._limit = limit
        super().__init__(*args, **given)

    @property
    def sock(self) -> Any:
        """The present one."""
        return self._sock

    @sock.setter
    def sock(self, sock: socket.socket | None) -> None:
        self._sock = sock
        if sock is not None:
            self._limit.use(sock)


class _TlsConnection(_Connection, http.client.HTTPSConnection):
    """The same over TLS."""


def connection(
    limit: TimeLimit, host: str, port: int | None = None, *, timeout: float, context: ssl.SSLContext | None = None
) -> http.client.HTTPConnection:
    """Make a connection, over TLS where there is a `context`. `timeout`: seconds of each of its calls."""
    if context is None:
        return _Connection(limit, host, port, timeout=timeout)
    return _TlsConnection(limit, host, port, timeout=timeout, context=context)


def parts(response: http.client.HTTPResponse, most: int, too_large: Exception) -> Iterator[bytes]:
    """Yield the body of an answer while it comes. It raises `too_large` where that has more than `most` bytes.

    Raises:
        IncompleteRead: the connection ended before it.
    """
    size = 0
    while part := response.read1(CHUNK):
        size += len(part)
        if size > most:
            raise too_large
        yield part
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
