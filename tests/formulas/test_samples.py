"""How long a poll counts, how good a prediction was, and how good a rule is."""

import math

import numpy as np
import pytest

from kafka_warden.formulas import alarms, samples
from kafka_warden.formulas.ops import ARRAYS, NUMBERS

INF = math.inf


@pytest.mark.parametrize(
    ("why", "time", "expected"),
    [
        ("as usual", 1100.0, 1100.0),
        ("slowly corrected", 1100.9, 1100.9),
        ("set forward by an hour", 4700.0, 1100.0),
        ("set back", 500.0, 1100.0),
    ],
)
def test_a_clock_that_was_set_is_set_right(why: str, time: float, expected: float) -> None:
    """By the monotonic clock of the run, at 100 s, with the 1000 s that they usually differ by."""
    assert samples.steady_time(NUMBERS, time, 100.0, 1000.0) == expected, why


@pytest.mark.parametrize(
    ("why", "at", "expected"),
    [
        ("before the next day", 990.0, 990.0),
        ("the clock was set back by a minute", 1060.0, 999.0),
        ("by almost a day", 87_000.0, 999.0),
        ("by more than a day", 88_000.0, 88_000.0),
    ],
)
def test_a_poll_is_not_later_than_the_next_day(why: str, at: float, expected: float) -> None:
    """Which begins at 1000 s, or up to a second earlier by its first poll."""
    assert samples.in_order(NUMBERS, at, 1000.0) == expected, why


def test_a_poll_speaks_until_the_next_but_not_through_a_silence() -> None:
    """Three of the usual intervals, or of poll.interval where history is kept more often than usual."""
    after = samples.silence(NUMBERS, 60.0, 10.0)
    assert after == 180
    assert samples.silence(NUMBERS, 1.0, 10.0) == 30
    until_next = np.array([60.0, 179.0, 3600.0, -5.0])
    assert samples.held(ARRAYS, until_next, ARRAYS.lit(after)).tolist() == [60, 179, 180, 0]


def test_retention_is_no_step_back() -> None:
    """A log that shrank did not grow."""
    assert samples.growth(ARRAYS, np.array([5.0, 2.0]), np.array([3.0, 3.0])).tolist() == [2, 0]


def test_no_further_is_at_most_what_was_between() -> None:
    """A move that last got further in the poll before lost all the time between; one that did just now none."""
    assert samples.not_further(NUMBERS, 10.0, 10.0) == 10
    assert samples.not_further(NUMBERS, 300.0, 10.0) == 10
    assert samples.not_further(NUMBERS, 0.0, 10.0) == 0


@pytest.mark.parametrize(("limit", "expected"), [(10.0, 0.7), (INF, 0.0), (0.0, None)])
def test_use_of_a_limit(limit: float, expected: float | None) -> None:
    """In-sync traffic and moves together; nothing of no limit."""
    assert samples.side_use(NUMBERS, 3.0, 4.0, limit) == (None if expected is None else pytest.approx(expected))
    assert samples.share(NUMBERS, 7.0, limit) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("predicted", "taken", "expected"), [(150.0, 100.0, 0.5), (50.0, 100.0, -0.5), (INF, 100.0, INF), (10.0, 0.0, None)]
)
def test_relative_error(predicted: float, taken: float, expected: float | None) -> None:
    """Too long is above 0, too short below, never is infinite."""
    assert samples.relative_error(NUMBERS, predicted, taken) == expected


def test_rates_of_nothing_are_unknown() -> None:
    """No time, no alarm, nothing that happened."""
    assert samples.mean_rate(NUMBERS, 30.0, 10.0) == 3
    assert samples.mean_rate(NUMBERS, 30.0, 0.0) is None
    assert (alarms.precision(NUMBERS, 3.0, 1.0), alarms.recall(NUMBERS, 1.0, 3.0)) == (0.75, 0.25)
    assert alarms.precision(NUMBERS, 0.0, 0.0) is None
    assert alarms.recall(NUMBERS, 0.0, 0.0) is None


def test_for_zero_fires_at_once() -> None:
    """And a condition that holds for just as long as it has to fires."""
    assert alarms.fires(0.0, 0.0)
    assert alarms.fires(60.0, 60.0)
    assert not alarms.fires(59.0, 60.0)
