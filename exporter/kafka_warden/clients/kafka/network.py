"""The event loop that all broker links share, in a thread of its own. Touches kafka-python's internals."""

import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from kafka.future import Future
from kafka.net.selector import NetworkSelector

T = TypeVar("T")

RESOLVERS: Final = 4
"""Names are resolved on threads, since getaddrinfo blocks for as long as the resolver likes."""


class Network:
    """kafka-python's selector with the few verbs that sources need. All `timeout_at` are monotonic seconds."""

    def __init__(self, client_id: str) -> None:
        # A reply of 10,000 partitions takes longer to decode than the 0.1 s that the selector warns about.
        self.selector: Any = NetworkSelector(client_id=client_id, slow_task_threshold_secs=0)
        self._resolver = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolve")
        self.selector.start()

    def run(self, coroutine: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop and wait for it, from any other thread."""
        result: T = self.selector.run(coroutine)
        return result

    def spawn(self, coroutine: Callable[[], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        """Start a coroutine on the loop; await the result as often as you like, from the loop."""
        started: Awaitable[T] = self.selector.call_soon_with_future(coroutine)
        return started

    def event(self) -> Any:
        """Return a one-shot event: `success(value)` sets it, `await` waits for it."""
        return Future()

    async def first(self, awaitable: Any, timeout_at: float) -> None:
        """Wait until a future of `spawn` or `event` is done or the time has come, whichever is first. Never raises."""
        if awaitable.is_done:
            return
        either = Future()

        def settle(_: Any = None) -> None:
            if not either.is_done:
                either.success(None)

        awaitable.add_both(settle)
        timer = self.selector.call_at(timeout_at, settle)
        await either
        self.selector.cancel(timer)

    async def resolve(self, host: str, port: int, timeout_at: float) -> list[Any]:
        """Addresses of a name, as `socket.getaddrinfo` gives them.

        Raises:
            OSError: the name does not resolve, or not in time.
        """
        try:
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            return await self._resolve_name(host, port, timeout_at)

    async def _resolve_name(self, host: str, port: int, timeout_at: float) -> list[Any]:
        resolved = Future()

        def publish(done: ThreadFuture[list[Any]]) -> None:
            if not done.cancelled():
                self.selector.call_soon_threadsafe(lambda: None if resolved.is_done else resolved.success(done))

        lookup = self._resolver.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        lookup.add_done_callback(publish)
        await self.first(resolved, timeout_at)
        if not resolved.is_done:
            # One that has not begun must not wait in front of the next poll's, for a resolver that is down.
            lookup.cancel()
            raise TimeoutError(f"no answer to the look-up of {host!r} in time")
        addresses: list[Any] = resolved.value.result()
        return addresses

    def close(self) -> None:
        """Stop the loop. Open links must be closed before."""
        self._resolver.shutdown(wait=False, cancel_futures=True)
        self.selector.stop(timeout_ms=1000)
        self.selector.close()


def remaining(timeout_at: float) -> float:
    """Seconds until a monotonic time, never negative."""
    return max(0.0, timeout_at - time.monotonic())
