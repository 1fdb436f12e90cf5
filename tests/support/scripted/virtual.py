"""Virtual time for code on an asyncio loop that talks to scripted brokers.

The loop of a `VirtualClock` runs at full speed. When nothing is left to do, neither on the loop nor at the brokers, the
clock jumps to the loop's next timer. A wait of an hour takes no time, and none ends early on a slow machine.
"""

import asyncio
import selectors
import threading
from typing import Final

from kafka_warden.clock import Clock
from tests.support.scripted.cluster import ScriptedCluster

LOOKS: Final = 3
"""How often everything must be idle in a row before the clock jumps."""

LOOK_SECONDS: Final = 0.002

HELPERS: Final = frozenset({"hash", "kerberos", "resolve", "token"})
"""Names of the poller's threads whose work the loop waits for."""


class VirtualClock(Clock):
    """A clock that a test sets. The brokers follow it."""

    def __init__(self, brokers: ScriptedCluster | None = None, monotonic: float = 1000.0, wall: float = 1.7e9) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._brokers = brokers
        self._suspended = 0.0
        self.advance(0.0)

    def monotonic(self) -> float:
        return self._monotonic

    def awake(self) -> float:
        """Return monotonic seconds without those of `suspend`."""
        return self._monotonic - self._suspended

    def time(self) -> float:
        return self._wall

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return _VirtualLoop(self)

    def advance(self, seconds: float) -> None:
        self._monotonic += seconds
        self._wall += seconds
        if self._brokers is not None:
            self._brokers.do("time", now=self._monotonic)

    def suspend(self, seconds: float) -> None:
        """Let time pass for all except `awake`."""
        self._suspended += seconds
        self.advance(seconds)

    def set_wall(self, seconds: float) -> None:
        """Set the wall clock forward by so many seconds; back when negative."""
        self._wall += seconds

    def busy(self) -> bool:
        """Return whether a thread works for the loop."""
        return any(thread.name in HELPERS for thread in threading.enumerate())

    def brokers_sleep_for(self) -> float:
        """Wait until the brokers have done all that they can do now; return in how many seconds they do more."""
        until = self._brokers.do("idle") if self._brokers is not None else None
        return float("inf") if until is None else max(until - self._monotonic, 0.0)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        self._virtual = clock
        super().__init__(_JumpingSelector(clock))

    def time(self) -> float:
        return self._virtual.monotonic()


class _JumpingSelector(selectors.PollSelector):
    """Waits in virtual time."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; let time pass when nothing is and nothing is under way."""
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        looks = 0
        while looks < LOOKS:
            looks = 0 if self._clock.busy() else looks + 1
            sleep = self._clock.brokers_sleep_for()
            if ready := super().select(LOOK_SECONDS):
                return ready
        self._clock.advance(min(timeout, sleep))
        return []
