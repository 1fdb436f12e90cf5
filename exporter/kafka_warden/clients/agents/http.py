"""One HTTP request to an agent, with a time limit for the whole answer. It blocks."""

import base64
import contextlib
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Final

from kafka_warden.clients.jmx.slots import JmxTarget
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
    TooLargeError,
)
from kafka_warden.settings.secrets import Secret
from kafka_warden.settings.strict import reason

CONNECT_SECONDS: Final = 5.0
CHUNK: Final = 64 * 1024
"""Bytes that are read at once."""
MOST: Final = 256 << 20
"""Bytes of an answer. With a rule for everything, 10,000 replicas are some 10 MB."""


@contextlib.contextmanager
def answer(
    target: JmxTarget, path: str, body: bytes | None, seconds: float, context: ssl.SSLContext | None
) -> Iterator[Iterator[bytes]]:
    """Send a GET, or a POST of JSON where there is a `body`; yield the lines of the answer while they come.

    `seconds`: for all of it. `context`: of HTTPS. Variables that name a proxy have no effect.

    Raises:
        SourceError: there is no answer, or a refusal, by the cause. The iterator raises it too.
    """
    where, until = f"{target.host}:{target.port}", time.monotonic() + seconds
    connection = (
        http.client.HTTPConnection(target.host, target.port, timeout=CONNECT_SECONDS)
        if context is None
        else http.client.HTTPSConnection(target.host, target.port, timeout=CONNECT_SECONDS, context=context)
    )
    with contextlib.closing(connection), _failures(where):
        _connect(connection, where)
        # The response takes the socket over.
        sock = connection.sock
        _limit(sock, until)
        connection.request("GET" if body is None else "POST", path, body, _headers(target, body))
        with contextlib.closing(connection.getresponse()) as response:
            if response.status != HTTPStatus.OK:
                raise _refusal(response.status, where, path, target.user)
            yield _lines(response, lambda: _limit(sock, until), where)


def _connect(connection: http.client.HTTPConnection, where: str) -> None:
    try:
        connection.connect()
    except ssl.SSLError:
        raise
    except TimeoutError:
        raise ConnectTimeoutError(
            f"{where} did not accept a connection in time; is a firewall dropping packets?"
        ) from None
    except OSError as failure:
        raise RefusedError(
            f"{where} cannot be connected to ({reason(failure)}); does the agent run, and is the port right?"
        ) from None


def _limit(sock: socket.socket, until: float) -> None:
    """Let the next call on the socket take what is left of the time."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    sock.settimeout(left)


def _headers(target: JmxTarget, body: bytes | None) -> dict[str, str]:
    headers = {"Accept": "text/plain;version=0.0.4" if body is None else "application/json"}
    headers |= {"User-Agent": "kafka-warden"} | ({} if body is None else {"Content-Type": "application/json"})
    if target.user is not None and target.password is not None:
        pair = Secret(f"{target.user}:{target.password.read().reveal()}")
        encoded = Secret(base64.b64encode(pair.reveal().encode()).decode())
        headers["Authorization"] = f"Basic {encoded.reveal()}"
    return headers


def _lines(response: http.client.HTTPResponse, limit: Callable[[], None], where: str) -> Iterator[bytes]:
    """Yield the lines of an answer without their ends; one that is very long in parts."""
    size, rest = 0, b""
    with _failures(where):
        while part := response.read1(CHUNK):
            size += len(part)
            if size > MOST:
                raise TooLargeError(f"{where} answers with more than {MOST >> 20} MiB; write rules for its agent")
            *lines, rest = (rest + part).split(b"\n")
            yield from lines
            if len(rest) > CHUNK:
                yield rest
                rest = b""
            limit()
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        yield rest


@contextlib.contextmanager
def _failures(where: str) -> Iterator[None]:
    """Turn what the connection raises into a `SourceError`."""
    try:
        yield
    except TimeoutError:
        raise AnswerTimeoutError(
            f"{where} did not answer in time; write rules for its agent that leave out partitions"
        ) from None
    except ssl.SSLCertVerificationError as failure:
        raise TlsError(f"the certificate of {where} is not trusted ({failure.verify_message})") from None
    except ssl.SSLError as failure:
        raise TlsError(f"no TLS with {where} ({failure.reason}); does its agent use HTTPS?") from None
    except (OSError, http.client.HTTPException) as failure:
        raise ProtocolError(f"{where} does not answer in HTTP ({type(failure).__name__}); correct jmx.port") from None


def _refusal(status: int, where: str, path: str, user: str | None) -> SourceError:
    if status == HTTPStatus.UNAUTHORIZED:
        return AuthenticationError(f"{where} does not let {user or 'no user'} in; correct jmx.user and its password")
    if status == HTTPStatus.FORBIDDEN:
        return AuthorizationError(f"{where} does not let {user or 'no user'} read {path}")
    return ProtocolError(f"{where} answers {status} to {path}; correct jmx.path")
