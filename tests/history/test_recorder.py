"""The recorder: no poll waits, every lost row is counted, and a stop ends in time."""

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
from kafka_warden.errors import SinkError, SinkReason
from kafka_warden.history import recorder as recorder_module
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.recorder import Recorder, SinkStats
from kafka_warden.history.schema import count
from kafka_warden.model import ClientBean, Parameters, ProcessBeans, QuotaEntity, Snapshot, TopicConfig
from kafka_warden.replies import FutureReplica
from sandbox import wait_for
from tests.building import Partition, snapshot

SECONDS = 60.0
"""Longer than any step takes."""


class BlockedSink:
    """A sink that blocks until `opened` is set."""

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
        self.entered.release()
        assert self.opened.wait(SECONDS)
        self.polls.append(poll)

    def idle(self) -> None:
        self.idled.set()

    def close(self, until: float) -> None:
        self.closed.append(until)


class BrokenSink(BlockedSink):
    """A sink that fails with the first poll."""

    def write(self, poll: Poll) -> None:
        if poll.sequence == 0:
            raise ZeroDivisionError
        super().write(poll)


@pytest.fixture
def recorders() -> Iterator[Callable[..., Recorder]]:
    """Start recorders that are stopped at the end of the test."""
    made: list[tuple[Recorder, tuple[BlockedSink, ...]]] = []

    def make(*sinks: BlockedSink, **settings: Any) -> Recorder:
        recorder = Recorder(sinks, **settings)
        made.append((recorder, sinks))
        recorder.start()
        return recorder

    yield make
    for recorder, sinks in made:
        for sink in sinks:
            sink.opened.set()
        recorder.stop(SECONDS)


def seen(clock: float) -> Snapshot:
    """One partition with three replicas: four rows in the queue."""
    return snapshot({"t": [Partition()]}, clock=clock)


def record(recorder: Recorder, *clocks: float, remembered: Remembered = Remembered.KEPT) -> None:
    for clock in clocks:
        recorder.record(seen(clock), derive(seen(clock), None, Parameters())[1], Parameters(), remembered)


def test_a_blocked_sink_delays_no_other(recorders: Callable[..., Recorder]) -> None:
    stuck, other = BlockedSink("stuck"), BlockedSink("other", is_open=True)
    recorder = recorders(stuck, other, most_rows=12)
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
    """A poll with many topics, moves of both kinds, quotas, beans of clients and configurations of deleted topics."""
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


def test_dropping_a_poll_is_cheap(recorders: Callable[..., Recorder]) -> None:
    stuck = BlockedSink()
    recorder = recorders(stuck, most_rows=1)
    record(recorder, 0.0)
    assert stuck.entered.acquire(timeout=SECONDS)
    record(recorder, 10.0)

    costs, rows = list[int](), 0
    # The first one logs that rows are lost.
    for topics in (1, 3, 300):
        left_out = large(topics)
        evaluated = derive(left_out, None, Parameters())[1]
        costs.append(calls(partial(recorder.record, left_out, evaluated, Parameters(), Remembered.KEPT)))
        rows += count(Poll(left_out, evaluated, Parameters(), "run", 0))
    assert costs[1] == costs[2]
    assert recorder.status["gate"].dropped == {"queue_full": rows}


def test_a_poll_larger_than_the_queue_is_accepted_alone(recorders: Callable[..., Recorder]) -> None:
    sink = BlockedSink()
    recorder = recorders(sink, most_rows=1)
    record(recorder, 0.0)
    assert sink.entered.acquire(timeout=SECONDS)
    record(recorder, 10.0, 20.0)
    sink.opened.set()
    wait_for(lambda: [poll.sequence for poll in sink.polls] == [0, 1], SECONDS)


def test_the_queue_is_written_at_the_stop(recorders: Callable[..., Recorder]) -> None:
    sink = BlockedSink()
    recorder = recorders(sink)
    record(recorder, 0.0, 10.0, 20.0)
    threading.Timer(0.05, sink.opened.set).start()
    recorder.stop(SECONDS)
    assert [poll.sequence for poll in sink.polls] == [0, 1, 2]
    assert len(sink.closed) == 1
    record(recorder, 30.0)
    assert recorder.status["gate"].dropped == {"queue_full": count(sink.polls[0])}


def test_a_blocked_sink_does_not_delay_the_stop(recorders: Callable[..., Recorder]) -> None:
    recorder = recorders(BlockedSink("one"), BlockedSink("two"))
    record(recorder, 0.0)
    began = time.monotonic()
    recorder.stop(0.2)
    assert time.monotonic() - began < SECONDS / 2


@pytest.mark.parametrize("counts", [True, False])
def test_a_sink_that_fails_is_used_again(
    recorders: Callable[..., Recorder], monkeypatch: pytest.MonkeyPatch, counts: bool
) -> None:
    def fails(_: Poll) -> int:
        raise ZeroDivisionError

    if not counts:
        monkeypatch.setattr(recorder_module, "count", fails)
    sink = BrokenSink(is_open=True)
    recorder = recorders(sink)
    record(recorder, 0.0, 10.0)
    wait_for(lambda: [poll.sequence for poll in sink.polls] == [1], SECONDS)
    assert recorder.status["gate"].dropped == {"error": count(sink.polls[0]) if counts else 4}


def test_an_idle_sink_is_called(recorders: Callable[..., Recorder]) -> None:
    sink = BlockedSink(is_open=True)
    recorders(sink)
    assert sink.idled.wait(SECONDS)


def test_an_interval_leaves_polls_out(recorders: Callable[..., Recorder]) -> None:
    """One poll per interval is kept, and always the first one of a memory; the sequence shows gaps."""
    sink = BlockedSink(is_open=True)
    recorder = recorders(sink, interval=30.0)
    record(recorder, 0.0, 10.0, 20.0, 29.5, 40.0)
    record(recorder, 41.0, remembered=Remembered.NOTHING)
    wait_for(lambda: [poll.sequence for poll in sink.polls] == [0, 3, 5], SECONDS)
    assert {poll.run for poll in sink.polls} == {sink.polls[0].run}
    assert recorder.status["gate"].dropped == {}


def test_changes_are_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    stats = SinkStats("disk")
    assert stats.status().last_success is None
    for _ in range(3):
        stats.mark_failed(SinkError("/data: no space", SinkReason.DISK_FULL))
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
