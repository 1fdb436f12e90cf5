"""What a restart must not forget: the document, and the memory that is made of it."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import Derived, Memory, derive
from kafka_warden.derive.saved import from_document, to_document
from kafka_warden.errors import StateError
from kafka_warden.model import Parameters, Snapshot, TopicConfig
from tests import scene
from tests.building import EPOCH, Partition, snapshot
from tests.derive.following import remembering

BEFORE = range(0, 81, 10)
"""Seconds of the polls of the process that ends."""


def polled(*snapshots: Snapshot, memory: Memory | None = None) -> tuple[Memory, Derived]:
    return remembering(*snapshots, memory=memory, parameters=scene.PARAMETERS)[-1]


def restarted(*snapshots: Snapshot, then: Snapshot) -> Derived:
    """What another process derives first, given only the document of the one before."""
    memory, _ = polled(*snapshots)
    document = json.loads(json.dumps(to_document(memory, snapshots[-1]), allow_nan=False))
    return polled(then, memory=from_document(document, then))[1]


def test_a_restart_forgets_no_clock() -> None:
    polls, then = [scene.poll(float(clock)) for clock in BEFORE], scene.poll(90.0)
    _, uninterrupted = polled(*polls, then)
    again = restarted(*polls, then=then)

    assert ages(again) == ages(uninterrupted)
    assert moves(again) == moves(uninterrupted)
    assert again.throttling.problems == uninterrupted.throttling.problems
    assert again.tiered.problems == uninterrupted.tiered.problems
    np.testing.assert_array_equal(again.tiered.stalled, uninterrupted.tiered.stalled)
    np.testing.assert_array_equal(again.replicas.times.behind_seconds, uninterrupted.replicas.times.behind_seconds)


def ages(derived: Derived) -> dict[str, list[float | None]]:
    columns = {"out of sync": derived.ages.out_seconds, "under-replicated": derived.ages.under_seconds}
    return {name: [None if math.isnan(age) else age for age in column.tolist()] for name, column in columns.items()}


def moves(derived: Derived) -> list[tuple[object, ...]]:
    return [(move.topic, move.partition, move.broker, move.stalled, move.stuck) for move in derived.moves]


def test_the_state_file_keeps_its_format() -> None:
    """A change of a key or a value needs another `FORMAT`."""
    polls = [scene.poll(float(clock)) for clock in BEFORE]
    written = json.loads(json.dumps(to_document(polled(*polls)[0], polls[-1])))
    assert written == json.loads((Path(__file__).parent / "state_format_1.json").read_text())


def test_scene_has_something_to_forget() -> None:
    _, derived = polled(*(scene.poll(float(clock)) for clock in (*BEFORE, 90)))
    assert {age for age in ages(derived)["out of sync"] if age} != set()
    assert {age for age in ages(derived)["under-replicated"] if age} != set()
    assert [move for move in derived.moves if move.stuck is not None] != []
    assert {age for age in derived.throttling.problems.values() if age} != set()


def lagging(clock: float, time: float) -> Snapshot:
    return snapshot({"t": [Partition(end=1000, lag={2: 10}, out=(2,))]}, clock=clock, time=time)


def test_another_process_has_another_monotonic_clock() -> None:
    """The machine was rebooted: its clock starts from 0, and the replica has been out for all that time."""
    first = [lagging(clock=5000.0 + second, time=EPOCH + second) for second in (0, 10)]
    derived = restarted(*first, then=lagging(clock=3.0, time=EPOCH + 100))
    assert np.nanmax(derived.ages.out_seconds) == pytest.approx(100.0)
    assert np.nanmax(derived.ages.under_seconds) == pytest.approx(100.0)


def test_a_wall_clock_that_was_set_back_yields_no_negative_age() -> None:
    first = [lagging(clock=second, time=EPOCH + second) for second in (0.0, 10.0)]
    derived = restarted(*first, then=lagging(clock=20.0, time=EPOCH - 3600))
    assert np.nanmin(derived.ages.out_seconds) == 0


def test_who_is_in_the_isr_after_a_long_absence_is_not_late() -> None:
    """An hour without polls: within replica.lag.time.max a member of the ISR has caught up."""

    def behind(clock: float, *, out: tuple[int, ...] = ()) -> Snapshot:
        return snapshot({"t": [Partition(replicas=(1, 2), end=9000, lag={2: 2000}, out=out)]}, clock=clock)

    polls = [behind(10.0 * poll) for poll in range(3)]
    soon, late = (restarted(*polls, then=behind(clock)) for clock in (30.0, 3620.0))
    out = restarted(*polls, then=behind(3620.0, out=(2,)))

    assert [seen.replicas.times.behind_seconds[1] for seen in (soon, late, out)] == [30.0, 0.0, 3620.0]


@pytest.mark.parametrize(("end", "expected"), [(10_000, False), (9_000, True)])
def test_a_restart_keeps_what_an_election_leaves_of_a_log(end: int, expected: bool) -> None:
    """Broker 2 led, and went down 50 messages ahead of 3. It returns to another process; a log below that is new."""
    led = Partition(end=10_050, leader=2, lag={3: 50})
    lost = Partition(end=10_100, leader=3, epoch=1, out=(2,), silent=(2,))
    back = Partition(end=10_200, leader=3, epoch=1, out=(2,), lag={2: 10_200 - end})
    *first, then = [snapshot({"t": [each]}, clock=10.0 * poll) for poll, each in enumerate([led, led, lost, back])]
    document = to_document(polled(*first)[0], first[-1])
    memory, _ = polled(then, memory=from_document(document, then))
    assert memory.replicas.restarted[memory.keys.broker == 2].tolist() == [expected]


def test_a_restart_weighs_what_moves_lack_as_before() -> None:
    """The target cleaned 30 kB of its copy before. A document without that is read: then the sizes of now are all."""

    def moving(clock: float, size: int) -> Snapshot:
        sizes = {1: 100_000, 2: size}
        move = Partition(replicas=(1, 2), adding=(2,), end=1000, lag={2: 500 - int(clock)}, sizes=sizes)
        return snapshot({"t": [move]}, clock=clock, topic_configs={"t": TopicConfig(compacted=True)})

    first, then = [moving(0.0, 50_000), moving(10.0, 20_000)], moving(20.0, 25_000)
    memory, seen = polled(*first)
    assert seen.moves[0].remaining_bytes == 50_000
    document = json.loads(json.dumps(to_document(memory, first[-1]), allow_nan=False))
    assert polled(then, memory=from_document(document, then))[1].moves[0].remaining_bytes == 45_000
    for row in document["replicas"]:
        for name in [name for name in row if name.startswith("lacked_")]:
            del row[name]
    assert polled(then, memory=from_document(document, then))[1].moves[0].remaining_bytes == 75_000


def test_what_ended_meanwhile_has_no_age() -> None:
    first = [lagging(clock=second, time=EPOCH + second) for second in (0.0, 10.0)]
    healthy = snapshot({"t": [Partition(end=1000)]}, clock=20.0)
    assert np.isnan(restarted(*first, then=healthy).ages.out_seconds).all()
    recreated = replace(lagging(clock=20.0, time=EPOCH + 20), topic_ids=(b"another id" + bytes(6),))
    assert np.nanmax(restarted(*first, then=recreated).ages.out_seconds) == 0


def test_healthy_replicas_are_not_written_down() -> None:
    seen = snapshot({"t": [Partition(end=1000)] * 50, "u": [Partition(end=10, lag={2: 5}, out=(2,))]})
    memory, _ = polled(seen)
    document = to_document(memory, seen)
    assert [row["topic"] for row in document["partitions"]] == ["u"]
    assert [row["broker"] for row in document["replicas"]] == [2]


PROBLEM = {"broker": 1, "side": "leader", "problem": "blocked", "since": 1, "polls": 1}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"format": 2}, "format"),
        ({"format": None}, "format"),
        ({"cluster_id": "other"}, "belongs to the cluster 'other'"),
        ({"replicas": 5}, "damaged"),
        ({"replicas": [{}]}, "damaged"),
        ({"partitions": None}, "damaged"),
        ({"partitions": []}, "damaged"),
        ({"moves": "x"}, "damaged"),
        ({"throttle_problems": [{**PROBLEM, "side": "up"}]}, "damaged"),
        ({"throttle_problems": [{**PROBLEM, "since": -1}]}, "damaged"),
    ],
)
def test_what_cannot_be_used_is_refused(change: Mapping[str, Any], why: str) -> None:
    seen = lagging(clock=10.0, time=EPOCH + 10)
    memory, _ = polled(seen)
    with pytest.raises(StateError, match=why):
        from_document({**to_document(memory, seen), **change}, seen)


DAY = 86400.0


@pytest.mark.parametrize(
    ("saved_at", "why"),
    [
        (0.0, "days ago"),
        (EPOCH - 14 * DAY - 1, "14 days ago"),
        (EPOCH - 14 * DAY, None),
        (EPOCH + DAY, None),
        (EPOCH + DAY + 1, "after now"),
    ],
)
def test_a_time_that_no_restart_explains_is_refused(saved_at: float, why: str | None) -> None:
    """A machine without a battery for its clock starts in 1970; weeks later nothing is known of what went on."""
    seen = lagging(clock=10.0, time=EPOCH)
    document = {**to_document(polled(seen)[0], seen), "saved_at": saved_at}
    if why is None:
        from_document(document, seen)
    else:
        with pytest.raises(StateError, match=why):
            from_document(document, seen)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
TABLES = ("partitions", "replicas", "moves", "pairs", "throttle_problems", "tiered_problems")


@given(st.sampled_from(TABLES), JSON, st.data())
def test_no_damage_gets_further_than_the_error(table: str, value: Any, data: st.DataObject) -> None:
    seen = [scene.poll(float(clock)) for clock in (0, 10, 20)]
    memory, _ = polled(*seen)
    document = json.loads(json.dumps(to_document(memory, seen[-1])))
    rows = document[table]
    if rows and data.draw(st.booleans()):
        row = rows[data.draw(st.integers(0, len(rows) - 1))]
        row[data.draw(st.sampled_from(sorted(row)))] = value
    else:
        document[table] = value
    then = scene.poll(30.0)
    try:
        restored = from_document(document, then)
    except StateError:
        return
    derive(then, restored, Parameters())
