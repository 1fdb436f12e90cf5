"""The table of throttle problems, row by row, and the clock that every problem runs on."""

import math

import numpy as np
import pytest

from kafka_warden.derive import throttle_problems as problems

INF = math.inf
NAN = math.nan


def flags(*values: int) -> np.ndarray:
    return np.array(values, dtype=bool)


def numbers(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


Polls = list[tuple[float, bool | None]]


@pytest.mark.parametrize(
    ("why", "polls", "grace", "expected"),
    [
        ("two polls are not enough", [(0, True), (10, True)], 0, None),
        ("the third raises it, aged since the first", [(0, True), (10, True), (20, True)], 0, 20),
        ("it ends with its cause", [(0, True), (10, True), (20, True), (30, False)], 0, None),
        ("and starts again", [(0, True), (10, True), (20, False), (30, True), (40, True)], 0, None),
        ("an undecided poll does not count", [(0, True), (10, None), (20, True)], 0, None),
        ("nor does it end anything", [(0, True), (10, True), (20, True), (30, None)], 0, 30),
        ("three in a row do", [(0, True), (1, True), (2, True), (3, None), (4, None), (5, None)], 0, None),
        ("two, and it goes on", [(0, True), (1, True), (2, None), (3, None), (4, True)], 0, 4),
        ("unknown begins nothing", [(0, None), (10, None), (20, None), (30, None)], 0, None),
        ("grace is not over", [(0, True), (10, True), (59, True)], 60, None),
        ("grace is over", [(0, True), (10, True), (60, True)], 60, 60),
        ("the clock stands still", [(5, True), (5, True), (5, True)], 0, 0),
        ("the clock goes back", [(50, True), (40, True), (30, True)], 0, 0),
    ],
)
def test_three_polls(why: str, polls: Polls, grace: float, expected: float | None) -> None:
    state: problems.Held | None = None
    for clock, holds in polls:
        state = problems.persist(state, clock, holds)
    assert (None if state is None else problems.raised(state, polls[-1][0], grace)) == expected, why


@pytest.mark.parametrize(
    ("why", "limit", "never_ends", "may_lose", "expected"),
    [
        ("never", 1.0, True, True, True),
        ("limit 0 is blocked", 0.0, True, True, False),
        ("something else holds it up", 1.0, True, False, False),
        ("it ends", 1.0, False, True, False),
        ("it ends, whatever the throttle can be the reason of", 1.0, False, None, False),
        ("unknown whether it ends", 1.0, None, True, None),
        ("unknown whether the throttle is the reason", 1.0, True, None, None),
    ],
)
def test_below_inbound(
    why: str, limit: float, never_ends: bool | None, may_lose: bool | None, expected: bool | None
) -> None:
    assert problems.below_inbound(limit, never_ends, may_lose) is expected, why


@pytest.mark.parametrize(
    ("why", "limits", "counted", "expected"),
    [
        ("alike", [2, 2, 2], [1, 1, 1], [0, 0, 0]),
        ("one differs, and all of them are marked", [2, 2, 5], [1, 1, 1], [1, 1, 1]),
        ("blocked on one", [0, 2, 2], [1, 1, 1], [1, 1, 1]),
        ("one without a limit is lopsided instead", [2, 2, INF], [1, 1, 1], [0, 0, 0]),
        ("an unknown one differs from none", [2, NAN, 5], [1, 1, 1], [1, 0, 1]),
        ("the list of that side names none of them", [2, 5, 5], [0, 0, 0], [0, 0, 0]),
    ],
)
def test_differing(why: str, limits: list[float], counted: list[int], expected: list[int]) -> None:
    group = np.array([0, 0, 0, 1], dtype=np.int32)
    found = problems.differing(group, numbers(*limits, 9.0), flags(*counted, 1))
    assert found.tolist() == [*map(bool, expected), False], why


def test_differing_of_nothing() -> None:
    assert problems.differing(np.zeros(0, np.int32), numbers(), flags()).tolist() == []


@pytest.mark.parametrize(
    ("why", "ours", "limit", "theirs", "other", "expected"),
    [
        ("both sides", 1, 2, 1, 2, False),
        ("no list here", 0, 2, 1, 2, True),
        ("no rate here", 1, INF, 1, 2, True),
        ("blocked here is held back, too", 1, 0, 1, 2, False),
        ("an unknown rate here", 1, NAN, 1, 2, False),
        ("no throttle at all", 0, INF, 0, INF, False),
        ("a list there without a rate", 0, INF, 1, INF, False),
        ("an unknown rate there", 0, INF, 1, NAN, False),
    ],
)
def test_one_sided(why: str, ours: int, limit: float, theirs: int, other: float, expected: bool) -> None:
    found = problems.one_sided(flags(ours), numbers(limit), flags(theirs), numbers(other))
    assert found.tolist() == [expected], why


@pytest.mark.parametrize(
    ("why", "limits", "named", "wildcard", "expected"),
    [
        ("named one by one", [INF, 2], [1, 1], [0, 0], [1, 0]),
        ("a wildcard names those that take no part, too", [INF, 2], [0, 0], [1, 1], [0, 0]),
        ("but a wildcard without any rate throttles nothing", [INF, INF], [0, 0], [1, 0], [1, 0]),
        ("an unknown rate", [NAN, 2], [1, 1], [0, 0], [0, 0]),
        ("an unknown rate may be one", [INF, NAN], [0, 0], [1, 1], [0, 0]),
    ],
)
def test_list_without_rate(
    why: str, limits: list[float], named: list[int], wildcard: list[int], expected: list[int]
) -> None:
    found = problems.list_without_rate(numbers(*limits), flags(*named), flags(*wildcard))
    assert found.tolist() == list(map(bool, expected)), why
