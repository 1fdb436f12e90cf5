"""Runs the jobs of a command again and again (`--every`). SIGTERM ends it after the round that runs."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from kafka_warden.errors import ClockError, EmptyHistoryError

_SLICE: Final = 0.5
"""Seconds in which the end of a pause is noticed."""


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
