"""Lag as time: formulas, with a leader that mostly gains 100 offsets a second, and rows of polls made by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import UNKNOWN, Floats, Longs
from kafka_warden.derive import replica_time
from kafka_warden.derive.replica_time import LagSeconds, end_to_reach, standing_still
from kafka_warden.model import BrokerConfig
from tests.building import Partition, judge, judge_each, snapshot
from tests.derive.following import (
    CONFIGS,
    RATE,
    REPLICA,
    behind,
    lag_seconds,
    late,
    loaded,
    page,
    polls,
    row,
    seen,
)

U = UNKNOWN
NAN = float("nan")
Window = list[tuple[float, int]]
CONSTANT: Window = [(0, 0), (10, 1000), (20, 2000), (30, 3000)]


def window(samples: Window) -> tuple[Floats, Longs]:
    """Times and ends of one follower's leader, (T, 1)."""
    return np.array([[float(at)] for at, _ in samples]), np.array([[end] for _, end in samples])


@pytest.mark.parametrize(
    ("why", "samples", "follower", "now", "expected", "at_least"),
    [
        ("caught up", CONSTANT, 3000, 30, 0, False),
        ("ahead of the leader's last answer", CONSTANT, 3100, 30, 0, False),
        ("between two polls, interpolated", CONSTANT, 2500, 30, 5, False),
        ("exactly at a poll", CONSTANT, 1000, 30, 20, False),
        ("the first record is missing", CONSTANT, 0, 30, 30, False),
        ("now is later than the last answer", CONSTANT, 2500, 31, 6, False),
        ("older than the window: at least", [(10, 1000), (20, 2000)], 500, 20, 10, True),
        ("idle, then a burst: since the burst began", [(0, 5), (10, 5), (20, 5), (30, 9)], 5, 30, 10, False),
        ("nothing written since the follower caught up", [(0, 5), (10, 5)], 5, 10, 0, False),
        ("a poll without an answer is bridged", [(0, 0), (10, U), (20, 2000)], 500, 20, 15, False),
        ("the leader is silent now: by its last end", [(0, 0), (10, 1000), (20, U)], 500, 20, 15, False),
        ("another epoch before: at least since this one", [(0, U), (10, 1000), (20, 2000)], 500, 20, 10, True),
        ("no end known", [(0, U)], 500, 20, NAN, False),
        ("the follower is unknown", CONSTANT, U, 30, NAN, False),
        ("the clock went back", CONSTANT, 2500, 0, 0, False),
        ("the leader fell and came back: since it passed last", [(0, 9), (10, 3), (20, 9)], 3, 20, 10, False),
    ],
)
def test_lag_seconds(why: str, samples: Window, follower: int, now: float, expected: float, at_least: bool) -> None:
    seen = replica_time.lag_seconds(np.array([follower]), *window(samples), now)
    np.testing.assert_allclose(seen.values, [expected], err_msg=why)
    assert seen.at_least.tolist() == [at_least], why


@pytest.mark.parametrize(
    ("why", "samples", "asked_at", "expected"),
    [
        ("what the leader had 0.5 s ago", CONSTANT, 30.0, 2950),
        ("the first poll has no earlier end", [(10, 1000)], 10.0, 1000),
        ("no end is known", [(10, U)], 10.0, NAN),
    ],
)
def test_end_to_reach(why: str, samples: Window, asked_at: float, expected: float) -> None:
    np.testing.assert_equal(end_to_reach(*window(samples), np.array([asked_at]), slack=0.5), [expected], err_msg=why)


@pytest.mark.parametrize(
    ("why", "passed_at", "seconds", "at_least", "moved", "expected", "state"),
    [
        ("the window is conclusive for the first time", NAN, 30, False, False, 30, 70),
        ("the window is conclusive, and the end has moved since", 80, 30, False, True, 30, 70),
        ("the window was thinned: the earlier time is kept", 80, 30, False, False, 20, 80),
        ("the same within a second", 99.25, 0.5, False, False, 0.75, 99.25),
        ("the window has forgotten it", 10, 60, True, False, 90, 10),
        ("forgotten, and it has moved since", 10, 60, True, True, 60, 40),
        ("never known before", NAN, 60, True, False, 60, 40),
        ("a new epoch began: the moment is what it was", 10, 5, True, False, 90, 10),
        ("caught up", 10, 0, False, False, 0, NAN),
        ("unknown for a poll, and it stands still", 10, NAN, False, False, NAN, 10),
        ("unknown for a poll, and it has moved", 10, NAN, False, True, NAN, NAN),
    ],
)
def test_standing_still(
    why: str, passed_at: float, seconds: float, at_least: bool, moved: bool, expected: float, state: float
) -> None:
    """At 100 s: what the window has forgotten is remembered of a follower that stands still."""
    age = LagSeconds(np.array([float(seconds)]), np.array([at_least]))
    seen = standing_still(np.array([float(passed_at)]), 100.0, age, np.array([moved]))
    np.testing.assert_array_equal(seen, ([state], [expected]), err_msg=why)


