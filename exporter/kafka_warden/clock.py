"""The clock that everything which measures or waits takes as an argument, so that tests can run it in virtual time."""

import asyncio
import time


def monotonic() -> float:
    """Return seconds that never go back. On Linux they include the time in which the machine was suspended.

    CLOCK_MONOTONIC stands still then: a rate over a suspension would be too high.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """Three times of the machine, and the event loop whose timers follow them."""

    def monotonic(self) -> float:
        """Return seconds that never go back. All ages and deadlines use it."""
        return monotonic()

    def awake(self) -> float:
        """Return seconds that never go back, without those in which the machine was suspended."""
        return time.monotonic()

    def time(self) -> float:
        """Return Unix time in seconds."""
        return time.time()

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Make an event loop whose `time()` is `monotonic()`."""
        return _Loop()


class _Loop(asyncio.SelectorEventLoop):
    def time(self) -> float:
        return monotonic()
