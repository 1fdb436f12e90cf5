"""Proof table of the mean of a rate, and what bounds its memory."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import UNKNOWN, Axis, carry
from kafka_warden.derive.columns import realign
from kafka_warden.derive.inbound import GRAIN, SPAN, Sums, at_least, spanned, step_mean

NAN = math.nan


def fold(rates: Sequence[float], every: float = 10.0) -> list[float]:
    state, means = tuple[Sums, ...](), list[float]()
    for number, rate in enumerate(rates):
        state, mean = step_mean(state, every * number, np.array([rate]))
        means.append(float(mean[0]))
    return means


@pytest.mark.parametrize(
    ("why", "rates", "every", "expected"),
    [
        ("nothing is known of the first poll", [NAN], 10, NAN),
        ("what there is", [NAN, 4], 10, 4),
        ("what there is, of two", [NAN, 4, 2], 10, 3),
        ("steady", [NAN, 5, 5, 5, 5, 5, 5], 10, 5),
        ("a burst of 10 of 40 s", [NAN, 0, 0, 0, 2], 10, 0.5),
        ("the same, wherever it lies", [NAN, 0, 2, 0, 0], 10, 0.5),
        ("what is older is forgotten", [NAN, 90, 1, 1, 1, 1], 10, 1),
        ("unknown rates do not count", [NAN, 4, NAN, NAN, 2], 10, 3),
        ("the rate stays unknown", [NAN, 4, NAN, NAN, NAN, NAN], 10, NAN),
        ("polls farther apart than the span", [NAN, 4, 8], 60, 8),
        ("a poll a second", [NAN, *[9] * 20, *[3] * 40], 1, 3),
        ("a clock that stands still", [NAN, 4], 0, NAN),
    ],
)
def test_mean(why: str, rates: list[float], every: float, expected: float) -> None:
    """Time-weighted over some 36 s, of what is known."""
    assert fold(rates, every)[-1] == pytest.approx(expected, nan_ok=True), why


def test_polls_of_different_lengths_weigh_what_they_last() -> None:
    """30 s at 1 and 10 s at 5."""
    state, _ = step_mean((), 0.0, np.array([NAN]))
    state, _ = step_mean(state, 30.0, np.array([1.0]))
    state, mean = step_mean(state, 40.0, np.array([5.0]))
    assert (mean.tolist(), spanned(state).tolist()) == ([2.0], [40.0])


@given(st.floats(0.2, 100), st.integers(1, 400))
def test_memory_is_bounded_however_often_is_polled(every: float, polls: int) -> None:
    """And it reaches back as far as the span, or to the first poll."""
    state: tuple[Sums, ...] = ()
    for number in range(polls):
        state, _ = step_mean(state, every * number, np.zeros(1))
    reach = state[-1].clock - state[0].clock
    assert len(state) <= SPAN / GRAIN + 4
    assert reach >= min(SPAN, every * (polls - 1)) - 1e-6
    assert reach <= SPAN + max(every, GRAIN + every)


def test_rows_are_carried() -> None:
    assert carry(np.zeros(0), np.array([UNKNOWN, UNKNOWN]), 7.0).tolist() == [7.0, 7.0]
    assert carry(np.array([5.0]), np.array([UNKNOWN, 0]), 7.0).tolist() == [7.0, 5.0]
    state, _ = step_mean((), 0.0, np.array([NAN, NAN]))
    state, _ = step_mean(state, 10.0, np.array([1.0, 2.0]))
    moved = realign(state, {Axis.PARTITION: np.array([1, -1, 0])})
    assert step_mean(moved, 20.0, np.array([4.0, 7.0, 1.0]))[1].tolist() == [3.0, 7.0, 1.0]


def test_at_least() -> None:
    found = at_least(np.array([0.5, 2.0, 3.0, NAN]), np.array([2.0, 0.0, NAN, NAN]))
    assert found.tolist() == pytest.approx([0.5, 0.0, 3.0, NAN], nan_ok=True)
