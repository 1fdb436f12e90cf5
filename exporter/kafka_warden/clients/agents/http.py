"""One HTTP request to an agent. It blocks."""

import contextlib
import http.client
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from kafka_warden.clients.http import CHUNK, TimeLimit, connection, explained, parts
from kafka_warden.clients.jmx.session import JmxTarget
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
from kafka_warden.formatting import in_bytes
from kafka_warden.settings.secrets import Secret, basic_authorization
from kafka_warden.settings.strict import reason

CONNECT_SECONDS: Final = 5.0


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
    """Send a GET, or a POST of JSON where there is a `body`; yield the answer in parts, while it comes.

    `seconds`: for all of it, after the connection. `context`: of HTTPS. `most`: bytes. Variables that name a proxy have
    no effect.

    Raises:
        SourceError: there is no answer, or a refusal, by the cause. The iterator raises it too.
    """
    where, limit = f"{target.host}:{target.port}", TimeLimit(seconds)
    asked = connection(limit, target.host, target.port, timeout=CONNECT_SECONDS, context=context)
    with contextlib.closing(asked), _failures(where):
        _connect(asked, where)
        asked.sock.settimeout(seconds)
        with limit:
            asked.request("GET" if body is None else "POST", path, body, _headers(target, body, password))
            with contextlib.closing(asked.getresponse()) as response:
                if response.status != HTTPStatus.OK:
                    raise _refusal(response.status, where, path, target.user)
                large = f"{where} answers with more than {in_bytes(most)}; write rules for its agent"
                yield parts(response, most, TooLargeError(large))


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


def lines(body: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of an answer, which comes in parts, without their ends; one that is very long in parts."""
    rest = b""
    for part in body:
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
        if len(rest) > CHUNK:
            yield rest
            rest = b""
    yield rest


@contextlib.contextmanager
def _failures(where: str) -> Iterator[None]:
    """Turn what the connection raises into a `SourceError`."""
    kind: type[SourceError]
    try:
        yield
    except (OSError, http.client.HTTPException) as failure:
        if isinstance(failure, TimeoutError):
            kind, fix = AnswerTimeoutError, "write rules for its agent that leave out partitions"
        elif isinstance(failure, ssl.SSLError):
            kind, fix = TlsError, "does its agent use HTTPS, with a certificate that jmx.tls.ca_file has signed?"
        else:
            kind, fix = ProtocolError, "correct jmx.port"
        raise kind(f"{where}: {explained(failure)}; {fix}") from None


def _refusal(status: int, where: str, path: str, user: str | None) -> SourceError:
    if status == HTTPStatus.UNAUTHORIZED:
        return AuthenticationError(f"{where} does not let {user or 'no user'} in; correct jmx.user and its password")
    if status == HTTPStatus.FORBIDDEN:
        return AuthorizationError(f"{where} does not let {user or 'no user'} read {path}; let it, in its agent")
    return ProtocolError(f"{where} answers {status} to {path}; correct jmx.path")
