"""The event loop that all broker links share, in a thread of its own."""

import asyncio
import contextlib
import math
import resource
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, Final, TypeVar

from kafka_warden.clock import Clock
from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.errors import PollAbandonedError

T = TypeVar("T")

RESOLVERS: Final = 4
"""Names that are looked up at a time, of those that were found before and of the others: getaddrinfo may block long."""

NAMES: Final = 10_000
"""Names that are remembered."""

KDC_CALLS: Final = 4
"""Calls of the Kerberos library at a time: while a KDC is silent, each of them waits for it."""

HASHERS: Final = 2
"""Passwords that are hashed at a time."""

DESCRIPTORS: Final = 0.75
"""Share of the process's file descriptors for connections to brokers: the page and its files need some, too."""

STOP_WITHIN: Final = 1.0
"""Seconds to wait for the loop's thread at the end."""


class Network:
    """An event loop in a thread. All `timeout_at` are seconds of its clock's monotonic time."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.descriptors = math.inf if limit == resource.RLIM_INFINITY else limit * DESCRIPTORS
        """No connection gets a file descriptor of this number or above."""
        self._loop = self.clock.new_event_loop()
        self._resolvers = {found: DaemonThreads(RESOLVERS, "resolve") for found in (True, False)}
        self._found: set[str] = set()
        self._lookups: dict[str, int] = {}
        """By name that was not found yet, how often it was looked up."""
        self.hashers = DaemonThreads(HASHERS, "hash")
        self.kerberos = DaemonThreads(KDC_CALLS, "kerberos")
        """Threads for calls of the Kerberos library. The callers limit their time."""
        self._thread = threading.Thread(target=self._run_loop, name="network", daemon=True)
        self._thread.start()

    def run(self, coroutine: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop and wait for its result, from any other thread.

        Raises:
            PollAbandonedError: the network was closed meanwhile.
        """
        started = coroutine()
        try:
            return asyncio.run_coroutine_threadsafe(started, self._loop).result()
        except (CancelledError, asyncio.CancelledError):
            raise PollAbandonedError("the network was closed") from None
        except RuntimeError:
            started.close()
            if self._loop.is_closed():
                raise PollAbandonedError("the network was closed") from None
            raise

    async def resolve(self, host: str, port: int) -> list[Any]:
        """Return the addresses of a name, as `socket.getaddrinfo` does. The caller limits the time.

        Names whose name server is silent take no thread from those that were found before, and new names go first.

        Raises:
            OSError: the name does not resolve.
        """
        try:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            return await self._look_up(host, port)

    async def _look_up(self, host: str, port: int) -> list[Any]:
        def look_up() -> list[Any]:
            self._lookups[host] = self._lookups.get(host, 0) + 1
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

        if len(self._lookups) + len(self._found) > NAMES:
            self._lookups.clear()
            self._found.clear()
        found = await self._resolvers[host in self._found].run(look_up, self._lookups.get(host, 0))
        self._found.add(host)
        self._lookups.pop(host, None)
        return found

    def post(self, call: Callable[[], None]) -> None:
        """Call this on the loop, without waiting for it. A loop that is closed does nothing."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    def close(self) -> None:
        """Stop the loop and cancel what still runs on it. Open links must be closed before."""
        self.post(self._loop.stop)
        self._thread.join(STOP_WITHIN)

    def _run_loop(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            # Also after an exception that ended the loop: callers of `run` must not wait for ever.
            if tasks := asyncio.all_tasks(self._loop):
                for task in tasks:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(tasks))
            self._loop.run_until_complete(asyncio.sleep(0))  # connections that were closed just now
            self._loop.close()
