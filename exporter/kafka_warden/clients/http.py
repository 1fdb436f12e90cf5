"""Requests over HTTP with a limit for the whole answer: the time limit of a socket is that of one call. They block."""

import contextlib
import http.client
import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from kafka_warden.settings.secrets import Secret, basic_authorization
from kafka_warden.settings.strict import reason

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
    limit: TimeLimit,
    host: str,
    port: int | None = None,
    *,
    timeout: float,
    context: ssl.SSLContext | None = None,
    proxied: bool = False,
) -> http.client.HTTPConnection:
    """Make a connection, over TLS where there is a `context`. `timeout`: seconds of each of its calls.

    With TLS and `proxied` it goes through the proxy of HTTPS_PROXY, unless NO_PROXY names the host.
    """
    port = port or (80 if context is None else 443)  # http.client takes a part of an IPv6 address for one
    if context is None:
        return _Connection(limit, host, port, timeout=timeout)
    named = urllib.request.getproxies().get("https") if proxied else None
    if not named or urllib.request.proxy_bypass(f"{host}:{port}"):
        return _TlsConnection(limit, host, port, timeout=timeout, context=context)
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    tunnel = _TlsConnection(limit, proxy.hostname or "", proxy.port, timeout=timeout, context=context)
    login = basic_authorization(unquote(proxy.username or ""), Secret(unquote(proxy.password or "")))
    tunnel.set_tunnel(host, port, {"Proxy-Authorization": login.reveal()} if proxy.username else {})
    return tunnel


def parts(response: http.client.HTTPResponse, most: int, too_large: Exception) -> Iterator[bytes]:
    """Yield the body of an answer while it comes, and close it. It raises `too_large` above `most` bytes.

    Raises:
        IncompleteRead: the connection ended before it.
    """
    size = 0
    with contextlib.closing(response):
        while part := response.read1(CHUNK):
            size += len(part)
            if size > most:
                raise too_large
            yield part
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)


def explained(failure: Exception, late: str = "no answer in time", hint: str = "") -> str:
    """Return what went wrong with a connection. `hint` follows where one side may expect TLS and the other does not."""
    texts: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
        (ssl.SSLCertVerificationError, f"its certificate is not trusted: {getattr(failure, 'verify_message', '')}"),
        (ssl.SSLError, f"TLS failed ({getattr(failure, 'reason', '')}){hint}"),
        (TimeoutError, late),
        (ConnectionRefusedError, "nothing listens there: connection refused"),
        ((ConnectionError, http.client.IncompleteRead), f"it closed the connection before a whole answer{hint}"),
        (http.client.HTTPException, "the answer is not HTTP"),
    )
    return next((text for kind, text in texts if isinstance(failure, kind)), reason(failure))
