"""Lag as time. Offsets and seconds; the leader of most rows gains 100 offsets a second, polled every 10 s."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import UNKNOWN, Floats, Longs
from kafka_warden.derive.replica_time import LagSeconds, behind, end_at, end_to_reach, lag_seconds, standing_still

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
    seen = lag_seconds(np.array([follower]), *window(samples), now)
    np.testing.assert_allclose(seen.values, [expected], err_msg=why)
    assert seen.at_least.tolist() == [at_least], why


@pytest.mark.parametrize(
    ("why", "when", "expected"),
    [
        ("at a poll", 10, 1000),
        ("between", 14.5, 1450),
        ("later", 99, 3000),
        ("before the window", -1, NAN),
        ("first", 0, 0),
    ],
)
def test_end_at(why: str, when: float, expected: float) -> None:
    np.testing.assert_allclose(end_at(*window(CONSTANT), np.array([float(when)])), [expected], err_msg=why)


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


def test_behind_starts_with_the_first_sight() -> None:
    """A follower that was never seen caught up is behind since it was first seen, at least."""
    state, seconds = behind(np.array([NAN]), 100.0, np.array([False]))
    assert seconds.tolist() == [0.0]
    _, seconds = behind(state, 130.0, np.array([False]))
    assert seconds.tolist() == [30.0]


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
    """Lag is unknown or between 0 and the age of the window."""
    seen = lag_seconds(np.array([follower]), *window(samples), now).values[0]
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


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1, max_size=20))
def test_behind_is_never_negative(polls: list[tuple[float, bool]]) -> None:
    """Whatever the clock does, behind is 0 while caught up and never negative."""
    state = np.array([NAN])
    for clock, caught in polls:
        state, seconds = behind(state, clock, np.array([caught]))
        assert seconds[0] >= 0
        if caught:
            assert seconds[0] == 0
