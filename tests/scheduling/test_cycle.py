"""What the page shows over time: numbers age on the monotonic clock, and nothing that fails ends the process."""

import threading
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from kafka_warden.cycle import Cycle
from kafka_warden.derive import Memory
from kafka_warden.errors import PollAbandonedError
from kafka_warden.model import Parameters, PollResult, Snapshot
from tests import scene
from tests.building import Partition, known, snapshot
from tests.support.scripted import VirtualClock

INTERVAL = 10.0
SHOWN = b"kafka_warden_replica_"
WITHIN = 60.0


class Polled:
    """A poller that answers with a new snapshot, or that no broker answers."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.bootstrap: frozenset[str] = frozenset()
        self.answers = True
        self.raises: type[Exception] | None = None

    def poll(self, interval: float = 0.0) -> PollResult:  # noqa: ARG002  # as of a poller
        if self.raises is not None:
            raise self.raises
        if not self.answers:
            return PollResult(cluster_reachable=False)
        now, time = self._clock.monotonic(), self._clock.time()
        return snapshot({"t": [Partition(lag={2: 5}, out=(2,))]}, clock=now, time=time)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def polled(clock: VirtualClock) -> Polled:
    return Polled(clock)


@pytest.fixture
def cycle(clock: VirtualClock, polled: Polled) -> Cycle:
    parameters = Parameters(poll_interval=INTERVAL)
    poller: Any = polled
    return Cycle(poller, parameters, scene.BUILD, clock=clock)


def shows(cycle: Cycle) -> bool:
    assert cycle.holder.page is not None
    return SHOWN in cycle.holder.page.text


def test_an_interval_that_cannot_be_kept_is_stretched(cycle: Cycle, clock: VirtualClock, polled: Polled) -> None:
    poll = polled.poll
    asked_for: list[float] = []

    def slow(seconds: float) -> Any:
        def slow_poll(interval: float) -> Any:
            asked_for.append(interval)
            snapshot = poll()
            clock.advance(seconds)
            return snapshot

        return slow_poll

    with capture_logs() as logs:
        for seconds, interval in ((0, 10), (35, 40), (35, 40), (10, 40), (0, 10)):
            polled.poll = slow(seconds)  # type: ignore[method-assign]  # as a poll of a large cluster
            cycle.once()
            assert cycle.holder.page is not None
            assert f"kafka_warden_poll_interval_seconds {interval}\n".encode() in cycle.holder.page.text
            assert shows(cycle)
    assert [(each["log_level"], each.get("seconds")) for each in logs] == [("warning", 35)]
    assert asked_for == [10, 10, 40, 40, 10]
    polled.poll = slow(35)  # type: ignore[method-assign]  # as above
    cycle.once()
    for seconds, still in ((3 * 40 - 35, True), (1, False)):
        clock.advance(seconds)
        cycle.expire()
        assert shows(cycle) == still


def test_a_shorter_interval_does_not_empty_the_page(cycle: Cycle, clock: VirtualClock) -> None:
    cycle.configure(Parameters(poll_interval=6 * INTERVAL), lambda _: True, lambda _: False)
    cycle.once()
    clock.advance(5 * INTERVAL)
    cycle.configure(Parameters(poll_interval=INTERVAL), lambda _: True, lambda _: False)
    cycle.expire()
    assert shows(cycle)

    cycle.once()
    clock.advance(3 * INTERVAL + 0.1)
    cycle.expire()
    assert not shows(cycle)


def test_a_suspension_during_a_poll_stretches_nothing(
    cycle: Cycle, clock: VirtualClock, polled: Polled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def suspended(_: float) -> PollResult:
        clock.suspend(8 * 3600.0)
        return PollResult()

    monkeypatch.setattr(polled, "poll", suspended)
    with capture_logs() as logs:
        cycle.once()
    assert (logs, cycle.interval) == ([], INTERVAL)


def test_an_older_state_replaces_no_newer_one(
    cycle: Cycle, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[dict[str, Any]] = []
    begun, go_on = threading.Event(), threading.Event()

    def write(_: Memory, snapshot: Snapshot) -> dict[str, Any]:
        if not begun.is_set():
            begun.set()
            go_on.wait(WITHIN)
        return {"at": snapshot.clock}

    state: Any = SimpleNamespace(load=lambda: None, save=saved.append, saved=False, problem=None)
    monkeypatch.setattr(cycle, "_state", state)
    monkeypatch.setattr("kafka_warden.cycle.to_document", write)
    slow = threading.Thread(target=cycle.once)
    slow.start()
    begun.wait(WITHIN)
    older = clock.monotonic()
    clock.advance(INTERVAL)
    cycle._kept = cycle._kept and (cycle._kept[0], replace(cycle._kept[1], clock=clock.monotonic()))
    cycle.save(0.01)
    go_on.set()
    slow.join(WITHIN)
    assert [state["at"] for state in saved] == [older]
    cycle.save()
    assert [state["at"] for state in saved] == [older, older + INTERVAL]


def test_a_reload_keeps_what_the_page_had_room_for(cycle: Cycle) -> None:
    """Unless `limits.series` changes: the choice of series above the limit must not jump."""
    before = cycle._exposition
    cycle.configure(Parameters(poll_interval=20.0), lambda _: True, lambda _: False)
    assert cycle._exposition is before
    cycle.configure(Parameters(poll_interval=20.0, series_budget=9), lambda _: True, lambda _: False)
    assert cycle._exposition is not before


def test_numbers_are_removed_after_three_intervals(cycle: Cycle, clock: VirtualClock) -> None:
    assert not shows(cycle)
    cycle.once()
    assert shows(cycle)

    clock.set_wall(86400.0)
    clock.advance(3 * INTERVAL - 0.1)
    cycle.expire()
    assert shows(cycle)

    clock.set_wall(-2 * 86400.0)
    clock.advance(0.2)
    cycle.expire()
    assert not shows(cycle)
    assert not cycle.holder.ready
    assert b"kafka_warden_build_info" in cycle.holder.page.text  # type: ignore[union-attr]  # `shows` looked

    cycle.once()
    assert shows(cycle)


def test_self_metrics_are_current_without_polls(cycle: Cycle) -> None:
    for connections in (3, 4):
        cycle.figures = partial(dict, web_connections={(): connections})
        cycle.expire()
        assert cycle.holder.page is not None
        assert f"kafka_warden_web_connections {connections}\n".encode() in cycle.holder.page.text


def test_counts_that_cannot_be_read_cost_only_themselves(cycle: Cycle) -> None:
    cycle.figures = None  # type: ignore[assignment]  # as a bug in one of the parts
    with capture_logs() as logs:
        cycle.once()
    assert shows(cycle)
    assert {entry["log_level"] for entry in logs} == {"error"}


@pytest.mark.parametrize("failure", [{"answers": False}, {"raises": ZeroDivisionError}])
def test_polls_without_an_answer_show_the_last_numbers_for_three_intervals(
    cycle: Cycle, clock: VirtualClock, polled: Polled, failure: dict[str, Any]
) -> None:
    cycle.once()
    vars(polled).update(failure)
    seen = []
    with capture_logs():
        for _ in range(4):
            clock.advance(INTERVAL)
            cycle.once()
            seen.append(shows(cycle))
            assert cycle.holder.ready == seen[-1]
    assert seen == [True, True, True, False]
    vars(polled).update(answers=True, raises=None)
    cycle.once()
    assert cycle.holder.ready


def test_the_last_numbers_are_shown_beside_what_a_poll_without_an_answer_learned(cycle: Cycle, polled: Polled) -> None:
    cycle.once()
    polled.answers = False
    cycle.once()
    assert shows(cycle)
    assert b"kafka_warden_cluster_reachable 0\n" in known(cycle.holder.page).text


@pytest.mark.parametrize("broken", ["kafka_warden.cycle.derive", "kafka_warden.cycle.View", "poll"])
def test_polls_that_cannot_be_evaluated_are_a_reason_for_a_restart(
    cycle: Cycle, clock: VirtualClock, polled: Polled, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    late = []
    with monkeypatch.context() as patched, capture_logs():
        if broken == "poll":
            polled.raises = ZeroDivisionError
        else:
            patched.setattr(broken, None)
        for _ in range(8):
            cycle.once()
            late.append(cycle.late())
            clock.advance(INTERVAL)
    assert late == [None] * 7 + ["no snapshot could be evaluated for 70 s"]
    polled.raises = None
    cycle.once()
    assert cycle.late() is None


def test_a_cluster_that_does_not_answer_is_no_reason_for_a_restart(
    cycle: Cycle, clock: VirtualClock, polled: Polled
) -> None:
    """Another process would not reach it, either."""
    cycle.once()
    polled.answers = False
    clock.advance(3600.0)
    cycle.once()
    assert cycle.late() is None


def test_a_poll_that_is_abandoned_changes_nothing(cycle: Cycle, polled: Polled) -> None:
    cycle.once()
    page = cycle.holder.page
    polled.raises = PollAbandonedError
    with capture_logs() as logs:
        cycle.once()
    assert cycle.holder.page is page
    assert logs == []


def test_an_evaluation_that_fails_empties_the_page_until_the_next_one(
    cycle: Cycle, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle.once()
    with monkeypatch.context() as broken, capture_logs() as logs:
        clock.advance(INTERVAL)
        broken.setattr("kafka_warden.cycle.derive", None)
        cycle.once()
    assert not shows(cycle)
    assert [entry["log_level"] for entry in logs] == ["error"]

    clock.advance(INTERVAL)
    cycle.once()
    assert shows(cycle)
