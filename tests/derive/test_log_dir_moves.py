"""Moves between the log directories of a broker: what remains, and until when."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.catalogue import Build, ExporterState, View
from kafka_warden.catalogue.metric import Sample
from kafka_warden.catalogue.moves import MOVES
from kafka_warden.derive import Derived
from kafka_warden.model import UNKNOWN, BrokerConfig, Limit, Origin, PollResult, Side
from kafka_warden.replies import FutureReplica
from tests.building import Partition, snapshot
from tests.derive.throttled import MB, Watch

SIZE = 100_000_000


def limited(rate: float) -> dict[int, BrokerConfig]:
    return {2: BrokerConfig(limits={Side.LOG_DIRS: Limit(rate, Origin.BROKER)})}


def copying(**sizes: float) -> tuple[FutureReplica, ...]:
    """Copy replicas of broker 2 to another directory: `p0`, `p1` to the bytes that are there already."""
    return tuple(
        FutureReplica("t", int(name.removeprefix("p")), 2, "/other", int(size), UNKNOWN) for name, size in sizes.items()
    )


PARTITION = Partition(replicas=(1, 2), end=1_000_000)


def see(watch: Watch, **fields: Any) -> Derived:
    return watch.see({"t": [PARTITION, PARTITION]}, **fields)


def copied(watch: Watch, each: float, polls: int = 5, produced: int = 0, **fields: Any) -> Derived:
    """Copy so many MB from poll to poll, into which so many records are produced."""
    for number in range(polls):
        grown = [Partition(replicas=(1, 2), end=PARTITION.end + number * produced)] * 2
        derived = watch.see({"t": grown}, future_replicas=copying(p0=number * each * MB), **fields)
    return derived


def etas(derived: Derived) -> list[float | None]:
    return [move.eta for move in derived.throttling.log_dir_moves]


def test_remaining_and_eta_from_the_slope() -> None:
    """2 MB/s over 40 s; 20 MB are left."""
    (move,) = copied(Watch(), 20).throttling.log_dir_moves
    assert (move.topic, move.partition, move.broker) == ("t", 0, 2)
    assert move.remaining_bytes == 20 * MB
    assert move.eta == pytest.approx(10)


def test_two_answers_make_a_slope_however_far_apart_they_are() -> None:
    """`poll.log_dirs` of five minutes: 60 MB in ten of them, 40 MB are left."""
    assert etas(copied(Watch(every=300.0), 30, polls=3)) == [pytest.approx(400)]


def test_without_slope_and_limit_nothing_is_known() -> None:
    assert etas(see(Watch(), future_replicas=copying(p0=0))) == [None]


def test_the_limit_is_believed_before_a_slope() -> None:
    """100 MB at 5 MB/s; two of them share it. The inbound rate is known from the second poll on: 0."""
    watch, limits = Watch(), limited(5 * MB)
    assert etas(see(watch, future_replicas=copying(p0=0), broker_configs=limits)) == [None]
    assert etas(see(watch, future_replicas=copying(p0=0), broker_configs=limits)) == [pytest.approx(20)]
    assert etas(see(watch, future_replicas=copying(p0=0, p1=0), broker_configs=limits)) == [pytest.approx(40)] * 2


def test_a_limit_of_0_never_ends() -> None:
    watch = Watch()
    copied(watch, 10)
    assert etas(see(watch, future_replicas=copying(p0=40 * MB), broker_configs=limited(0))) == [math.inf]


def test_a_slope_under_another_limit_is_forgotten() -> None:
    """2 MB/s were seen; the limit is 10 MB/s now."""
    watch = Watch()
    copied(watch, 10, broker_configs=limited(1 * MB))
    raised = see(watch, future_replicas=copying(p0=40 * MB), broker_configs=limited(10 * MB))
    assert etas(raised) == [pytest.approx(6)]


def test_a_replica_that_waits_for_its_turn_ends_with_its_broker() -> None:
    """A broker copies one after the other: the second has not begun, and is not said to take for ever."""
    watch = Watch()
    for number in range(5):
        derived = see(watch, future_replicas=copying(p0=number * 20 * MB, p1=0))
    assert etas(derived) == [pytest.approx(10), pytest.approx(60)]


def test_a_replica_whose_turn_it_is_ends_though_its_broker_never_does() -> None:
    watch = Watch()
    for number in range(5):
        busy = Partition(replicas=(1, 2), end=1_000_000 + number * 300_000)
        derived = watch.see({"t": [PARTITION, busy]}, future_replicas=copying(p0=number * 20 * MB, p1=0))
    assert etas(derived) == [pytest.approx(10), math.inf]


def test_a_copy_that_loses_ground_never_ends() -> None:
    assert etas(copied(Watch(), 5, produced=100_000)) == [math.inf]


def test_answers_once_a_minute() -> None:
    watch, replicas = Watch(), snapshot({"t": [PARTITION]}).replicas
    seen = []
    for number in range(14):
        sized = 10.0 * (number - number % 6)
        answered = replace(replicas, sized_at=np.full(len(replicas), sized))
        future = copying(p0=sized * 0.5 * MB)
        seen.append(etas(watch.see({"t": [PARTITION]}, future_replicas=future, replicas=answered)))
    assert seen[-2:] == [[pytest.approx(40 / 0.5)], [pytest.approx(40 / 0.5 - 10)]]


def test_sizes_that_are_not_known() -> None:
    watch = Watch()
    unknown = {"t": [Partition(replicas=(1, 2), end=10, sizes={2: UNKNOWN})]}
    derived = watch.see(unknown, future_replicas=copying(p0=0, p7=0))
    assert [(move.remaining_bytes, move.eta) for move in derived.throttling.log_dir_moves] == [(None, None)] * 2
    other = (FutureReplica("gone", 0, 2, "/other", 0, UNKNOWN), FutureReplica("t", 0, 9, "/other", 0, UNKNOWN))
    assert [move.eta for move in watch.see(unknown, future_replicas=other).throttling.log_dir_moves] == [None]


def test_a_copy_larger_than_its_replica_lacks_nothing() -> None:
    (move,) = see(Watch(), future_replicas=copying(p0=SIZE + 5)).throttling.log_dir_moves
    assert (move.remaining_bytes, move.eta) == (0.0, 0.0)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(UNKNOWN, 10**9), st.floats(0, 1e9) | st.just(math.inf))))
def test_no_eta_is_negative_or_nan(answers: list[tuple[int, int, float]]) -> None:
    watch = Watch()
    for end, size, rate in answers:
        topics = {"t": [Partition(replicas=(1, 2), end=end)]}
        derived = watch.see(topics, future_replicas=copying(p0=size), broker_configs=limited(rate))
        for move in derived.throttling.log_dir_moves:
            assert move.remaining_bytes is None or move.remaining_bytes >= 0
            assert move.eta is None or move.eta >= 0


def test_the_bytes_of_topics_without_series_are_summed_by_broker() -> None:
    """An alert on a volume must not miss what moves still bring."""
    derived = see(Watch(), future_replicas=copying(p0=0, p1=40 * MB))
    name = "log_dir_move_bytes_remaining"
    assert samples(derived, name, shown=True) == [(("t", "0", "2"), 100 * MB), (("t", "1", "2"), 60 * MB)]
    assert samples(derived, name, shown=False) == [(("", "", "2"), 160 * MB)]


def test_the_longest_of_the_topics_without_series_is_shown_by_broker() -> None:
    """An alert must not miss a copy that never ends."""
    watch = Watch()
    for number in range(5):
        derived = see(watch, future_replicas=copying(p0=number * 20 * MB, p1=SIZE))
    assert etas(derived) == [pytest.approx(10), 0.0]
    name = "log_dir_move_eta_seconds"
    assert samples(derived, name, shown=True) == [(("t", "0", "2"), etas(derived)[0]), (("t", "1", "2"), 0.0)]
    assert samples(derived, name, shown=False) == [(("", "", "2"), etas(derived)[0])]
    assert samples(see(Watch(), future_replicas=copying(p0=0)), name, shown=False) == []
    stopped = see(Watch(), future_replicas=copying(p0=0), broker_configs=limited(0))
    assert samples(stopped, name, shown=False) == [(("", "", "2"), math.inf)]


def samples(derived: Derived, name: str, *, shown: bool) -> list[Sample]:
    """The series of a metric if the topic may have some, or may not."""
    metric = next(metric for metric in MOVES if metric.name == name)
    return list(metric.read(View(derived, ExporterState(PollResult(), Build("0", "0", "3")), np.array([shown]))))
