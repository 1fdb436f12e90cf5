"""The clock that everything which measures or waits takes as an argument, so that tests can run it in virtual time."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Two times and the event loop whose timers follow them."""

    def monotonic(self) -> float:
        """Return seconds that never go back. All ages and deadlines use it."""

    def time(self) -> float:
        """Return Unix time in seconds."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Make an event loop whose `time()` is `monotonic()`."""


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def time(self) -> float:
        """Return Unix time in seconds."""
        return time.time()

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Make asyncio's own event loop, whose time is the monotonic clock."""
        return asyncio.new_event_loop()
