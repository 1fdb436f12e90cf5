"""Signals of a command: Ctrl-C ends it at once, SIGTERM ends a loop (`--every`) after the round that runs."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

from kafka_warden.errors import ClockError, EmptyHistoryError

CODE: Final = 128 + signal.SIGINT
"""Exit code of a process that SIGINT ended, as in shells."""

_SLICE: Final = 0.5
"""Seconds in which the end of a pause is noticed."""


def install() -> None:
    """End this process at Ctrl-C. Each new Spark session replaces the handler, so call this again after it."""
    signal.signal(signal.SIGINT, _end)


@contextmanager
def installed() -> Iterator[None]:
    """Install the handler, and restore the one before when the block ends."""
    before = signal.getsignal(signal.SIGINT)
    install()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    # An exception would interrupt a call to the JVM; Py4J prints its stack and takes it for a failure.
    # The JVM ends with this process, which holds its standard input.
    line = "\n" if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{line}kafka-warden: interrupted\n".encode())
    os._exit(CODE)


def repeat(run: Callable[[], int], every: float, report: Callable[[str], None]) -> int:
    """Call `run` every so many seconds, without a pause if it takes longer; return its first exit code other than 0.

    A landing zone that has no file yet, or only messages that are ahead of the clock, is a round without work.
    """
    with _stopped_by(signal.SIGTERM) as is_stopped:
        while not is_stopped():
            due = time.monotonic() + every
            try:
                code = run()
            except (EmptyHistoryError, ClockError) as nothing:
                report(f"{nothing}; the next round looks again")
                code = 0
            if code:
                return code
            while not is_stopped() and time.monotonic() < due:
                time.sleep(min(_SLICE, max(due - time.monotonic(), 0.0)))
    return 0


@contextmanager
def _stopped_by(number: signal.Signals) -> Iterator[Callable[[], bool]]:
    """Return, within the block, whether a signal arrived."""
    arrived: list[int] = []

    def stop(signum: int, _frame: FrameType | None) -> None:
        arrived.append(signum)

    before = signal.signal(number, stop)
    try:
        yield lambda: bool(arrived)
    finally:
        signal.signal(number, before)
