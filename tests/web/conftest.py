"""A real web server on a free port of loopback, and clients that are plain sockets."""

import asyncio
import contextlib
import math
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench import procfs
from kafka_warden.exposition import Page, PageHolder, pack
from kafka_warden.lifecycle import Health
from kafka_warden.settings.strict import Address
from kafka_warden.web import server
from kafka_warden.web.server import WebServer, WebSettings
from sandbox.browser import Page as Browser
from sandbox.browser import opened
from sandbox.certificates import HERE, Authority
from tests.support import status_rows

PAGE = Page(
    text_gzip=pack([b"text 1\n" * 1000]),
    openmetrics_gzip=pack([b"openmetrics\n# EOF\n"]),
    views=status_rows.blind().views,
)
TIMEOUT = 60.0
VIOLATIONS = "window.violations"
_WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", event => violations.push(event.violatedDirective));
"""


@dataclass(frozen=True)
class Answer:
    """A response as it came over the wire; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Served:
    """A running server and what it serves; change `holder` and `health` at will."""

    server: WebServer
    port: int
    holder: PageHolder
    health: list[Health]
    opened: list[socket.socket] = field(default_factory=list)

    def connect(self, context: ssl.SSLContext | None = None, source: str = "127.0.0.1") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), TIMEOUT, source_address=(source, 0))
        self.opened.append(connection)
        if context is not None:
            connection = context.wrap_socket(connection, server_hostname="localhost")
            self.opened.append(connection)
        return connection

    def get(
        self,
        path: str = "/metrics",
        *headers: str,
        method: str = "GET",
        context: ssl.SSLContext | None = None,
        host: str | None = "localhost",
    ) -> Answer:
        with self.connect(context) as connection:
            connection.sendall(request(path, "Connection: close", *headers, method=method, host=host))
            return parse(read_all(connection))

    def refresh(self) -> None:
        assert self.server._loop is not None
        asyncio.run_coroutine_threadsafe(self.server.refresh(), self.server._loop).result(TIMEOUT)

    def descriptors(self) -> int:
        return procfs.descriptors(os.getpid()) - sum(client.fileno() >= 0 for client in self.opened)


Serve = Callable[..., Served]
"""Starts a server with these settings."""


def request(path: str, *headers: str, method: str = "GET", host: str | None = "localhost") -> bytes:
    """A request; without a host it is one of HTTP/1.0."""
    version, named = ("1.0", []) if host is None else ("1.1", [f"Host: {host}"])
    return "\r\n".join([f"{method} {path} HTTP/{version}", *named, *headers, "", ""]).encode()


def read_all(connection: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            received += part
    return received


def parse(received: bytes) -> Answer:
    if not received:
        raise ConnectionError("the server hung up without an answer")
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return Answer(int(status.split()[1]), {name.lower(): value for name, value in headers.items()}, body)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start servers, which read their configuration file by `refresh` only; all are stopped with the test."""
    monkeypatch.setattr(server, "READ_EVERY", math.inf)
    running: list[Served] = []

    def start(config_file: Path | None = None, **settings: Any) -> Served:
        holder, health = PageHolder(PAGE, ready=True), [Health()]
        listen = WebSettings(Address("127.0.0.1", 0), config_file, version="1.2<3>", **settings)
        made = WebServer(listen, holder, health=lambda: health[0])
        served = Served(made, made.start(), holder, health)
        running.append(served)
        return served

    yield start
    for served in running:
        served.server.stop(TIMEOUT)
        for connection in served.opened:
            connection.close()


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path, "authority")
    made.issue("server", hosts=HERE)
    return made


@contextlib.contextmanager
def watching(profile: Path) -> Iterator[Browser]:
    """Start a browser that reaches loopback, and notes in `VIOLATIONS` what the policy of each page refuses."""
    with opened(profile, offline=False) as page:
        page.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        yield page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with watching(tmp_path_factory.mktemp("browser")) as page:
        yield page


@contextlib.contextmanager
def javascript(browser: Browser, *, on: bool) -> Iterator[None]:
    """Switch the scripts of pages on or off, until the end."""
    browser.call("Emulation.setScriptExecutionDisabled", value=not on)
    try:
        yield
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.fixture
def address(served: Served, browser: Browser) -> Iterator[str]:
    """Where the page is served, until the test ends: a page that stayed open would miss its server."""
    yield f"http://127.0.0.1:{served.port}/"
    browser.visit("about:blank")