samples_of_one = st.lists(st.tuples(st.floats(0, 1e5), st.integers(U, 10**12)), min_size=1, max_size=8).map(sorted)


@given(samples_of_one, st.integers(U, 10**12), st.floats(0, 1e5))
def test_lag_seconds_is_bounded(samples: Window, follower: int, now: float) -> None:
    seen = replica_time.lag_seconds(np.array([follower]), *window(samples), now).values[0]
    if not np.isnan(seen):
        assert 0 <= seen <= max(now - samples[0][0], 0) + 1e-6


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8), st.floats(0, 100), st.floats(0, 100), st.floats(0, 20))
def test_a_later_moment_never_needs_less(gains: list[int], when: float, later: float, slack: float) -> None:
    """The end to reach is one that the leader had, rises with the time of asking, and falls with the slack."""
    samples = window([(10.0 * index, sum(gains[: index + 1])) for index in range(len(gains))])
    asked = [np.array([at]) for at in (when, when + later)]
    ends = [float(end_to_reach(*samples, at, 0.0)[0]) for at in asked]
    assert gains[0] <= ends[0] <= ends[1] <= sum(gains)
    assert end_to_reach(*samples, asked[0], slack)[0] <= ends[0]


def test_follower_always_20_s_behind() -> None:
    """docs/spec/lag.md#time-behind: at constant load the lag is 20 s for ever; with a limit of 30 s it leaves then."""
    judged = judge_each(*seen(polls(120), lambda clock: loaded(clock, 20 * RATE if clock > 30 else 0)))
    assert [lag_seconds(derived, 2) for derived in judged[4:]] == pytest.approx([20.0] * 9)
    assert [behind(derived, 2) for derived in judged] == [0.0] * 4 + [10.0 * poll for poll in range(1, 10)]
    assert [late(derived, 2) for derived in judged] == [False] * 7 + [True] * 6
    assert not any(late(derived, broker) for derived in judged for broker in (1, 3))


def test_limit_is_that_of_the_leaders_broker() -> None:
    """The leader drops the follower: its replica.lag.time.max.ms counts; while it is unknown no follower is late."""
    behind_for_20_s = seen(polls(50), lambda clock: loaded(clock, 2000 if clock > 30 else 0))
    limits = {1: BrokerConfig(replica_lag_time_max=15.0), 2: BrokerConfig(replica_lag_time_max=99.0)}
    assert late(judge(*(replace(s, broker_configs=limits) for s in behind_for_20_s)), 2)
    assert not late(judge(*(replace(s, broker_configs={2: limits[1]}) for s in behind_for_20_s)), 2)


