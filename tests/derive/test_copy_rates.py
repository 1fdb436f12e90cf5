"""What moves gained: slopes and lines through bursts, since when a move stalls, and rates over any cadence of polls."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import copy_rates
from kafka_warden.derive.copy_rates import Minimum, Stall, stall
from kafka_warden.model import BrokerConfig, Parameters, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, judge, judge_each, known, snapshot

INF = math.inf
MB = 1e6


@pytest.mark.parametrize(
    ("why", "times", "values", "expected"),
    [
        ("no sample", [], [], None),
        ("one sample", [0], [100], None),
        ("10 s are noise", [0, 10], [100, 90], None),
        ("10 s are noise whenever they are", [100, 110], [100, 90], None),
        ("12 s of 20 s", [0, 10, 20], [100, 90, 80], (-1.0, 12)),
        ("24 s of 30 s", [0, 10, 20, 30], [100, 90, 80, 70], (-1.0, 24)),
        ("never more than 36 s", [0, 60, 96], [1000, 100, 64], (-1.0, 36)),
        ("the start of the span is interpolated", [0, 10, 20], [100, 100, 88], (-1.0, 12)),
        ("standing still", [0, 12], [100, 100], (0.0, 12)),
        ("the clock stands still", [5, 5, 5], [100, 90, 80], None),
        ("clocks are floats", [0, 11.9999999], [12, 0], (-1.0, 12)),
    ],
)
def test_slope(why: str, times: list[float], values: list[float], expected: tuple[float, float] | None) -> None:
    seen = copy_rates.slope(times, values)
    assert (seen is None) == (expected is None), why
    if seen is not None and expected is not None:
        assert (seen.rate, seen.seconds) == pytest.approx(expected, rel=1e-6), why


@pytest.mark.parametrize(("oldest", "expected"), [(-1.0, 0), (0.0, 0), (9.0, 0), (10.0, 1), (99.0, 2)])
def test_first_kept(oldest: float, expected: int) -> None:
    assert copy_rates.first_kept([0.0, 10.0, 20.0], oldest) == expected


@pytest.mark.parametrize(
    ("why", "times", "values", "expected"),
    [
        ("no sample", [], [], None),
        ("10 s are noise", [0, 10], [100, 90], None),
        ("two samples make the slope", [0, 12], [100, 88], (-1.0, 12, 0.0)),
        ("a line is met", [0, 10, 20, 30], [100, 90, 80, 70], (-1.0, 24, 0.0)),
        ("the start is interpolated", [0, 10, 20], [100, 100, 88], None),
        ("standing still", [0, 12], [100, 100], (0.0, 12, 0.0)),
        ("one that is early is ahead", [0, 12, 24, 36], [0, 10, 20, 38], (1.0333, 36, 2.4)),
        ("the clock stands still", [5, 5, 5], [100, 90, 80], None),
    ],
)
def test_trend(why: str, times: list[float], values: list[float], expected: tuple[float, float, float] | None) -> None:
    """The line of least squares over the span of the slope, and how far the last value is off it."""
    seen, slope = copy_rates.trend(times, values), copy_rates.slope(times, values)
    assert (seen is None) == (slope is None), why
    if seen is not None and expected is not None:
        assert (seen.rate, seen.seconds, seen.ahead) == pytest.approx(expected, abs=1e-3), why


def bursts(times: list[float]) -> list[float]:
    """What was gained by then: 11.5 bytes every 11.5 s."""
    return [11.5 * (then // 11.5) for then in times]


@given(st.floats(0, 11.5), st.floats(3, 15), st.integers(1, 4))
def test_bursts_put_a_trend_off_by_one_and_a_half_of_them_at_most(first: float, step: float, grains: int) -> None:
    times = [first + step * poll for poll in range(int(120 / step))]
    seen = known(copy_rates.trend(times, bursts(times), longest=3 * grains))
    assert abs(seen.rate - 1) * seen.seconds <= 1.5 * 11.5
    assert abs(seen.ahead) <= 1.5 * 11.5


def test_a_trend_is_nearer_to_the_rate_of_bursts_than_a_slope() -> None:
    """By half in the mean, whenever the first poll is."""
    errors: dict[str, list[float]] = {"trend": [], "slope": []}
    for first in np.arange(0, 11.5, 0.1).tolist():
        times = [first + 5.0 * poll for poll in range(26)]
        errors["trend"].append(known(copy_rates.trend(times, bursts(times), longest=10)).rate - 1)
        errors["slope"].append(known(copy_rates.slope(times, bursts(times), longest=10)).rate - 1)
    assert np.std(errors["trend"]) < 0.5 * np.std(errors["slope"])


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e15, 1e15)), max_size=20), st.floats(-1e6, 1e6))
def test_slopes_are_finite(samples: list[tuple[float, float]], shift: float) -> None:
    samples.sort()
    times, values = [at for at, _ in samples], [value for _, value in samples]
    seen = copy_rates.slope(times, values)

    if seen is not None:
        assert math.isfinite(seen.rate)
        assert seen.seconds in {12, 24, 36}
        shifted = copy_rates.slope([at + shift for at in times], values)
        assert shifted is None or shifted.seconds in {12, 24, 36}
    line = copy_rates.trend(times, values)
    assert (line is None) == (seen is None)
    assert line is None or np.isfinite([line.rate, line.ahead]).all()


Samples = list[tuple[float, float | None]]


@pytest.mark.parametrize(
    ("why", "samples", "expected"),
    [
        ("first sight", [(0, 100)], Stall(0, 0)),
        ("shrinking", [(0, 100), (10, 90), (20, 80)], Stall(0, 0)),
        ("standing still", [(0, 100), (10, 100), (20, 100)], Stall(20, 2)),
        ("advancing while inbound outruns it: no new minimum", [(0, 100), (10, 110), (20, 105)], Stall(20, 2)),
        ("new minimum after a rise", [(0, 100), (10, 110), (20, 99)], Stall(0, 0)),
        ("a poll without an answer neither ends nor counts", [(0, 100), (10, None), (20, 100)], Stall(20, 1)),
        ("nothing remains and the move is still listed", [(0, 5), (10, 0), (20, 0)], Stall(10, 1)),
        ("a long pause of the sidecar is one sample", [(0, 100), (600, 100)], Stall(600, 1)),
        ("the clock stands still", [(5, 100), (5, 100)], Stall(0, 1)),
        ("the clock goes back", [(50, 100), (20, 100)], Stall(0, 1)),
    ],
)
def test_stall(why: str, samples: Samples, expected: Stall) -> None:
    state: Minimum | None = None
    seen = None
    for clock, value in samples:
        state, seen = stall(state, clock, value)
    assert seen == expected, why


def test_stall_says_nothing_about_an_unknown_value() -> None:
    """A poll in which what remains is not known has no stall clock, and the next one goes on where it stood."""
    state, _ = stall(None, 0, 100)
    assert stall(state, 10, None) == (state, None)
    assert stall(None, 10, None) == (None, None)


TOPICS = 40
LOOKS: list[int] = []


class ThrottledTraffic(tuple[str, ...]):
    """Names of topics that count how often they are looked through."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        LOOKS.append(len(self))
        return super().__iter__()


