"""`--every`: rounds of jobs until one fails, or until SIGTERM."""

import itertools
import os
import signal
import time
from collections.abc import Callable

import pytest

from kafka_warden.errors import ClockError, EmptyHistoryError
from kafka_warden.pipeline.loop import repeat


def rounds(*outcomes: int | Exception | None) -> tuple[Callable[[], int], list[float]]:
    """A run with these outcomes, in which None is a SIGTERM to this process; and the times of its calls."""
    left, began = iter(outcomes), list[float]()

    def run() -> int:
        began.append(time.monotonic())
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            os.kill(os.getpid(), signal.SIGTERM)
        return outcome or 0

    return run, began


def test_rounds_go_on_until_one_fails() -> None:
    """One each period; a landing zone without a file is said and tried again; the exit code is that of the failure."""
    run, began = rounds(0, EmptyHistoryError("nothing here"), ClockError("all ahead"), 3)
    said: list[str] = []
    assert repeat(run, 0.05, said.append) == 3
    assert [later - before >= 0.05 for before, later in itertools.pairwise(began)] == [True, True, True]
    assert said == [f"{what}; the next round looks again" for what in ("nothing here", "all ahead")]


@pytest.mark.parametrize("every", [0.0, 3600.0])
def test_sigterm_ends_it_after_the_round(every: float) -> None:
    """With exit code 0, and at once in a pause; the handler before is back."""
    before = signal.getsignal(signal.SIGTERM)
    run, began = rounds(None)
    assert repeat(run, every, print) == 0
    assert len(began) == 1
    assert signal.getsignal(signal.SIGTERM) is before
