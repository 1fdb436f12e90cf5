"""`--every`: rounds of jobs until one fails, or until SIGTERM."""

import os
import signal
from collections.abc import Callable

import pytest

from kafka_warden.errors import ClockError, EmptyHistoryError
from kafka_warden.pipeline import signals
from kafka_warden.pipeline.signals import repeat


class Clock:
    """In place of the module `time`: a pause takes no time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(signals, "time", clock)
    return clock


def rounds(
    clock: Clock, *outcomes: int | Exception | None, takes: float = 0.0
) -> tuple[Callable[[], int], list[float]]:
    """A run with these outcomes, in which None is a SIGTERM to this process; and the times of its calls."""
    left, began = iter(outcomes), list[float]()

    def run() -> int:
        began.append(clock.now)
        clock.now += takes
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            os.kill(os.getpid(), signal.SIGTERM)
        return outcome or 0

    return run, began


@pytest.mark.parametrize(("takes", "period"), [(0.0, 60.0), (45.0, 60.0), (90.0, 90.0)])
def test_rounds_go_on_until_one_fails(clock: Clock, takes: float, period: float) -> None:
    run, began = rounds(clock, 0, EmptyHistoryError("nothing here"), ClockError("all ahead"), 3, takes=takes)
    said: list[str] = []
    assert repeat(run, 60.0, said.append) == 3
    assert began == [0.0, period, 2 * period, 3 * period]
    assert said == [f"{what}; the next round looks again" for what in ("nothing here", "all ahead")]


@pytest.mark.parametrize("every", [0.0, 3600.0])
def test_sigterm_ends_it_after_the_round(clock: Clock, every: float) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run, began = rounds(clock, None)
    assert repeat(run, every, print) == 0
    assert (len(began), clock.now) == (1, 0.0)
    assert signal.getsignal(signal.SIGTERM) is before
