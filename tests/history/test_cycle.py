"""The cycle and history: what is recorded, the status of sinks, and history that is off."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_warden import cycle as cycle_module
from kafka_warden.config import load
from kafka_warden.cycle import Cycle
from kafka_warden.derive import derive
from kafka_warden.errors import ConfigError
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.recorder import Recorder
from kafka_warden.installed import check_installed
from kafka_warden.model import Parameters, Snapshot
from kafka_warden.parts import make_history
from kafka_warden.state import StateFile
from tests import scene
from tests.building import Partition, snapshot
from tests.history.replay import differences, replay, rows
from tests.history.test_recorder import BlockedSink
from tests.support.processes import checked
from tests.support.scripted import VirtualClock

ROOT = Path(__file__).parents[2]
BOOTSTRAP = {"--bootstrap-servers": "127.0.0.1:1"}


def seen(number: int, began: float) -> Snapshot:
    """A replica that falls behind and leaves the ISR; ten polls per second."""
    lagging = Partition(end=1000 + number, lag={2: number}, out=(2,))
    return snapshot({"t": [lagging]}, clock=began + number / 10, time=1e9 + number / 10)


def run(began: float, numbers: range, state: Path | None = None) -> tuple[Cycle, list[Poll]]:
    turns = [seen(number, began) for number in numbers]
    sink = BlockedSink("kept", is_open=True)
    history = Recorder([sink])
    poller: Any = SimpleNamespace(
        poll=lambda _: turns.pop(0),
        bootstrap=frozenset(),
    )
    file = StateFile(state) if state is not None else None
    cycle = Cycle(poller, Parameters(), scene.BUILD, file, history)
    history.start()
    for _ in numbers:
        cycle.once()
    cycle.save()
    history.stop(10.0)
    return cycle, sink.polls


def test_every_cycle_is_recorded_with_its_memory(tmp_path: Path) -> None:
    """A first process starts without memory, a second one with the state file; both can be replayed from their rows."""
    state, began = tmp_path / "state", time.monotonic()
    cycle, first = run(began, range(4), state)
    assert [poll.remembered for poll in first] == [Remembered.NOTHING, *[Remembered.KEPT] * 3]
    assert cycle.holder.page is not None
    assert 'kafka_warden_sink_up{sink="kept"} 1' in cycle.holder.page.text.decode()

    _, second = run(began, range(4, 8), state)
    assert [poll.remembered for poll in second] == [Remembered.RESTORED, *[Remembered.KEPT] * 3]
    assert second[0].restored is not None
    assert [poll.restored for poll in second[1:]] == [None] * 3
    assert {poll.run for poll in first} & {poll.run for poll in second} == set()
    for polls in (first, second):
        kept = [rows(poll) for poll in polls]
        for before, again in zip(kept, replay(kept), strict=True):
            assert differences(before, rows(again)) == []
    # Without the state file the second process would have said something else.
    assert rows(second[0])["replicas"]["out_seconds"] != rows(run(began, range(4, 5))[1][0])["replicas"]["out_seconds"]


def test_a_state_file_of_another_cluster_is_not_recorded(tmp_path: Path) -> None:
    state, began = tmp_path / "state", time.monotonic()
    run(began, range(3), state)
    document = json.loads(state.read_text())
    state.write_text(json.dumps({**document, "cluster_id": "another"}))
    _, polls = run(began, range(3, 5), state)
    assert [poll.remembered for poll in polls] == [Remembered.NOTHING, Remembered.KEPT]
    assert polls[0].restored is None


def test_after_a_failure_evaluation_starts_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A poll that cannot be evaluated leaves a gap in the sequence, and the next one is recorded as without memory."""
    judge = derive
    calls: list[int] = []

    def fails_once(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise ZeroDivisionError
        return judge(*arguments)

    monkeypatch.setattr(cycle_module, "derive", fails_once)
    _, polls = run(time.monotonic(), range(5))
    kept, nothing = Remembered.KEPT, Remembered.NOTHING
    assert [poll.remembered for poll in polls] == [nothing, kept, nothing, kept]
    assert [replace(poll.snapshot, status={}).time for poll in polls] == [1e9 + n / 10 for n in (0, 1, 3, 4)]


def test_a_poll_is_recorded_with_the_parameters_of_its_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """While polls take longer than `poll.interval`, too: otherwise a replay has other verdicts."""
    evaluated: list[Parameters] = []

    def noted(*arguments: Any) -> Any:
        evaluated.append(arguments[2])
        return derive(*arguments)

    monkeypatch.setattr(cycle_module, "derive", noted)
    clock, sink = VirtualClock(), BlockedSink("kept", is_open=True)

    def slow(_: float) -> Snapshot:
        taken = snapshot({"t": [Partition()]}, clock=clock.monotonic(), time=clock.time())
        clock.advance(35.0)
        return taken

    history = Recorder([sink])
    poller: Any = SimpleNamespace(poll=slow, bootstrap=frozenset())
    cycle = Cycle(poller, Parameters(poll_interval=10.0), scene.BUILD, None, history, clock)
    history.start()
    for _ in range(5):
        cycle.once()
    history.stop(10.0)
    assert [poll.parameters for poll in sink.polls] == evaluated
    assert evaluated[-1] == Parameters(poll_interval=40.0)


def test_history_is_off_by_default() -> None:
    assert make_history(load(BOOTSTRAP, {})) is None


@pytest.mark.parametrize(
    ("variable", "loaded"),
    [
        ("", []),
        ("KAFKA_WARDEN_HISTORY_PARQUET_PATH", ["pyarrow"]),
        ("KAFKA_WARDEN_HISTORY_KAFKA_TOPIC", ["confluent_kafka"]),
    ],
)
def test_libraries_are_imported_when_they_are_used(variable: str, loaded: list[str]) -> None:
    code = (
        "import sys; from kafka_warden.parts import make_history; from kafka_warden.config import load\n"
        f"make_history(load({BOOTSTRAP}, {{{variable!r}: 'history'}} if {variable!r} else {{}}))\n"
        "print(*sorted({'confluent_kafka', 'pyarrow'} & set(sys.modules)))"
    )
    assert checked(sys.executable, "-c", code, cwd=ROOT).split() == loaded


def test_a_missing_library_is_reported_at_the_start() -> None:
    check_installed("history.parquet.path", "pyarrow", "history")
    with pytest.raises(ConfigError, match=r"^x.y: needs no_such_library, .*: in a checkout pip install '\.\[extra\]'$"):
        check_installed("x.y", "no_such_library", "extra")
