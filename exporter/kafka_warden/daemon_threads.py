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
        self._free = most
        self._waiting: dict[asyncio.Future[None], float] = {}
        """What waits for a thread, and its rank."""
        self._name = name

    async def run(self, call: Callable[[], T], rank: float = 0) -> T:
        """Return what `call` returns, or raise what it raises. A caller that gives up does not stop the call.

        Of those that wait for a thread, the lowest `rank` is next, and the first of these.

        Raises:
            RuntimeError: no thread can start.
        """
        await self._take_thread(rank)
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
                loop.call_soon_threadsafe(self._give_back)

        try:
            threading.Thread(target=work, name=self._name, daemon=True).start()
        except BaseException:
            self._give_back()
            raise
        return await asyncio.wrap_future(done)

    async def _take_thread(self, rank: float) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = rank
        try:
            await turn
        except BaseException:
            self._waiting.pop(turn, None)
            if not turn.cancelled():  # the turn came in the moment of the cancellation
                self._give_back()
            raise

    def _give_back(self) -> None:
        waiting = [turn for turn in self._waiting if not turn.done()]  # a cancelled one may not be awake yet
        if not waiting:
            self._free += 1
            return
        turn = min(waiting, key=lambda each: self._waiting[each])
        del self._waiting[turn]
        turn.set_result(None)
