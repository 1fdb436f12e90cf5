"""The state of the program, for `/-/healthy` and `/-/ready`: the threads that must run, and polls that must end."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

AT_START: Final = ("signals", "APScheduler", "watchdog", "network", "web")
"""Names of the threads that run from the start on, besides those of history."""
LONG_LIVED: Final = ("MainThread", *AT_START, "polls", "history")
"""Starts of the names of all threads that run as long as the process."""


@dataclass(frozen=True, slots=True)
class Health:
    """`healthy` is false when a restart is needed. `reasons` are lines of text for people."""

    healthy: bool = True
    reasons: tuple[str, ...] = ()


class HealthCheck:
    """Checks that threads run and polls end. Safe in every thread, and never waits.

    Each `late` returns what is late, each of `notes` what people should know of a healthy process.
    """

    def __init__(self, *late: Callable[[], str | None], notes: Sequence[Callable[[], str | None]] = ()) -> None:
        self._late = late
        self._notes = notes
        self.started: Sequence[str] = ()
        """Names of threads that were started: one that is not there has ended, also before the first call."""
        self._threads: set[threading.Thread] = set()

    def __call__(self) -> Health:
        """Return the health of the process now."""
        alive = {thread for thread in threading.enumerate() if thread.name.startswith(LONG_LIVED)}
        # A new set: other threads iterate the one before.
        known = self._threads = self._threads | alive
        ended = {each.name for each in known if not each.is_alive()} | {*self.started} - {each.name for each in known}
        wrong = [f"the thread {name} has ended" for name in sorted(ended)]
        wrong += filter(None, [late() for late in self._late])
        return Health(not wrong, (*wrong, *filter(None, [note() for note in self._notes])))
