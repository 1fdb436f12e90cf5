"""The whole process: every thread and task that must run, and how it ends."""

import signal
from typing import Any, Final

import pytest

from sandbox import wait_for
from tests.cluster.sidecar import SLOW_MACHINE
from tests.scheduling.ordered import Ordered, Start, is_saved

PATIENT: Final = "set kafka_warden.app.UNHEALTHY_SECONDS 600"
HASTY: Final = "set kafka_warden.app.UNHEALTHY_SECONDS 0"

HISTORY: Final = {"history": {"parquet": {"path": "history"}}}
JMX: Final = {"jmx": {"brokers": {1: "127.0.0.1:1"}}}

POLLING: Final = {
    "thread ThreadPoolExecutor-0_0": "polls",
    "thread network": "network",
    "thread APScheduler": "schedule",
    "thread watchdog": "watchdog",
    "thread signals": "signals",
    "task WebServer._reap": "web",
}
"""What runs as long as the process, and its name in `/-/healthy`. Each ends while those below it still run."""

FATAL: Final = ("thread MainThread", "thread web", "task WebServer._serve")
"""What ends the process at once."""

OTHERS: Final = {
    *("thread jmx child", "thread jmx child stderr", "thread bcrypt_0"),
    *("task Lifespan.handle_lifespan", "task raise_shutdown", "task EventWrapper.wait"),
    *("task worker_serve.<locals>._server_callback", "task TCPServer._idle_timeout"),
}
"""The JMX child, which is replaced; checks of passwords; tasks of hypercorn for the end or for one connection."""


def everything(sidecar: Ordered) -> set[str]:
    """Names of all threads and tasks."""
    found = sidecar.done("list")
    return {f"thread {name}" for name in found["threads"]} | {f"task {name}" for name in found["tasks"]}


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("sections", "watched", "victims"),
    [
        (HISTORY, {"thread history-parquet": "history-parquet", **POLLING}, None),
        (JMX, {"thread jmx_0": "jmx", **POLLING}, ["thread jmx_0"]),
    ],
    ids=["history", "jmx"],
)
def test_every_thread_and_task_that_ends_is_named(
    start: Start, sections: dict[str, Any], watched: dict[str, str], victims: list[str] | None
) -> None:
    """One after the other, until none is left. `/metrics` is served, and SIGTERM still saves the state."""
    sidecar = start(sections)
    wait_for(lambda: is_saved(sidecar), SLOW_MACHINE, "the state was saved once")
    assert everything(sidecar) - OTHERS == {*watched, *FATAL}, "add a new one to the lists, and watch it"
    sidecar.done(PATIENT)
    sidecar.state.unlink()
    dead: set[str] = set()
    for victim in victims or watched:
        name = watched[victim]
        sidecar.done(victim)
        if name == "signals":
            sidecar.process.send_signal(signal.SIGHUP)
        dead.add(f"{name}: stopped, or stuck")
        wait_for(lambda: dead < set(sidecar.health()[1].splitlines()), SLOW_MACHINE, f"{victim} is named")
        status, text = sidecar.health()
        print(f"{victim}: {status} {text.splitlines()}")
        assert (status, set(text.splitlines()) - dead) == (503, {"not healthy"})
    assert sidecar.get("/metrics")[0] == 200
    sidecar.process.send_signal(signal.SIGTERM)
    assert sidecar.process.wait(SLOW_MACHINE) == 0
    assert is_saved(sidecar)


@pytest.mark.realtime
@pytest.mark.parametrize("victim", FATAL)
def test_what_the_process_cannot_live_without_ends_it(start: Start, victim: str) -> None:
    """With exit code 1 and its state saved."""
    sidecar = start()
    wait_for(lambda: is_saved(sidecar), SLOW_MACHINE, "the state was saved once")
    sidecar.state.unlink()
    sidecar.order(victim)
    assert sidecar.process.wait(SLOW_MACHINE) == 1
    assert is_saved(sidecar)


@pytest.mark.realtime
def test_a_process_that_stays_unhealthy_ends(start: Start) -> None:
    """With exit code 1, its state saved, the reason in the log, and where every thread is."""
    sidecar = start()
    wait_for(lambda: is_saved(sidecar), SLOW_MACHINE, "the state was saved once")
    sidecar.done(HASTY)
    sidecar.state.unlink()
    sidecar.order("thread network")
    assert sidecar.process.wait(SLOW_MACHINE) == 1
    assert is_saved(sidecar)
    assert "network: stopped, or stuck" in sidecar.log
    assert "most recent call first" in sidecar.log
