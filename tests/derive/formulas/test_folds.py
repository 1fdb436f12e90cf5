"""The clocks: for how long a move has stalled, and a condition has held. Times are seconds of one clock."""

import numpy as np
import pytest

from kafka_warden.derive.cluster import since
from kafka_warden.derive.copy_rates import Minimum, Stall, stall

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


@pytest.mark.parametrize(
    ("why", "samples", "expected"),
    [
        ("never held", [(0, False)], np.nan),
        ("begins with the first sight", [(5, True)], 0),
        ("goes on", [(5, True), (15, True), (25, True)], 20),
        ("a break ends it", [(5, True), (15, False)], np.nan),
        ("and starts again", [(5, True), (15, False), (25, True), (35, True)], 10),
        ("the clock goes back", [(50, True), (20, True)], 0),
    ],
)
def test_since(why: str, samples: list[tuple[float, bool]], expected: float) -> None:
    start = seconds = np.full(1, np.nan)
    for clock, holds in samples:
        start, seconds = since(start, clock, np.array([holds]))
    np.testing.assert_equal(seconds, [expected], err_msg=why)
