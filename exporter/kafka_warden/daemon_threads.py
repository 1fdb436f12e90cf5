"""Threads for calls that block an event loop."""

import asyncio
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Rank = float | tuple[float, ...]


class DaemonThreads:
    """Runs blocking calls on daemon threads, a limited number at a time. Without calls there are none.

    The loop's default executor would do the same, but the interpreter waits for its threads at exit.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._running = 0
        self._calls: list[tuple[Rank, int, Callable[[], Any], Future[Any]]] = []
        """What waits for a thread: rank, number, call and its result."""
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T], rank: Rank = 0) -> T:
        """Do the same as `submit`, and return what `call` returns, or raise what it raises."""
        return await asyncio.wrap_future(self.submit(call, rank))

    def submit(self, call: Callable[[], T], rank: Rank = 0) -> Future[T]:
        """Return the future result of `call`. A caller that gives up does not stop the call.

        Of those that wait for a thread, the lowest `rank` is next, and the first of these.

        Raises:
            RuntimeError: no thread can start, and none runs.
        """
        done = Future[T]()
        with self._lock:
            if self._running < self._most:
                try:
                    threading.Thread(target=self._work, name=self._name, daemon=True).start()
                    self._running += 1
                except RuntimeError:
                    if not self._running:
                        raise
            # A caller that gave up must not leave its call here: all threads may hang for long.
            self._calls = [each for each in self._calls if not each[-1].cancelled()]
            self._calls.append((rank, next(self._numbers), call, done))
        return done

    def _work(self) -> None:
        while (taken := self._next()) is not None:
            call, done = taken
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(call())
            except Exception as raised:  # noqa: BLE001  # handed to the caller
                done.set_exception(raised)
            except BaseException as raised:  # noqa: BLE001  # as it is, it would end the loop, or leave the caller waiting
                done.set_exception(RuntimeError(f"the call was ended by {type(raised).__name__}"))

    def _next(self) -> tuple[Callable[[], Any], Future[Any]] | None:
        with self._lock:
            if not self._calls:
                self._running -= 1
                return None
            self._calls.remove(first := min(self._calls))
            return first[2:]
