"""The files that two values pass, as docs/architecture.md lists them: traced in a cycle on scripted brokers.

A file is on the way if one of its functions has the value in hand, or calls one that has: in a variable, an argument or
a result, as the frame, a column, a number or a text with it. `ELSEWHERE` are files that take it for another result.
"""

import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import numpy as np
import pytest

from kafka_warden.derive.stuck import Cause
from tests.poller.polling import INTERVAL, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

ARCHITECTURE: Final = Path(__file__).parents[1] / "docs" / "architecture.md"
HOUSE: Final = "kafka_warden."
POLLS: Final = 8
END, LAG = 7_654_321, 1_234_567
"""Messages; no other number of the cluster is one of these, or their difference."""
BYTES: Final = 100 * LAG
"""What the adding replica lacks: the brokers' records have 100 bytes."""
ELSEWHERE: Final = {
    "Replica lag": "catalogue/moves catalogue/replication derive/inbound derive/moves derive/replica_state "
    "derive/replica_time",
    "The cause of a stuck move": "arrays catalogue/metric catalogue/replicas catalogue/replication derive/etas "
    "derive/move_totals derive/throttle_problems derive/throttle_use views/recent",
}
"""Way to the files that compute or show something else with it."""


class Tracer:
    """Notes the modules on the stack of each call that returns with the value in hand."""

    def __init__(self, carries: Callable[[Any], bool]) -> None:
        self.modules: set[str] = set()
        self.on = False
        self._carries = carries

    def __call__(self, frame: FrameType | None, event: str, result: Any) -> None:
        if (
            self.on
            and event == "return"
            and any(map(self._carries, (result, *(frame.f_locals if frame else {}).values())))
        ):
            while frame is not None and (module := str(frame.f_globals.get("__name__"))).startswith(HOUSE):
                self.modules.add(module.removeprefix(HOUSE).replace(".", "/") + ".py")
                frame = frame.f_back


def lag_in(value: Any) -> bool:
    """Both log ends, as in the frame or as a number, and their difference."""
    numbers = (END, END - LAG, LAG)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "if" and bool(np.isin(value, numbers).any())
    if isinstance(value, bytes | bytearray):
        return str(LAG).encode() in value or any(number.to_bytes(8, "big") in value for number in numbers)
    return str(LAG) in value if isinstance(value, str) else type(value) in (int, float) and value in numbers


def cause_in(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "if" and bool((value == BYTES).any())
    if isinstance(value, str | bytes) and not isinstance(value, Cause):
        return Cause.NO_PROGRESS in (value if isinstance(value, str) else value.decode(errors="replace"))
    return value is Cause.NO_PROGRESS or (type(value) is float and value == BYTES)


@pytest.fixture
def trace(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Callable[[Callable[[Any], bool]], set[str]]]:
    """Returns the files that the last of some cycles passes. Broker 3 is being added, and gets nothing."""

    def run(carries: Callable[[Any], bool]) -> set[str]:
        tracer = Tracer(carries)
        threading.setprofile(tracer)  # before the poller starts its thread
        sys.setprofile(tracer)
        brokers.controller()
        moves = {0: {"adding": [3], "removing": [2]}}
        brokers.topic("a", [[1, 2, 3]], isr=[[1, 2]], end=END, lag={3: LAG}, moves=moves)
        with polling(brokers, clock) as polled:
            cycle = polled.cycle()
            for poll in range(POLLS):
                clock.advance(INTERVAL)
                tracer.on = poll == POLLS - 1
                cycle.once()
            tracer.on = False
        return tracer.modules

    yield run
    sys.setprofile(None)
    threading.setprofile(None)


@pytest.mark.parametrize(
    ("name", "carries", "most"), [("Replica lag", lag_in, 18), ("The cause of a stuck move", cause_in, 12)]
)
def test_the_way_of_a_value(
    trace: Callable[[Callable[[Any], bool]], set[str]], name: str, carries: Callable[[Any], bool], most: int
) -> None:
    listed, passed = listed_below(name), trace(carries)
    if carries is cause_in:
        passed = {file for file in passed if not file.startswith(("clients/", "sources/", "poller/", "model."))}
    assert passed - {f"{file}.py" for file in ELSEWHERE[name].split()} == set(listed)
    assert len(listed) <= most


def test_the_files_of_an_alert_exist() -> None:
    listed = listed_below("An alert")
    assert len(listed) > 5
    assert [file for file in listed if not (ARCHITECTURE.parents[1] / file).exists()] == []


def listed_below(name: str) -> list[str]:
    (section,) = re.findall(rf"^### {name}\b.*\n((?:.*\n)+?)(?:#|\Z)", ARCHITECTURE.read_text(), re.MULTILINE)
    return re.findall(r"^\d+\. `([\w/.]+)`", section, re.MULTILINE)
