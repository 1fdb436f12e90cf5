"""Asks a running sidecar over HTTP, on a thread: one connection, and limits for time and size of an answer."""

import asyncio
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import SplitResult

from kafka_warden.clients.http import TimeLimit, connection, parts
from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.errors import NoAnswerError
from kafka_warden.settings.secrets import SecretSource, basic_authorization
from kafka_warden.settings.strict import reason

SECONDS: Final = 10.0
"""Longest time for one answer."""
LARGEST: Final = 32 << 20
"""Bytes of one answer. A table of 1,000 rows has at most some MB."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of `/api/v1`. `clock` is the Unix time on the machine that answered."""

    status: int
    body: bytes
    clock: float


Get = Callable[[str], Coroutine[Any, Any, Answer]]
"""Asks for a path below `/api/v1/`, with its query. Raises NoAnswerError."""


@dataclass(frozen=True, slots=True)
class Login:
    """Basic authentication."""

    user: str
    password: SecretSource


class Client:
    """The sidecar at one address. Redirects are not followed and no proxy is used: the password goes to this host."""

    def __init__(
        self, url: SplitResult, tls: ssl.SSLContext | None, login: Login | None, seconds: float = SECONDS
    ) -> None:
        self._url, self._tls, self._login, self._seconds = url, tls, login, seconds
        self._base = f"{url.path.rstrip('/')}/api/v1/"
        self._threads = DaemonThreads(1, "top")

    async def get(self, path: str) -> Answer:
        """Ask for a path.

        Raises:
            NoAnswerError: there is no answer in time, or none of a web server; the message says why.
            SecretError: the file with the password cannot be used.
        """
        try:
            async with asyncio.timeout(self._seconds):  # also for the lookup of the name
                return await self._threads.run(lambda: self._ask(path))
        except ssl.SSLCertVerificationError as failure:
            raise NoAnswerError(f"its certificate is not trusted: {failure.verify_message}") from None
        except (OSError, http.client.HTTPException) as failure:
            raise NoAnswerError(self._explained(failure)) from None

    def _ask(self, path: str) -> Answer:
        headers = {"Accept": "application/json", "Connection": "close", "User-Agent": "kafka-warden-top"}
        if self._login is not None:
            # Read each time, since the file may have been replaced.
            headers["Authorization"] = basic_authorization(self._login.user, self._login.password.read()).reveal()
        host, port = self._url.hostname or "", self._url.port or (443 if self._tls else 80)
        limit = TimeLimit(self._seconds)
        with limit, closing(connection(limit, host, port, timeout=self._seconds, context=self._tls)) as asked:
            asked.request("GET", self._base + path, headers=headers)
            response = asked.getresponse()
            large = f"its answer has more than {LARGEST >> 20} MiB: this is no sidecar"
            body = b"".join(parts(response, LARGEST, NoAnswerError(large)))
            return Answer(response.status, body, _clock(response.headers.get("Date")))

    def _explained(self, failure: Exception) -> str:
        hint = "Is the address http://, or --cert missing?" if self._tls else "Is the address https://?"
        texts: tuple[tuple[type[Exception], str], ...] = (
            (ssl.SSLError, f"TLS failed ({getattr(failure, 'reason', '')}). {hint}"),
            (TimeoutError, f"no answer within {self._seconds:g} s"),
            (socket.gaierror, "the host name does not resolve"),
            (ConnectionRefusedError, "nothing listens there: connection refused"),
            (ConnectionError, f"it closed the connection without a whole answer. {hint}"),
            (http.client.IncompleteRead, "it closed the connection within the answer"),
            (http.client.HTTPException, "the answer is not HTTP"),
            (OSError, reason(failure)),
        )
        return next(text for kind, text in texts if isinstance(failure, kind))


def _clock(date: str | None) -> float:
    """Return the server's time: its clock and ours may differ, and the age of data must not."""
    try:
        return parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        return time.time()
