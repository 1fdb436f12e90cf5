"""SIGTERM ends the process within 5 s, in any state, and the state is saved."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from bench.procfs import children
from sandbox import wait_for
from tests.cluster.sidecar import SLOW_MACHINE, STOP_WITHIN
from tests.scheduling.ordered import Ordered, Start, configuration, is_saved
from tests.support.scripted import ScriptedCluster

pytestmark = pytest.mark.realtime


def end(sidecar: Ordered) -> None:
    code, seconds = sidecar.stop()
    print(f"code {code} after {seconds:.2f} s")
    assert (code, seconds < STOP_WITHIN) == (0, True), sidecar.log


def hang_brokers(sidecar: Ordered, brokers: ScriptedCluster) -> None:
    brokers.do("forget")
    brokers.rule(hang=True)
    wait_for(brokers.seen, SLOW_MACHINE, "a request hangs")


def send_garbage(sidecar: Ordered, brokers: ScriptedCluster) -> None:
    brokers.do("forget")
    brokers.rule(raw=b"\xff" * 1000, repeat=1000)
    brokers.do("disconnect", broker=1)
    wait_for(brokers.seen, SLOW_MACHINE, "garbage arrives")


def hang_child(sidecar: Ordered, brokers: ScriptedCluster) -> None:
    for child in children(sidecar.process.pid):
        os.kill(child, signal.SIGSTOP)


def block_stderr(sidecar: Ordered, brokers: ScriptedCluster) -> None:
    sidecar.done("stderr")
    brokers.rule(error=-1)
    wait_for(lambda: sidecar.done("list"), SLOW_MACHINE)


TROUBLES: Final[dict[str, Callable[[Ordered, ScriptedCluster], object]]] = {
    "hung brokers": hang_brokers,
    "garbage": send_garbage,
    "hung JMX child": hang_child,
    "blocked stderr": block_stderr,
    "no thread": lambda sidecar, _: sidecar.done("full"),
    "slow disk": lambda sidecar, _: sidecar.done("disk"),
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_whatever_hangs(
    start: Start, brokers: ScriptedCluster, trouble: Callable[[Ordered, ScriptedCluster], object]
) -> None:
    sidecar = start({"jmx": {"brokers": {1: "127.0.0.1:1"}}} if trouble is hang_child else {})
    sidecar.forget_state()
    trouble(sidecar, brokers)
    end(sidecar)
    assert is_saved(sidecar)


@pytest.mark.parametrize("bootstrap", ["hung brokers", "hang:9092"])
def test_during_the_first_poll(start: Start, brokers: ScriptedCluster, bootstrap: str) -> None:
    brokers.rule(hang=True)
    kafka = {"bootstrap.servers": bootstrap} if ":" in bootstrap else {}
    sidecar = start({"kafka": kafka, "poll": {"interval": "60s", "deadline": "50s"}}, ready=False)
    sidecar.state.write_text("{}")
    expected = "resolve" if kafka else "polls"
    wait_for(lambda: expected in sidecar.done("list")["threads"] or brokers.seen(), SLOW_MACHINE, "it polls")
    end(sidecar)
    assert sidecar.state.read_text() == "{}"


def test_before_it_listens(brokers: ScriptedCluster, tmp_path: Path) -> None:
    sidecar = Ordered(configuration(brokers, web={"listen": "hang:1"}), tmp_path)
    with ThreadPoolExecutor(1) as threads:
        entered = threads.submit(sidecar.__enter__)
        wait_for(lambda: sidecar.folder.joinpath("sidecar.log").exists(), SLOW_MACHINE)
        wait_for(lambda: "signals" in sidecar.done("list")["threads"], SLOW_MACHINE, "it receives signals")
        end(sidecar)
        with pytest.raises(AssertionError, match="ended with code 0"):
            entered.result()


def test_a_state_that_cannot_be_written(start: Start) -> None:
    sidecar = start()
    sidecar.forget_state()
    sidecar.state.mkdir()
    end(sidecar)
    assert "the state file cannot be written" in sidecar.log
