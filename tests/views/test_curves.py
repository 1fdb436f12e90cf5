"""Curves of the last hour, as `top` draws them; tests/web compares what the page draws."""

import math

from kafka_warden.top.output import BLOCKS, LONGEST, curve_line
from kafka_warden.views import recent
from kafka_warden.views.recent import Curve, History, SideHistory


def drawn(curve: Curve, width: int = 200) -> str:
    return curve_line(curve, width)[:LONGEST]


def test_the_last_value_is_at_the_right() -> None:
    """An hour in 60 cells: a minute each, the largest value of each, with a mark even for the least."""
    times = [60.0 * minute for minute in range(61)]
    found = drawn(Curve("", times, [float(minute) for minute in range(61)]))

    assert len(found) == LONGEST
    assert list(found) == sorted(found, key=BLOCKS.index)
    assert (found[0], found[-1]) == ("▁", "█")


def test_a_value_goes_on_until_the_next_sample_and_the_unknown_is_empty() -> None:
    """Polls may be farther apart than cells; before the first one nothing is drawn."""
    found = drawn(Curve("", [0.0, 120.0, 240.0, 300.0], [1.0, 1.0, None, 1.0]))

    assert found == " " * 29 + "█" * 24 + " " * 6 + "█"


def test_a_step_has_the_largest_of_its_values() -> None:
    curve = Curve("", [0.0, 1.0, 2.0, 599.0, 600.0], [1.0, 5.0, 2.0, math.inf, None])
    assert curve.steps(curve.values, 2) == [(0, 5.0), (2, None)]
    assert curve.top == 5.0 * 1.05
    assert Curve("", [], []).steps([], 2) == []


def test_what_a_curve_says_is_kept_in_a_narrow_terminal() -> None:
    history = History((0.0, 10.0), (5e6, 3e6), (1.0, 1.0), (0.0, 0.0), (0.0, 0.0), (4.0, 2.0), ())
    assert curve_line(recent.of_remaining(history), 40) == "Bytes left in the last hour: now 3 MB"
    assert (
        curve_line(recent.of_out_of_sync(history), 100)
        .rstrip()
        .endswith("  Replicas out of sync in the last hour: now 2")
    )
    side = SideHistory(1, "leader", (1e6, None), (2e6, 2e6))
    says = curve_line(recent.of_side(history, side), 120).rstrip()
    assert says.endswith("  Copied in the last hour: now nothing, limit 2 MB/s")
    assert len(says) <= 120
