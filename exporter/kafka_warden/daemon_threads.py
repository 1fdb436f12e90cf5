"""Threads for calls that block an event loop."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class DaemonThreads:
    """Runs blocking calls on daemon threads, a limited number at a time.

    The loop's default executor would do the same, but the interpreter waits for its threads at exit.
    """

    def __init__(self, most: int, name: str) -> None:
        self._free = asyncio.Semaphore(most)
        self._name = name

    async def run(self, call: Callable[[], T]) -> T:
        """Return what `call` returns, or raise what it raises. A caller that gives up does not stop the call.

        Raises:
            RuntimeError: no thread can start.
        """
        await self._free.acquire()
        loop, done = asyncio.get_running_loop(), Future[T]()
        done.set_running_or_notify_cancel()  # from now on it cannot be cancelled

        def work() -> None:
            try:
                done.set_result(call())
            except Exception as raised:  # noqa: BLE001  # handed to the caller
                done.set_exception(raised)
            except BaseException as raised:  # noqa: BLE001  # as it is, it would end the loop, or leave the caller waiting
                done.set_exception(RuntimeError(f"the call was ended by {type(raised).__name__}"))
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._free.release)

        try:
            threading.Thread(target=work, name=self._name, daemon=True).start()
        except BaseException:
            self._free.release()
            raise
        return await asyncio.wrap_future(done)
