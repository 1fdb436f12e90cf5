"""The web server: uvicorn's protocol on an event loop in its own thread."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.errors import ConfigError
from kafka_warden.exposition import PageHolder
from kafka_warden.lifecycle import Health
from kafka_warden.settings.strict import Address
from kafka_warden.web.connections import PENDING, Listener, Protocols, bind
from kafka_warden.web.current import CurrentWebFile, SwitchingContext
from kafka_warden.web.site import HostNames, Site

READ_EVERY: Final = 1.0
"""Seconds between two looks for a change of the web configuration file and its certificates."""
LATE: Final = 30.0
"""Seconds without a turn of the event loop after which the process should be restarted."""
_TURN_EVERY: Final = 1.0
_GRACE: Final = 0.5
"""Seconds for open responses to end when the server stops."""
_START_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where and how to serve. Times in seconds."""

    listen: Address
    config_file: Path | None = None
    hosts: frozenset[str] = frozenset()
    """Public names of the server, in lower case; see `site.py`."""
    version: str = "unknown"
    connections: int = 1000
    """A connection costs up to 200 kB, so this limit is one of memory, too."""
    idle_timeout: float = 5.0
    """For the TLS handshake, for a request, and between two requests."""
    answer_timeout: float = 8.0
    """For a client to read the next part of its response."""


class WebServer:
    """Serves the holder's page until it is stopped.

    `health` runs on the server's loop and must not block. Other threads may read the counts, and what `current` has.
    """

    def __init__(self, settings: WebSettings, holder: PageHolder, *, health: Callable[[], Health]) -> None:
        self._settings = settings
        self.current = CurrentWebFile(settings.config_file)
        self._site = Site(holder, health, self.current, self._names(), settings.version)
        self.logins = self._site.logins
        self._protocols = Protocols(self._site, settings.idle_timeout, settings.answer_timeout)
        self._listener: Listener | None = None
        self._files = DaemonThreads(1, "files")
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._started = threading.Event()
        self._turn_at: float | None = None
        self.connections = 0
        """Open ones, as counted a second ago at most: other threads must not read the listener's set."""
        self.failure: BaseException | None = None
        """The exception that ended the server; `None` after `stop`."""

    @property
    def closed(self) -> Mapping[str, int]:
        """Return how many connections the server has closed, by reason."""
        refused = self._listener.refused if self._listener is not None else 0
        return {"limit": refused, "timeout": self._protocols.timed_out}

    def start(self) -> int:
        """Bind and serve; return the port.

        Raises:
            ConfigError: the server cannot listen on the address.
        """
        self._listener = bind(self._settings.listen, self._settings.connections)
        port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(self._listener,), name="web", daemon=True)
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
        secure: dict[str, Any] = {}
        if self.current.loaded.context is not None:
            context = SwitchingContext(ssl.PROTOCOL_TLS_SERVER)
            context.web = self.current
            secure = {"ssl": context, "ssl_handshake_timeout": self._settings.idle_timeout}
        server = await self._loop.create_server(self._protocols, sock=listener, backlog=PENDING, **secure)
        self._tasks = [asyncio.create_task(self._learn_full_name())]
        if self._settings.config_file is not None:
            self._tasks.append(asyncio.create_task(self._watch()))
        self._started.set()
        while not self._stop.is_set():
            self._turn_at, self.connections = time.monotonic(), len(listener.open())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TURN_EVERY):
                    await self._stop.wait()
        # asyncio leaves a connection half made, and open, if it closes the listener in the turn after accepting it.
        listener.most = 0
        await asyncio.sleep(0)
        server.close()
        if answering := self._protocols.state.tasks:
            await asyncio.wait(answering, timeout=_GRACE)
        listener.close_all()

    def _names(self, *others: str) -> HostNames:
        own = (socket.gethostname(), self._settings.listen.host, *others)
        return HostNames(self._settings.hosts, frozenset(name.lower() for name in own))

    async def _learn_full_name(self) -> None:
        with contextlib.suppress(RuntimeError):  # no thread can start now
            # It may ask DNS, which may be slow.
            self._site.names = self._names(await self._files.run(socket.getfqdn))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(READ_EVERY)
            with contextlib.suppress(RuntimeError):  # no thread can start now
                await self.refresh()

    async def refresh(self) -> None:
        """Read the web configuration file if it changed, and put it in force. Only this waits for the file."""
        new = await self._files.run(self.current.refresh)
        if new is not None and self.current.use(new) and self._listener is not None:
            # All that are open now were accepted as the settings before said.
            self._listener.close_all()


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
