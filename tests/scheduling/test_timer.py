"""When polls start: the schedule, and the watchdog when the wall clock is set back."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from apscheduler.schedulers import base as scheduler_module
from apscheduler.triggers import interval
from structlog.testing import capture_logs

from kafka_warden.timer import SOON, Timer
from sandbox import wait_for
from tests.support.scripted import VirtualClock

INTERVAL = 0.1
"""Seconds. The watchdog looks at the clock twice per interval, in real time."""

WITHIN = 30.0


class Calls:
    """Counts polls and calls of `expire`."""

    def __init__(self) -> None:
        self.polls = 0
        self.expired = 0

    def poll(self) -> None:
        self.polls += 1

    def expire(self) -> None:
        self.expired += 1

    def watchdog_looked(self) -> None:
        before = self.expired
        wait_for(lambda: self.expired >= before + 2, WITHIN)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> VirtualClock:
    """A clock for the timer, and for APScheduler, which takes the time from `datetime`."""
    made = VirtualClock()

    class Virtual(dt.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> dt.datetime:  # type: ignore[override]  # whatever the caller asks for
            return dt.datetime.fromtimestamp(made.time(), tz)

    for module in (scheduler_module, interval):
        monkeypatch.setattr(module, "datetime", Virtual)
    return made


@contextmanager
def running(calls: Calls, clock: VirtualClock, expire: Callable[[], None] | None = None) -> Iterator[Timer]:
    timer = Timer(calls.poll, expire or calls.expire, INTERVAL, clock)
    timer.start()
    try:
        wait_for(lambda: calls.polls == 1, WITHIN)
        yield timer
    finally:
        timer.stop()
        timer.join(WITHIN)


def test_a_poll_starts_within_two_intervals_when_the_wall_clock_was_set_back(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """APScheduler alone would wait for an hour. The message says what happened. A start that fails is repeated."""
    calls = Calls()
    with capture_logs() as logs, running(calls, clock) as timer:
        clock.set_wall(-3600.0)
        clock.advance(1.9 * INTERVAL)
        calls.watchdog_looked()
        assert calls.polls == 1

        with monkeypatch.context() as broken:
            broken.setattr(timer._scheduler, "modify_job", None)
            clock.advance(0.2 * INTERVAL)
            calls.watchdog_looked()
        wait_for(lambda: calls.polls == 2, WITHIN)
    assert "was the clock set back?" in logs[0]["event"]


def test_after_the_watchdog_the_schedule_goes_on(clock: VirtualClock) -> None:
    calls = Calls()
    with capture_logs() as logs, running(calls, clock):
        clock.set_wall(-3600.0)
        clock.advance(2.1 * INTERVAL)
        wait_for(lambda: calls.polls == 2, WITHIN)
        clock.advance(1.1 * INTERVAL)
        wait_for(lambda: calls.polls == 3, WITHIN)
    assert len(logs) == 1


def test_old_numbers_are_removed_between_polls(clock: VirtualClock) -> None:
    calls = Calls()

    def fails() -> None:
        calls.expire()
        raise ZeroDivisionError

    with capture_logs() as logs, running(calls, clock, fails):
        calls.watchdog_looked()
    assert calls.polls == 1
    assert {entry["log_level"] for entry in logs} == {"error"}


def test_the_next_poll_is_hastened(clock: VirtualClock) -> None:
    calls = Calls()
    timer = Timer(calls.poll, calls.expire, 30.0, clock)
    timer.start()

    def due() -> float:
        return float(timer._scheduler.get_job("poll").next_run_time.timestamp()) - clock.time()

    try:
        wait_for(lambda: calls.polls == 1 and due() == pytest.approx(30.0), WITHIN)
        timer.hasten()
        assert due() == pytest.approx(SOON)
        clock.advance(0.5 * SOON)
        timer.hasten()
        assert due() == pytest.approx(0.5 * SOON)
        clock.advance(SOON)
        timer._scheduler.wakeup()
        wait_for(lambda: calls.polls == 2 and due() == pytest.approx(30.0 - 0.5 * SOON), WITHIN)
        timer.hasten()
        assert due() > SOON
    finally:
        timer.stop()
        timer.join(WITHIN)
    timer.hasten()


@pytest.mark.parametrize(("interval", "most"), [(10.0, 60.0), (30.0, 90.0)])
def test_polls_that_do_not_end_are_late(clock: VirtualClock, interval: float, most: float) -> None:
    timer = Timer(lambda: None, lambda: None, INTERVAL, clock)
    clock.advance(most)
    assert timer.late(interval) is None
    clock.advance(1.0)
    assert timer.late(interval) == f"no poll has ended for {most + 1:.0f} s"


def test_a_suspension_makes_no_poll_late(clock: VirtualClock) -> None:
    calls = Calls()
    with capture_logs(), running(calls, clock) as timer:
        clock.suspend(8 * 3600.0)
        assert timer.late(10.0) is None
        wait_for(lambda: calls.polls > 1, WITHIN)


def test_no_poll_starts_after_stop(clock: VirtualClock) -> None:
    calls = Calls()
    with running(calls, clock) as timer:
        pass
    clock.advance(10 * INTERVAL)
    timer._once()
    assert calls.polls == 1


def test_a_change_is_made_before_the_next_poll(clock: VirtualClock) -> None:
    calls = Calls()
    made: list[int] = []

    def change() -> None:
        made.append(calls.polls)
        timer.reschedule(5.0)

    with running(calls, clock) as timer:
        timer.before_next(lambda: made.append(-1))
        timer.before_next(change)
        clock.advance(1.1 * INTERVAL)
        wait_for(lambda: calls.polls == 2, WITHIN)
        clock.advance(4.9)
        calls.watchdog_looked()
        assert (made, calls.polls, timer.interval) == ([1], 2, 5.0)
        clock.advance(0.2)
        wait_for(lambda: calls.polls == 3, WITHIN)
