"""The web server: hypercorn on an event loop in its own thread."""

import asyncio
import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog
from hypercorn.asyncio import serve
from hypercorn.config import Config, Sockets

from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.errors import ConfigError
from kafka_warden.page import PageHolder
from kafka_warden.settings.strict import Address
from kafka_warden.web.asgi import Application
from kafka_warden.web.connections import Connections, Listener, bind
from kafka_warden.web.current import CurrentWebFile
from kafka_warden.web.health import Health
from kafka_warden.web.hosts import HostNames, own_names
from kafka_warden.web.http1 import stay_on_http_1
from kafka_warden.web.responses import Site
from kafka_warden.web.rows import RowSite

_REAP_EVERY: Final = 1.0
READ_EVERY: Final = 1.0
"""Seconds between two looks for a change of the web configuration file and its certificates."""
LATE: Final = 30.0
"""Seconds without a turn of the event loop after which the process should be restarted."""
_GRACE: Final = 0.5
"""Seconds for open responses to end when the server stops."""
_START_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where and how to serve. Times in seconds."""

    listen: Address
    config_file: Path | None = None
    hosts: frozenset[str] = frozenset()
    """Public names of the server, in lower case; see `hosts.py`."""
    version: str = "unknown"
    connections: int = 64
    idle_timeout: float = 5.0
    """For the TLS handshake, for the header of a request, and between two requests."""
    answer_timeout: float = 8.0
    """For a client to read the next part of its response."""


class _HypercornConfig(Config):
    """hypercorn's configuration with our listener and TLS context."""

    include_server_header = False
    alpn_protocols = ["http/1.1"]  # noqa: RUF012  # as hypercorn declares it
    accesslog = None
    graceful_timeout = 2 * _GRACE
    backlog = 8
    """Connections that asyncio accepts in one turn of the event loop. The length of the queue is the listener's."""

    def __init__(self, settings: WebSettings, listener: Listener, context: ssl.SSLContext | None) -> None:
        self.keep_alive_timeout = settings.idle_timeout
        self.ssl_handshake_timeout = settings.idle_timeout
        self.errorlog = logging.getLogger("hypercorn.error")
        self._listener = listener
        self._context = context

    @property
    def ssl_enabled(self) -> bool:
        return self._context is not None

    def create_ssl_context(self) -> ssl.SSLContext | None:
        return self._context

    def create_sockets(self) -> Sockets:
        secure, insecure = ([self._listener], []) if self._context else ([], [self._listener])
        return Sockets(list(secure), list(insecure), [])


class WebServer:
    """Serves the holder's page until it is stopped.

    `health` runs on the server's loop and must not block. Other threads may read the counts of `connections` and
    `checks`, and what `current` has.
    """

    def __init__(self, settings: WebSettings, holder: PageHolder, *, health: Callable[[], Health]) -> None:
        self._settings = settings
        self.current = CurrentWebFile(settings.config_file)
        self.connections = Connections(
            settings.connections,
            idle=settings.idle_timeout,
            answer=settings.answer_timeout,
            handshakes=self.current.uses_tls,
        )
        site = Site(holder, health, RowSite(holder, settings.version), lambda: self.current.problem)
        names = HostNames(settings.hosts, own_names(settings.listen))
        self._app = Application(site, self.current, self.connections, names)
        self.checks = self._app.authenticator.checks
        self._files = DaemonThreads(1, "files")
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._started = threading.Event()
        self._turn_at: float | None = None
        self.failure: BaseException | None = None
        """The exception that ended the server; `None` after `stop`."""

    @property
    def scheme(self) -> str:
        """`https` where the web configuration file has TLS, else `http`."""
        return "https" if self.current.uses_tls else "http"

    def start(self) -> int:
        """Bind and serve; return the port.

        Raises:
            ConfigError: the server cannot listen on the address.
        """
        listener = bind(self._settings.listen, self.connections)
        port = listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(listener,), name="web", daemon=True)
        self._thread.start()
        started = self._started.wait(_START_TIMEOUT)
        if self.failure is not None:
            raise self.failure
        if not started:
            raise ConfigError(f"web.listen: the web server did not start within {_START_TIMEOUT:g} s")
        return int(port)

    def late(self) -> str | None:
        """Return for how long requests have not been served, if that is too long."""
        silent = time.monotonic() - self._turn_at if self._turn_at is not None else 0.0
        return f"the web server has served no request for {silent:.0f} s" if silent > LATE else None

    def stop(self, timeout: float = 2.0) -> None:
        """Stop accepting, wait half a second for open responses, close every connection. May be called twice."""
        if self._thread is None or self._loop is None or self._stop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout)

    def _run(self, listener: Listener) -> None:
        try:
            asyncio.run(self._serve(listener))
        except BaseException as failure:  # noqa: BLE001  # kept in `failure`; the thread ends here
            self.failure = failure
            _log().error("the web server failed", problem=repr(failure))
        finally:
            listener.close()
            self._started.set()

    async def _serve(self, listener: Listener) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_exception_handler(note_failure)
        context = self.current.switching_context() if self.current.uses_tls else None
        stay_on_http_1()
        self._tasks = [asyncio.create_task(self._learn_full_name())]
        if self._settings.config_file is not None:
            self._tasks.append(asyncio.create_task(self._watch()))
        config = _HypercornConfig(self._settings, listener, context)
        await serve(self._app, config, shutdown_trigger=self._until_stopped, mode="asgi")  # type: ignore[arg-type]  # hypercorn's TypedDicts

    async def _learn_full_name(self) -> None:
        with contextlib.suppress(RuntimeError):  # no thread can start now
            full_name = await self._files.run(socket.getfqdn)  # it may ask DNS, which may be slow
            self._app.host_names = HostNames(self._settings.hosts, own_names(self._settings.listen, full_name))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(READ_EVERY)
            with contextlib.suppress(RuntimeError):  # no thread can start now
                await self.refresh()

    async def refresh(self) -> None:
        """Read the web configuration file if it changed, and put it in force. Only this waits for the file."""
        new = await self._files.run(self.current.refresh)
        if new is not None and self.current.use(new):
            # All that are open now were accepted as the settings before said.
            self.connections.close_all()

    async def _until_stopped(self) -> None:
        # hypercorn awaits this once it listens, and stops when it returns. An exception here ends the server, too.
        self._started.set()
        while self._stop is not None and not self._stop.is_set():
            self._turn_at = time.monotonic()
            self.connections.reap()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_REAP_EVERY):
                    await self._stop.wait()
        # asyncio leaves a connection half made, and open, if it closes the listener in the turn after accepting it.
        self.connections.ending = True
        await asyncio.sleep(0)
        # From Python 3.12 on, closing the listener waits for every connection, however slow its client.
        asyncio.get_running_loop().call_later(_GRACE, self.connections.close_all)


def _log() -> Any:
    return structlog.get_logger(__name__)


def note_failure(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what a callback of the event loop raised."""
    failure = context.get("exception")
    if isinstance(failure, OSError | asyncio.CancelledError):
        # The client hung up, or its TLS handshake failed. Python 3.11 reports connections that are open at the end.
        _log().debug("a connection failed", problem=str(failure))
    else:
        _log().error("unexpected error in the web server", problem=context["message"], exc_info=failure)