def poll(number: int, ended: int) -> Any:
    """So many of the moves are over in the third poll, the others go on."""
    moving = Partition(replicas=(1, 2), adding=(2,), end=1000, lag={2: 500 - 50 * number})
    over = Partition(replicas=(1, 2), end=1000)
    topics = {f"t{topic:02d}": [over if number == 2 and topic < ended else moving] for topic in range(TOPICS)}
    seen = snapshot(topics, clock=10.0 * number)
    object.__setattr__(seen, "topics", ThrottledTraffic(seen.topics))
    return seen


def looks(ended: int) -> int:
    polls = [poll(number, ended) for number in range(3)]
    LOOKS.clear()
    judge_each(*polls)
    return len(LOOKS)


@pytest.mark.parametrize("ended", [2, TOPICS - 1])
def test_moves_that_end_together_cost_no_look_at_all_topics_each(ended: int) -> None:
    assert looks(ended) == looks(1)


@pytest.mark.parametrize(
    ("step", "window"), [(10.0, (11, 1.0)), (120.0, (11, 1.0)), (10.0, (30, 5.0)), (10.0, (1, 1.0)), (1.0, (1, 1.0))]
)
def test_rates_of_slow_polls_and_of_long_and_short_windows(step: float, window: tuple[int, float]) -> None:
    """Two polls make a rate however far apart they are, and an unthrottled ETA waits for a window and no longer."""
    config = {broker: BrokerConfig(quota_window_num=window[0], quota_window_size=window[1]) for broker in (1, 2)}
    polls = [
        snapshot(
            {"t": [Partition(replicas=(1, 2), adding=(2,), end=90_000_000, lag={2: 80_000_000 - 10_000 * int(clock)})]},
            clock=clock,
            broker_configs=config,
            topic_configs={"t": TopicConfig()},
        )
        for clock in (step * poll for poll in range(int(600 / step) + 1))
    ]
    (move,) = judge(*polls, parameters=Parameters(poll_interval=step)).moves

    assert move.bytes_per_second == pytest.approx(10_000 * BYTES_PER_OFFSET)
    assert move.eta == pytest.approx((80_000_000 - 10_000 * 600) / 10_000)
