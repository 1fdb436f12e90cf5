"""The whole process: every thread and task that must run, and how it ends."""

import signal
import time
from typing import Final

import pytest

from sandbox import wait_for
from tests.cluster.sidecar import SLOW_MACHINE
from tests.scheduling.ordered import Ordered, Start, is_saved

PATIENT: Final = "set kafka_warden.app.UNHEALTHY_SECONDS 600"
HASTY: Final = "set kafka_warden.app.UNHEALTHY_SECONDS 0"

WATCHED: Final = ("history-parquet", "polls_0", "network", "APScheduler", "watchdog", "signals")
"""Threads that `/-/healthy` names. Each ends while those after it still run."""

FATAL: Final = ("thread MainThread", "thread web", "task WebServer._serve")
"""What ends the process at once."""

BREAK_TURN: Final = "set kafka_warden.web.server.asyncio 0"
"""Raises in the task that serves."""

OTHERS: Final = {"thread jmx_0", "thread jmx child", "thread jmx child stderr"}
"""JMX: a thread for each poll, and the child, which is replaced."""


def everything(sidecar: Ordered) -> set[str]:
    found = sidecar.done("list")
    return {f"task {name}" for name in found["tasks"]} | {f"thread {name}" for name in found["threads"]} - OTHERS


def assert_lasting(sidecar: Ordered, expected: set[str]) -> None:
    """Leave out what is not there every time: tasks of polls and requests."""
    left = everything(sidecar)
    until = time.monotonic() + SLOW_MACHINE
    while left > expected and time.monotonic() < until:
        left &= everything(sidecar)
    assert left == expected, "add a new one to the lists, and watch it"


@pytest.mark.realtime
def test_every_thread_that_ends_is_named(start: Start) -> None:
    sidecar = start({"history": {"parquet": {"path": "history"}}, "jmx": {"brokers": {1: "127.0.0.1:1"}}})
    assert_lasting(sidecar, {*(f"thread {name}" for name in WATCHED), *FATAL})
    assert sidecar.health() == (200, "healthy\n")
    sidecar.done(PATIENT)
    sidecar.forget_state()
    dead: set[str] = set()
    for name in WATCHED:
        began = time.monotonic()
        sidecar.done(f"thread {name}")
        if name == "signals":
            sidecar.process.send_signal(signal.SIGHUP)
        dead.add(f"the thread {name} has ended")
        wait_for(lambda: dead < set(sidecar.health()[1].splitlines()), SLOW_MACHINE, f"{name} is named")
        status, text = sidecar.health()
        print(f"{name}: {status} after {time.monotonic() - began:.1f} s: {text.splitlines()}")
        assert (status, text.splitlines()[0]) == (503, "not healthy")
    assert sidecar.get("/metrics")[0] == 200
    assert sidecar.stop()[0] == 0
    assert is_saved(sidecar)


@pytest.mark.realtime
@pytest.mark.parametrize("victim", [*FATAL, BREAK_TURN])
def test_what_the_process_cannot_live_without_ends_it(start: Start, victim: str) -> None:
    sidecar = start()
    sidecar.forget_state()
    began = time.monotonic()
    sidecar.order(victim)
    assert sidecar.process.wait(SLOW_MACHINE) == 1
    print(f"{victim}: exit code 1 after {time.monotonic() - began:.1f} s")
    assert is_saved(sidecar)


@pytest.mark.realtime
def test_the_end_does_not_wait_for_the_interpreter(start: Start) -> None:
    """What is registered with `atexit` does not run: on a busy machine the interpreter needs 10 s for its end."""
    sidecar = start()
    sidecar.done("atexit")
    assert sidecar.stop()[0] == 0
    assert " event=stopped" in sidecar.log
    assert "atexit" not in sidecar.log


@pytest.mark.realtime
def test_a_process_that_stays_unhealthy_ends(start: Start) -> None:
    sidecar = start()
    sidecar.forget_state()
    sidecar.done(HASTY)
    sidecar.order("thread network")
    assert sidecar.process.wait(SLOW_MACHINE) == 1
    assert is_saved(sidecar)
    assert "the thread network has ended" in sidecar.log
    assert "most recent call first" in sidecar.log


@pytest.mark.realtime
def test_a_log_that_is_not_read_does_not_keep_an_unhealthy_process(start: Start) -> None:
    sidecar = start()
    sidecar.forget_state()
    sidecar.done(PATIENT)
    sidecar.done("thread network")
    wait_for(lambda: sidecar.health()[0] == 503, SLOW_MACHINE, "it is unhealthy")
    sidecar.done("stderr")
    sidecar.order(HASTY)
    assert sidecar.process.wait(SLOW_MACHINE) == 1
    assert is_saved(sidecar)
