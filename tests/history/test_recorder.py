"""Between poll and sink: nobody waits, nothing is lost without being counted, and the end comes in time."""

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import pytest

from kafka_warden.derive import derive
from kafka_warden.errors import SinkFullError
from kafka_warden.history import recorder as recorder_module
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.recorder import Recorder
from kafka_warden.history.schema import count
from kafka_warden.history.sink_stats import SinkStats
from kafka_warden.model import (
    ClientBean,
    FutureReplica,
    Parameters,
    ProcessBeans,
    QuotaEntity,
    Snapshot,
    TopicConfig,
)
from sandbox import wait_for
from tests.building import Partition, snapshot

SECONDS = 10.0
"""More than any of this takes."""


class Gate:
    """A sink that is stuck until it is let go."""

    def __init__(self, name: str = "gate", *, is_open: bool = False) -> None:
        self.stats = SinkStats(name)
        self.polls: list[Poll] = []
        self.entered = threading.Semaphore(0)
        self.idled = threading.Event()
        self.opened = threading.Event()
        self.closed: list[float] = []
        if is_open:
            self.opened.set()

    def write(self, poll: Poll) -> None:
        """Wait at the gate."""
        self.entered.release()
        assert self.opened.wait(SECONDS)
        self.polls.append(poll)

    def idle(self) -> None:
        """Note it."""
        self.idled.set()

    def close(self, until: float) -> None:
        """Note it."""
        self.closed.append(until)


@pytest.fixture
def recorders() -> Iterator[Callable[..., Recorder]]:
    """Make recorders that are stopped, and whose sinks are let go, when the test ends."""
    made: list[tuple[Recorder, tuple[Gate, ...]]] = []

    def make(*sinks: Gate, **settings: Any) -> Recorder:
        recorder = Recorder(sinks, Parameters(), **settings)
        made.append((recorder, sinks))
        return recorder

    yield make
    for recorder, sinks in made:
        for sink in sinks:
            sink.opened.set()
        recorder.stop(SECONDS)


def seen(clock: float) -> Snapshot:
    """One partition with three replicas: four rows that count for the queue."""
    return snapshot({"t": [Partition()]}, clock=clock)


def record(recorder: Recorder, *clocks: float, remembered: Remembered = Remembered.KEPT) -> None:
    """Let it take polls."""
    for clock in clocks:
        recorder.record(seen(clock), derive(seen(clock), None, Parameters())[1], remembered)


def test_a_stuck_sink_holds_nobody(recorders: Callable[..., Recorder]) -> None:
    """While a sink is stuck in its first poll others are taken or counted, and another sink gets all of them."""
    stuck, other = Gate("stuck"), Gate("other", is_open=True)
    recorder = recorders(stuck, other, most_rows=12)
    recorder.start()
    record(recorder, 0.0)
    assert stuck.entered.acquire(timeout=SECONDS)
    for number in range(1, 6):
        wait_for(lambda: len(other.polls) == number, SECONDS)  # noqa: B023  # called before the loop goes on
        record(recorder, 10.0 * number)

    # This very thread is here although the sink is still in its first poll.
    assert stuck.polls == []
    wait_for(lambda: [poll.sequence for poll in other.polls] == list(range(6)), SECONDS)
    poll = other.polls[0]
    assert recorder.status["stuck"].dropped == {"queue_full": 2 * count(poll)}
    assert recorder.status["other"].dropped == {}

    stuck.opened.set()
    wait_for(lambda: [poll.sequence for poll in stuck.polls] == [0, 1, 2, 3], SECONDS)
    record(recorder, 60.0)
    wait_for(lambda: [poll.sequence for poll in stuck.polls] == [0, 1, 2, 3, 6], SECONDS)


def calls(turn: Callable[[], None]) -> int:
    """Count the calls of functions that this thread makes."""
    made = [0]

    def note(_frame: FrameType, event: str, _what: object) -> None:
        made[0] += event in {"call", "c_call"}

    # Hypothesis watches the collector with a function of its own.
    gc.disable()
    sys.setprofile(note)
    try:
        turn()
    finally:
        sys.setprofile(None)
        gc.enable()
    return made[0]


def large(topics: int) -> Snapshot:
    """A poll with as many topics, moves of both kinds, quotas, beans of clients and forgotten configurations."""
    names = [f"t{number}" for number in range(topics)]
    beans = ProcessBeans(0.0, {}, tuple(ClientBean(name, None, {}) for name in names))
    return snapshot(
        {name: [Partition(replicas=(1, 2), adding=(2,))] for name in names},
        quotas=tuple(QuotaEntity(name, None, {}) for name in names),
        topic_configs={f"gone-{name}": TopicConfig() for name in names},
        clock=10.0 + topics,
        future_replicas=tuple(FutureReplica(name, 0, 1, "/data", 0, 1) for name in names),
        broker_beans={1: beans},
    )