def test_follower_that_fetches_all_the_time_is_never_behind() -> None:
    """Under load a follower lacks the records of its fetch wait: it is caught up, and has no series."""
    judged = judge_each(*seen(polls(90), lambda clock: loaded(clock, RATE // 2)))
    assert [behind(derived, 2) for derived in judged[1:]] == [0.0] * 9
    assert page(judged[-1], "replica_behind_seconds") == page(judged[-1], "replica_lag_seconds") == {}


def test_follower_just_beyond_the_fetch_wait_is_late_in_the_end() -> None:
    """Less than a poll behind and never caught up: it gets its series with the verdict, in every family."""
    judged = judge_each(*seen(polls(50), lambda clock: loaded(clock, 5 * RATE if clock > 0 else 0)))

    assert [late(derived, 2) for derived in judged] == [False] * 4 + [True] * 2
    assert page(judged[3], "replica_lag_messages") == {}
    assert page(judged[-1], "replica_behind_seconds") == {REPLICA: 50.0}
    assert page(judged[-1], "replica_lag_seconds") == pytest.approx({REPLICA: 5.0})
    assert page(judged[-1], "replica_lag_messages") == {REPLICA: 500}


def test_lag_of_a_dead_follower_grows_past_the_window() -> None:
    """The window forgets after 60 s when the leader passed it; the follower stands still, so it is remembered."""
    judged = judge_each(
        *seen(polls(200), lambda clock: loaded(clock, max(int(clock) - 40, 0) * RATE, silent=(2,) * (clock > 40)))
    )
    assert [lag_seconds(derived, 2) for derived in judged[5:]] == pytest.approx(list(range(10, 161, 10)))
    assert [behind(derived, 2) for derived in judged[5:]] == list(range(10, 161, 10))


def test_lag_of_a_moving_follower_is_at_least_the_window() -> None:
    """A follower that is 500 s behind and advancing has no moment to remember: the bound is served."""
    judged = judge_each(*seen(polls(200), lambda clock: loaded(clock + 600, 500 * RATE, out=(2,))))
    assert all(60 <= lag_seconds(derived, 2) <= 70 for derived in judged[7:])
    assert [behind(derived, 2) for derived in judged] == [float(clock) for clock in polls(200)]


def test_time_stands_still_with_the_clock() -> None:
    judged = judge_each(*seen([0, 10, 10, 10], lambda clock: loaded(clock, 300, out=(2,))))
    assert behind(judged[-1], 2) == behind(judged[1], 2) == 10.0
    assert lag_seconds(judged[-1], 2) == pytest.approx(3.0)


def test_a_silent_leader_makes_no_follower_late() -> None:
    """While it does not answer nothing is known of who follows; the lag that was is a bound; then all is as before."""
    hung = range(40, 90)

    def partition(clock: float) -> Partition:
        return loaded(min(clock, 30) if clock in hung else clock, silent=(1,) * (clock in hung))

    judged = judge_each(*seen(polls(100), partition))

    assert all(math.isnan(behind(derived, 2)) for derived in judged[4:9])
    assert all(math.isnan(lag_seconds(derived, 2)) for derived in judged[4:9])
    assert not any(late(derived, 2) for derived in judged)
    assert behind(judged[9], 2) == 0.0


def test_lag_in_seconds_behind_a_silent_leader_is_a_bound() -> None:
    judged = judge_each(
        *seen(polls(60), lambda clock: loaded(min(clock, 40), 1000, silent=(1,) * (clock > 40), out=(2,)))
    )

    assert lag_seconds(judged[4], 2) == pytest.approx(10.0)
    assert [lag_seconds(derived, 2) for derived in judged[5:]] == pytest.approx([20.0, 30.0])
    assert page(judged[-1], "replica_lag_seconds").keys() == {REPLICA}
    assert page(judged[-1], "replica_behind_seconds") == {}


def test_election_ends_what_ends_of_the_old_epoch_say() -> None:
    """The window starts again; the time of a follower in the ISR starts with the election, as in Kafka."""

    def partition(clock: float) -> Partition:
        leader, epoch = (1, 0) if clock < 50 else (3, 1)
        return loaded(clock, 20 * RATE if clock > 20 else 0, leader=leader, epoch=epoch)

    judged = judge_each(*seen(polls(90), partition))[4:]

    assert [behind(derived, 2) for derived in judged[:4]] == [20.0, 0.0, 10.0, 20.0]
    # At least 0 s says nothing.
    lags = [20.0, math.nan, 10.0, 20.0, 20.0, 20.0]
    assert [lag_seconds(derived, 2) for derived in judged] == pytest.approx(lags, nan_ok=True)


def test_election_does_not_excuse_who_is_out() -> None:
    judged = judge_each(
        *seen(
            polls(40), lambda clock: loaded(clock, 9000, out=(2,), leader=1 if clock < 30 else 3, epoch=int(clock > 20))
        )
    )

    assert [behind(derived, 2) for derived in judged] == [0.0, 10.0, 20.0, 30.0, 40.0]


def test_end_above_a_new_leaders_says_nothing() -> None:
    before = snapshot({"t": [Partition(end=1000)]}, broker_configs=CONFIGS)
    after = {"t": [Partition(end=900, leader=3, epoch=1, lag={2: -100, 1: 0}, out=(2,))]}
    derived = judge(before, snapshot(after, clock=10.0, broker_configs=CONFIGS))

    assert math.isnan(lag_seconds(derived, 2))
    assert math.isnan(behind(derived, 2))
    assert not late(derived, 2)


def test_a_poll_every_second_keeps_a_bounded_past() -> None:
    """Sixty polls a minute are thinned to some fifteen; lag and verdict are what they are at 10 s a poll."""
    judged = judge_each(*seen(polls(150, every=1), lambda clock: loaded(clock, 20 * RATE if clock > 80 else 0)))
    assert lag_seconds(judged[-1], 2) == pytest.approx(20.0)
    assert behind(judged[-1], 2) == 70.0
    assert [late(judged[clock], 2) for clock in (110, 111)] == [False, True]


def test_unknown_follower_is_not_judged() -> None:
    judged = judge(*seen(polls(60), lambda clock: replace(loaded(clock), silent=(2,), out=(2,))))
    assert judged.lag.messages[row(judged, 2)] == UNKNOWN
    assert math.isnan(behind(judged, 2))
    assert not late(judged, 2)
    assert page(judged, "replica_lag_seconds") == page(judged, "replica_behind_seconds") == {}
