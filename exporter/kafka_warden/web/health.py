"""The state of the program, for `/-/healthy` and `/-/ready`: the parts that must run, and polls that must end."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

SILENT: Final = 20.0
"""Seconds without a beat after which a loop counts as stuck."""

Parts = Mapping[str, Callable[[], bool]]
"""Name of a thread or task that runs as long as the process, and whether it still does."""


@dataclass(frozen=True, slots=True)
class Health:
    """`healthy` is false when a restart is needed. `reasons` are lines of text for people."""

    healthy: bool = True
    reasons: tuple[str, ...] = ()


class Beat:
    """Shows that a loop still runs. Seconds are of CLOCK_MONOTONIC: a suspended machine is not a stuck loop."""

    def __init__(self) -> None:
        self.mark()

    def mark(self) -> None:
        """Record one pass of the loop."""
        self._at = time.monotonic()

    def fresh(self) -> bool:
        """Return whether the last pass was less than `SILENT` ago."""
        return time.monotonic() - self._at < SILENT


class HealthCheck:
    """Checks all parts, and whether polls end. Safe in every thread, and never waits.

    `late` returns what is late, `note` what a person should know of a healthy process.
    """

    def __init__(self, late: Callable[[], str | None], note: Callable[[], str | None] = lambda: None) -> None:
        self.parts: dict[str, Callable[[], bool]] = {}
        self._late = late
        self._note = note

    def __call__(self) -> Health:
        """Return the health of the process now."""
        stopped = [f"{name}: stopped, or stuck" for name, alive in list(self.parts.items()) if not alive()]
        late, note = self._late(), self._note()
        wrong = (*stopped, *([late] if late else []))
        return Health(not wrong, (*wrong, *([note] if note else [])))
