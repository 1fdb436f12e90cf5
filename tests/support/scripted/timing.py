"""The clock of the scripted brokers."""

import asyncio
import time


class Time:
    """Seconds since the start; or what a test sets, from the first time that it does."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._set: float | None = None
        self._waiting: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return time.monotonic() - self._began if self._set is None else self._set

    def set(self, now: float) -> None:
        """Set the time; those whose wait ends by then go on."""
        self._set = now
        for until, waiting in self._waiting:
            if until <= now and not waiting.done():
                waiting.set_result(None)
        self._waiting = [each for each in self._waiting if not each[1].done()]

    def next(self) -> float | None:
        """Return when the first wait ends, of those that end when a test sets the time."""
        return min((until for until, waiting in self._waiting if not waiting.done()), default=None)

    async def sleep(self, seconds: float) -> None:
        if seconds > 0 and self._set is None:
            await asyncio.sleep(seconds)
        elif seconds > 0:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((self.now() + seconds, waiting))
            await waiting