def test_a_poll_that_is_left_out_costs_next_to_nothing(recorders: Callable[..., Recorder]) -> None:
    """What a full queue turns away is counted in full, by as many calls for 300 topics as for three."""
    stuck = Gate()
    recorder = recorders(stuck, most_rows=1)
    recorder.start()
    record(recorder, 0.0)
    assert stuck.entered.acquire(timeout=SECONDS)
    record(recorder, 10.0)

    costs, rows = list[int](), 0
    # The first one logs that rows are lost.
    for topics in (1, 3, 300):
        left_out = large(topics)
        judged = derive(left_out, None, Parameters())[1]
        costs.append(calls(partial(recorder.record, left_out, judged, Remembered.KEPT)))
        rows += count(Poll(left_out, judged, Parameters(), "run", 0))
    assert costs[1] == costs[2]
    assert recorder.status["gate"].dropped == {"queue_full": rows}


def test_a_poll_larger_than_the_queue_is_taken_alone(recorders: Callable[..., Recorder]) -> None:
    """A bound in rows must not keep a large cluster out for ever."""
    sink = Gate()
    recorder = recorders(sink, most_rows=1)
    recorder.start()
    record(recorder, 0.0)
    assert sink.entered.acquire(timeout=SECONDS)
    record(recorder, 10.0, 20.0)
    sink.opened.set()
    wait_for(lambda: [poll.sequence for poll in sink.polls] == [0, 1], SECONDS)


def test_the_queue_is_written_at_the_end(recorders: Callable[..., Recorder]) -> None:
    """What waits when the process is told to stop is written, then the sink is closed, and later polls are counted."""
    sink = Gate()
    recorder = recorders(sink)
    recorder.start()
    record(recorder, 0.0, 10.0, 20.0)
    threading.Timer(0.05, sink.opened.set).start()
    recorder.stop(SECONDS)
    assert [poll.sequence for poll in sink.polls] == [0, 1, 2]
    assert len(sink.closed) == 1
    record(recorder, 30.0)
    assert recorder.status["gate"].dropped == {"queue_full": count(sink.polls[0])}


def test_a_stuck_sink_does_not_hold_the_end(recorders: Callable[..., Recorder]) -> None:
    """Stopping gives up when its time is over, all sinks together."""
    recorder = recorders(Gate("one"), Gate("two"))
    recorder.start()
    record(recorder, 0.0)
    began = time.monotonic()
    recorder.stop(0.2)
    assert time.monotonic() - began < SECONDS / 2


def test_a_sink_that_fails_is_counted_and_asked_again(recorders: Callable[..., Recorder]) -> None:
    """An error that nobody thought of costs one poll."""

    class Broken(Gate):
        def write(self, poll: Poll) -> None:
            if poll.sequence == 0:
                raise ZeroDivisionError
            super().write(poll)

    sink = Broken(is_open=True)
    recorder = recorders(sink)
    recorder.start()
    record(recorder, 0.0, 10.0)
    wait_for(lambda: [poll.sequence for poll in sink.polls] == [1], SECONDS)
    assert recorder.status["gate"].dropped == {"error": count(sink.polls[0])}


def test_a_poll_that_cannot_be_counted_ends_no_history(
    recorders: Callable[..., Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails to be written may fail to be counted, too: partitions and replicas are then, and the next is taken."""

    class Broken(Gate):
        def write(self, poll: Poll) -> None:
            if poll.sequence == 0:
                raise ZeroDivisionError
            super().write(poll)

    def fails(_: Poll) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(recorder_module, "count", fails)
    sink = Broken(is_open=True)
    recorder = recorders(sink)
    recorder.start()
    record(recorder, 0.0, 10.0)
    wait_for(lambda: [poll.sequence for poll in sink.polls] == [1], SECONDS)
    assert recorder.status["gate"].dropped == {"error": 4}


def test_an_idle_sink_may_look_after_itself(recorders: Callable[..., Recorder]) -> None:
    """With nothing to write it is called now and then."""
    sink = Gate(is_open=True)
    recorders(sink).start()
    assert sink.idled.wait(SECONDS)


def test_an_interval_leaves_polls_out(recorders: Callable[..., Recorder]) -> None:
    """One poll an interval is kept, the gap shows in the sequence, and the first of a memory always is."""
    sink = Gate(is_open=True)
    recorder = recorders(sink, interval=30.0)
    recorder.start()
    record(recorder, 0.0, 10.0, 20.0, 29.5, 40.0)
    record(recorder, 41.0, remembered=Remembered.NOTHING)
    wait_for(lambda: [poll.sequence for poll in sink.polls] == [0, 3, 5], SECONDS)
    assert {poll.run for poll in sink.polls} == {sink.polls[0].run}
    assert recorder.status["gate"].dropped == {}


def test_books_tell_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    """One line when writing fails, one when it works again, one for the first loss of a kind; the numbers add up."""
    stats = SinkStats("disk")
    assert stats.status().last_success is None
    for _ in range(3):
        stats.mark_failed(SinkFullError("/data: no space"))
        stats.mark_lost("disk_full", 7)
    assert (stats.status().up, stats.status().dropped) == (False, {"disk_full": 21})
    stats.mark_ok()
    stats.mark_written(5, 17.0)
    stats.mark_written(5, 18.0)
    assert (stats.status().up, stats.status().rows, stats.status().last_success) == (True, 10, 18.0)
    printed = capsys.readouterr().out
    assert printed.count("history cannot be written") == 1
    assert printed.count("history loses rows") == 1
    assert printed.count("history is being written again") == 1
