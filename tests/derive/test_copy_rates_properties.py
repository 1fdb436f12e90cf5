"""What moves gained, and what follows of it, however offsets, clocks, brokers and lists behave from poll to poll."""

import math
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_warden.derive import Derived, law
from kafka_warden.derive.copy_rates import Change, CopyProgress, measure, trend_over
from kafka_warden.model import UNKNOWN, UNLIMITED, BrokerConfig, Limit, Origin, Side, Snapshot, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, Topics, brokers_of, judge_each, snapshot
from tests.derive.following import remembering

IDS = (1, 2, 3)
LISTS = st.sampled_from(["", "*", "0:1,0:2", "1:1,1:2,1:3", "0:2,2:3"])
LIMITS = st.sampled_from([0.0, 1.0, 2e5, 1e6, 1e9, UNLIMITED])
STEPS = st.sampled_from([0.0, 0.0, 1e-9, 0.5, 10.0, 10.0, 13.0, 60.0, 1000.0])
"""A clock that stands still, among them."""


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    """A partition from 1 to 2 or 3 as one poll sees it: under way, over, cancelled, empty, silent, without a leader."""
    target = draw(st.sampled_from([2, 3]))
    kind = draw(st.sampled_from(["moving", "moving", "moving", "over", "cancelled", "both"]))
    if kind == "over":
        return Partition(replicas=(target,), end=draw(st.integers(0, 10**6)))
    if kind == "cancelled":
        return Partition(replicas=(1,), end=draw(st.integers(0, 10**6)))
    replicas = (1, 2, 3) if kind == "both" else (1, target)
    end = draw(st.sampled_from([0, 1, 10**4, 10**6, 10**12]))
    some = st.lists(st.sampled_from(replicas), unique=True, max_size=1)
    return Partition(
        replicas=replicas,
        adding=replicas[1:],
        removing=draw(st.sampled_from([(), (1,)])),
        leader=draw(st.sampled_from([1, 1, 1, replicas[-1], UNKNOWN])),
        epoch=draw(st.integers(0, 1)),
        end=end,
        start=draw(st.sampled_from([0, 0, end // 2, end])),
        lag={broker: draw(st.integers(-10, end + 10)) for broker in replicas[1:]},
        silent=draw(some),
        sizes=draw(st.dictionaries(st.sampled_from(replicas), st.sampled_from([UNKNOWN, 0, 10**9]), max_size=1)),
    )


@st.composite
def polls(draw: st.DrawFn, clock: float) -> Snapshot:
    """One poll; brokers, configurations and answers may be missing."""
    topics: Topics = {"t": draw(st.lists(partitions(), min_size=1, max_size=3))}
    limits = st.builds(Limit, LIMITS, st.just(Origin.BROKER))
    configs = st.builds(
        BrokerConfig,
        limits=st.dictionaries(st.sampled_from([Side.LEADER, Side.FOLLOWER]), limits),
        quota_window_num=st.sampled_from([1, 11, 30]),
        replica_fetch_max_bytes=st.sampled_from([0, 1024, 1 << 20]),
        replica_fetchers=st.integers(1, 3),
    )
    gone = draw(st.lists(st.sampled_from(IDS), max_size=1))
    return snapshot(
        topics,
        clock=clock,
        brokers={id_: broker for id_, broker in brokers_of(topics).items() if id_ not in gone},
        broker_configs=draw(st.dictionaries(st.sampled_from(IDS), configs)),
        topic_configs=draw(st.dictionaries(st.just("t"), st.builds(TopicConfig, LISTS, LISTS))),
        reassignments_known=draw(st.sampled_from([True, True, True, False])),
    )


HISTORIES = st.lists(STEPS, min_size=1, max_size=8).flatmap(
    lambda steps: st.tuples(*(polls(100.0 + clock) for clock in accumulate(steps)))
)


def etas(derived: Derived) -> list[float | None]:
    throttling, totals = derived.throttling, derived.totals
    of_all = (totals.eta, totals.predicted_bottleneck, *throttling.etas.values(), *throttling.side_etas.values())
    return [*(move.eta for move in derived.moves), *of_all]


@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_no_eta_is_negative_or_nan(history: tuple[Snapshot, ...]) -> None:
    """Whatever polls see; of all moves it is never before that of one of them."""
    for derived in judge_each(*history):
        assert all(eta is None or eta >= 0 for eta in etas(derived))
        assert all(move.bytes_per_second is None or move.bytes_per_second >= 0 for move in derived.moves)
        known = [move.eta for move in derived.moves if move.eta is not None]
        if derived.totals.eta is not None:
            assert known == [] or derived.totals.eta >= max(known)
        for move in derived.moves:
            assert (move.eta == math.inf) == (move.never_ends is True)


MOVING = st.lists(st.lists(st.integers(1, 900_000), min_size=3, max_size=3), min_size=1, max_size=8)


@given(MOVING, st.lists(STEPS, min_size=8, max_size=8))
def test_what_a_flow_gained_is_what_its_moves_lack_less(lags: list[list[int]], steps: list[float]) -> None:
    """From the first poll to the last, forwards and backwards, of listed and of unlisted ones by themselves."""
    clocks = [100.0, *accumulate(steps[1:], initial=100.0)]
    lists = {"t": TopicConfig(leader_throttled="0:1,1:1", follower_throttled="0:2,1:2")}
    polls = []
    for number, (clock, each) in enumerate(zip(clocks, lags, strict=False), 1):
        # No log end falls: that would be another log, whose copy is measured from then on.
        end = number * 10**6
        moving = [Partition(replicas=(1, 2), adding=(2,), removing=(1,), end=end, lag={2: lag}) for lag in each]
        polls.append(snapshot({"t": moving}, clock=clock, topic_configs=lists))
    memory, _ = remembering(*polls)[-1]
    gained = {flow.leader_listed: copy_progress.total[-1] for flow, copy_progress in memory.moves.copy_progress.items()}
    less = [(first - last) * BYTES_PER_OFFSET for first, last in zip(lags[0], lags[-1], strict=True)]
    assert gained == {True: pytest.approx(less[0] + less[1]), False: pytest.approx(less[2])}


SERIES = st.lists(st.tuples(STEPS, st.floats(-1e9, 1e9)), min_size=2, max_size=12)


def gains_of(series: list[tuple[float, float]], more: float = 0.0) -> CopyProgress:
    """A flow that gained so much in each step, and so much more a second."""
    times = tuple(accumulate(step for step, _ in series))
    total = tuple(accumulate(gained for _, gained in series))
    return CopyProgress(times=times, total=tuple(sum_ + more * time for time, sum_ in zip(times, total, strict=True)))


@given(SERIES, st.floats(0, 1e6), st.floats(0, 100))
def test_who_gains_more_every_second_is_measured_to(series: list[tuple[float, float]], more: float, at: float) -> None:
    change = Change((None, None), {}, at)
    slower, faster = (measure(gains_of(series, rate), change, law.DEFAULT_WINDOW) for rate in (0.0, more))
    slack: dict[str, Any] = {"rel": 1e-6, "abs": 1e-2}
    assert (slower.recent is None) == (faster.recent is None)
    assert (slower.steady is None) == (faster.steady is None)
    if slower.recent is not None and faster.recent is not None:
        assert faster.recent.rate - slower.recent.rate == pytest.approx(more, **slack)
    if slower.steady is not None and faster.steady is not None:
        assert faster.steady.rate - slower.steady.rate == pytest.approx(more, **slack)


@given(SERIES, st.integers(1, 10))
def test_a_trend_spans_what_there_is(series: list[tuple[float, float]], windows: int) -> None:
    window, copy_progress = law.DEFAULT_WINDOW, gains_of(series)
    trend = trend_over(copy_progress, windows * window.settling, window)
    seen = copy_progress.times[-1] - copy_progress.times[0]
    if trend is None:
        assert seen < window.settling
    else:
        assert trend.seconds <= min(windows * window.settling, seen + 1e-5)
        assert trend.seconds % window.settling == 0


@given(SERIES, st.floats(0, 1000), st.floats(0, 1e6))
def test_what_came_in_for_one_that_finished_is_no_loss(
    series: list[tuple[float, float]], at: float, rate: float
) -> None:
    others = gains_of(series)
    taken = tuple(rate * max(at - time, 0.0) for time in others.times)
    together = CopyProgress(
        times=others.times,
        total=tuple(total + each for total, each in zip(others.total, taken, strict=True)),
        finished=((at, rate),),
    )
    seconds = 10 * law.DEFAULT_WINDOW.settling
    alone, of_all = (trend_over(each, seconds, law.DEFAULT_WINDOW) for each in (others, together))
    assert (alone is None) == (of_all is None)
    if alone is not None and of_all is not None:
        assert of_all.rate == pytest.approx(alone.rate, rel=1e-6, abs=1.0)
