"""One HTTP request to an agent, with a time limit for the whole answer. It blocks."""

import contextlib
import http.client
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from kafka_warden.clients.jmx.session import JmxTarget
from kafka_warden.clients.time_limit import TimeLimit
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
from kafka_warden.settings.secrets import Secret, basic_authorization
from kafka_warden.settings.strict import reason

CONNECT_SECONDS: Final = 5.0
CHUNK: Final = 64 * 1024
"""Bytes that are read at once."""


@contextlib.contextmanager
def answer(
    target: JmxTarget,
    path: str,
    body: bytes | None,
    password: Secret | None,
    seconds: float,
    context: ssl.SSLContext | None,
    most: int,
) -> Iterator[Iterator[bytes]]:
    """Send a GET, or a POST of JSON where there is a `body`; yield the lines of the answer while they come.

    `seconds`: for all of it, after the connection. `context`: of HTTPS. `most`: bytes. Variables that name a proxy have
    no effect.

    Raises:
        SourceError: there is no answer, or a refusal, by the cause. The iterator raises it too.
    """
    where, limit = f"{target.host}:{target.port}", TimeLimit(seconds)
    connection = (
        http.client.HTTPConnection(target.host, target.port, timeout=CONNECT_SECONDS)
        if context is None
        else http.client.HTTPSConnection(target.host, target.port, timeout=CONNECT_SECONDS, context=context)
    )
    with contextlib.closing(connection), _failures(where, limit):
        _connect(connection, where)
        connection.sock.settimeout(seconds)
        with limit:
            limit.use(connection.sock)
            connection.request("GET" if body is None else "POST", path, body, _headers(target, body, password))
            with contextlib.closing(connection.getresponse()) as response:
                if response.status != HTTPStatus.OK:
                    raise _refusal(response.status, where, path, target.user)
                yield _lines(response, limit, where, most)


def _connect(connection: http.client.HTTPConnection, where: str) -> None:
    try:
        connection.connect()
    except ssl.SSLError:
        raise
    except TimeoutError:
        raise ConnectTimeoutError(
            f"{where} did not accept a connection in time; look for a firewall on the way"
        ) from None
    except OSError as failure:
        raise RefusedError(
            f"{where} cannot be connected to ({reason(failure)}); does the agent run, and is the port right?"
        ) from None


def _headers(target: JmxTarget, body: bytes | None, password: Secret | None) -> dict[str, str]:
    headers = {"Accept": "text/plain;version=0.0.4" if body is None else "application/json"}
    headers |= {"User-Agent": "kafka-warden"} | ({} if body is None else {"Content-Type": "application/json"})
    if target.user is not None and password is not None:
        headers["Authorization"] = basic_authorization(target.user, password).reveal()
    return headers


def _lines(response: http.client.HTTPResponse, limit: TimeLimit, where: str, most: int) -> Iterator[bytes]:
    """Yield the lines of an answer without their ends; one that is very long in parts."""
    size, rest = 0, b""
    with _failures(where, limit):
        while part := response.read1(CHUNK):
            size += len(part)
            if size > most:
                raise TooLargeError(f"{where} answers with more than {most >> 20} MiB; write rules for its agent")
            *lines, rest = (rest + part).split(b"\n")
            yield from lines
            if len(rest) > CHUNK:
                yield rest
                rest = b""
        if limit.late:
            raise TimeoutError
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        yield rest


@contextlib.contextmanager
def _failures(where: str, limit: TimeLimit) -> Iterator[None]:
    """Turn what the connection raises into a `SourceError`."""
    try:
        yield
    except (OSError, http.client.HTTPException) as failure:
        raise _fault(failure, where, late=limit.late) from None


def _fault(failure: Exception, where: str, *, late: bool) -> SourceError:
    if late or isinstance(failure, TimeoutError):
        return AnswerTimeoutError(
            f"{where} did not answer in time; write rules for its agent that leave out partitions"
        )
    if isinstance(failure, ssl.SSLCertVerificationError):
        return TlsError(f"the certificate of {where} is not trusted ({failure.verify_message})")
    if isinstance(failure, ssl.SSLError):
        return TlsError(f"no TLS with {where} ({failure.reason}); does its agent use HTTPS?")
    return ProtocolError(f"{where} does not answer in HTTP ({type(failure).__name__}); correct jmx.port")


def _refusal(status: int, where: str, path: str, user: str | None) -> SourceError:
    if status == HTTPStatus.UNAUTHORIZED:
        return AuthenticationError(f"{where} does not let {user or 'no user'} in; correct jmx.user and its password")
    if status == HTTPStatus.FORBIDDEN:
        return AuthorizationError(f"{where} does not let {user or 'no user'} read {path}; let it, in its agent")
    return ProtocolError(f"{where} answers {status} to {path}; correct jmx.path")
