"""The target `web`: any bytes on a connection to the web server, which asks for a password."""

import asyncio
import base64
import contextlib
import logging.handlers
import random
import socket
import sys
import tempfile
from pathlib import Path
from typing import Final

import bcrypt
import structlog.testing

from kafka_warden.exposition import Page, PageHolder, pack
from kafka_warden.lifecycle import Health
from kafka_warden.settings.strict import Address
from kafka_warden.web.server import WebServer, WebSettings
from tests.support import status_rows
from tests.support.fuzz.wire import mutated

USER: Final = base64.b64encode(b"scraper:canary").decode()
SECRET: Final = b"numbers of the page"
BEHIND_LOGIN: Final = (SECRET, b"<!DOCTYPE html", b'{"time":', b'{"openapi":')
"""What only a client with the password gets: `/metrics`, the status page, the API."""
WITHIN: Final = 60.0
"""Seconds for the answer to a right scrape."""
MOST_TASKS: Final = 150
"""Tasks of the server that are never exceeded: one for each request, and some others."""
SILENCE: Final = 0.05
"""Seconds after which no more answer is awaited for other bytes: the server may wait for the rest of a request."""
EVERY: Final = 20
"""Cases after which a right scrape must be answered."""
REQUESTS: Final = (
    f"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {USER}\r\n\r\n",
    "GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: application/openmetrics-text;q=0.5\r\nAccept-Encoding: gzip\r\n\r\n",
    "HEAD / HTTP/1.0\r\n\r\n",
    f"GET /?topic=a&moves=2 HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {USER}\r\n\r\n",
    f"GET /api/v1/sources?limit=1&broker=2 HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {USER}\r\n\r\n",
    f"GET /api/v1/history?side=leader HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {USER}\r\n\r\n",
    "GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n",
    "GET /-/healthy HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
)


class Web:
    """No bytes get the page without the password, keep the next scrape from being answered, or log an error."""

    def __init__(self) -> None:
        self._logs = contextlib.ExitStack()
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name, "web.yml")
        file.write_text(f"basic_auth_users: {{scraper: {bcrypt.hashpw(b'canary', bcrypt.gensalt(4)).decode()}}}\n")
        settings = WebSettings(Address("127.0.0.1", 0), file)
        page = Page(pack([SECRET]), pack([SECRET]), views=status_rows.blind().views)
        self._server = WebServer(settings, PageHolder(page, ready=True), health=Health)
        self._port = self._server.start()
        self._count = 0
        self._logged = self._logs.enter_context(structlog.testing.capture_logs())
        self._uvicorn = logging.handlers.BufferingHandler(sys.maxsize)
        self._uvicorn.setLevel(logging.ERROR)
        logging.getLogger("uvicorn.error").addHandler(self._uvicorn)

    def close(self) -> None:
        self._logs.close()
        logging.getLogger("uvicorn.error").removeHandler(self._uvicorn)
        self._server.stop(WITHIN)
        self._folder.cleanup()

    def make(self, chance: random.Random) -> bytes:
        """Mutate one to three requests that follow each other."""
        sent = "".join(chance.choices(REQUESTS, k=chance.randint(1, 3))).encode()
        return mutated(sent, chance) if chance.random() < 0.9 else sent

    def check(self, data: bytes) -> None:
        """Send the bytes; now and then, scrape."""
        received = self._exchange(data, SILENCE)
        self._check_log()
        assert USER.encode() in data or not any(part in received for part in BEHIND_LOGIN), received[:200]
        self._count += 1
        if self._count % EVERY == 0:
            assert self._exchange(REQUESTS[0].encode(), WITHIN).endswith(SECRET)
            for number, part in ((3, b"</html>"), (4, b"]}")):
                closing = REQUESTS[number].replace("Host: a", "Host: a\r\nConnection: close").encode()
                assert self._exchange(closing, WITHIN).rstrip().endswith(part)
            assert self._server.failure is None
            assert self._server._loop is not None
            assert len(asyncio.all_tasks(self._server._loop)) < MOST_TASKS

    def _check_log(self) -> None:
        errors = [entry for entry in self._logged if entry["log_level"] == "error"]
        errors += [vars(record) for record in self._uvicorn.buffer]
        self._logged.clear()
        self._uvicorn.flush()
        assert not errors, errors

    def _exchange(self, data: bytes, within: float) -> bytes:
        received = b""
        with socket.create_connection(("127.0.0.1", self._port), WITHIN) as connection, contextlib.suppress(OSError):
            connection.sendall(data)
            connection.settimeout(within)
            while not received.endswith(SECRET) and (part := connection.recv(1 << 16)):
                received += part
        return received
