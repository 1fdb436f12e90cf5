"""The ring of the last hour: bounded, in order, and the same numbers as `/metrics` in single precision."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_warden.catalogue import View
from kafka_warden.derive import Derived
from kafka_warden.model import UNKNOWN, BrokerConfig, Limit, Origin, Side, Snapshot
from kafka_warden.views import Recent
from tests import scene
from tests.building import Partition, judge, snapshot


def poll(clock: float, brokers: int = 3, limit: float = 1e6) -> Snapshot:
    limits = {side: Limit(limit, Origin.BROKER) for side in (Side.LEADER, Side.FOLLOWER)}
    replicas = tuple(range(1, brokers + 1))
    return snapshot(
        {"t": [Partition(replicas=replicas, out=(2,))]},
        clock=clock,
        broker_configs={broker: BrokerConfig(limits=limits) for broker in replicas},
    )


def test_samples_come_back_in_order() -> None:
    recent = Recent()
    for number in range(5):
        recent.add(_view(judge(poll(10.0 * number, limit=1e6 + number))))
    samples = recent.read()
    history = samples.history([(1, Side.LEADER)])

    assert np.diff(history.times).tolist() == [10.0] * 4
    assert history.out_of_sync == (1.0,) * 5
    assert history.sides[0].limit == (1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3, 1e6 + 4)
    assert history.sides[0].catch_up == (None,) * 5
    assert samples.shown_sides() == [(broker, side) for broker in (1, 2, 3) for side in (Side.LEADER, Side.FOLLOWER)]


def test_it_holds_an_hour_and_no_more() -> None:
    derived = judge(poll(0.0))
    recent = Recent()
    for number in range(5000):
        recent.add(_view(_at(derived, 2.0 * number)))
    times = recent.read().history(()).times

    assert times[-1] - times[0] <= 3600
    assert times[-1] - times[0] > 3500
    assert np.diff(times).min() >= 4.5


@pytest.mark.parametrize("brokers", [1, 50, 400, 3000])
def test_it_never_takes_more_than_four_megabytes(brokers: int) -> None:
    recent = Recent()
    derived = judge(poll(0.0, brokers))
    for number in range(800):
        recent.add(_view(_at(derived, 10.0 * number)))

    assert sum(each.values.nbytes for each in recent._samples) <= 4 * 1024 * 1024
    times = recent.read().history(()).times
    assert times[-1] - times[0] > 3000


def test_brokers_that_come_and_go_keep_their_samples() -> None:
    recent = Recent()
    recent.add(_view(judge(poll(0.0, 2))))
    recent.add(_view(judge(poll(10.0, 4))))
    history = recent.read().history([(2, Side.LEADER), (4, Side.LEADER)])

    assert history.sides[0].limit == (1e6, 1e6)
    assert history.sides[1].limit == (None, 1e6)


def test_a_clock_that_is_set_back_leaves_no_gap() -> None:
    derived, recent = judge(poll(0.0)), Recent()
    for time in (0.0, 10.0, 7200.0, 20.0, 30.0):
        recent.add(_view(_at(derived, time)))
    times = recent.read().history(()).times

    assert [time - derived.indexed.snapshot.time for time in times] == [0.0, 10.0, 20.0, 30.0]


def test_times_ascend_after_a_clock_was_set_back_by_minutes() -> None:
    derived, recent = judge(poll(0.0)), Recent()
    for time in (*range(0, 1000, 10), *range(500, 1100, 10)):
        recent.add(_view(_at(derived, float(time))))
    times = recent.read().history(()).times

    assert [time - derived.indexed.snapshot.time for time in times] == list(range(0, 1100, 10))


def test_uncounted_topics_are_not_in_the_plot() -> None:
    recent = Recent()
    derived = judge(snapshot({"old": [Partition(leader=UNKNOWN)], "t": [Partition(leader=UNKNOWN)] * 2}))
    recent.add(replace(_view(derived), uncounted=np.array([True, False])))
    assert recent.read().history(()).offline_partitions == (2.0,)


def _view(derived: Derived) -> View:
    return scene.view_of(derived)


def _at(derived: Any, seconds: float) -> Any:
    seen = derived.indexed.snapshot
    return replace(derived, indexed=replace(derived.indexed, snapshot=replace(seen, time=seen.time + seconds)))
