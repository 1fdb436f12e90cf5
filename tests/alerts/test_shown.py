"""What counts as a panel that shows something, by a real Prometheus and with no Kafka."""

import time
from collections.abc import Iterator

import pytest

from sandbox.monitoring import Prometheus
from tests.alerts import shown
from tests.support.dashboards import Target

SINCE = 20.0
"""Seconds."""
LATER = "vector(time() > bool {middle})"
"""0 until half of that time has passed, then 1."""
TWO = 'label_replace({0}, "broker", "1", "", "") or label_replace({1}, "broker", "2", "", "")'
"""Two series."""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, no_process_left: None) -> Iterator[Prometheus]:
    with Prometheus(tmp_path_factory.mktemp("prometheus"), []) as running:
        yield running


def query(expr: str, kind: str = "stat", panel: str = "Stuck followers") -> Target:
    return Target("replicas", panel, kind, "", "", expr, instant=kind != "timeseries")


@pytest.mark.parametrize(
    ("expr", "kind", "moves"),
    [
        ("vector(1)", "timeseries", True),
        ("vector(0)", "timeseries", False),
        ("vector(-1)", "stat", True),
        ("vector(Inf)", "stat", True),
        ("vector(NaN)", "stat", False),
        ("vector(1) > 2", "table", False),
        ("vector(2) > 1", "table", True),
        (LATER, "stat", True),
        (LATER, "state-timeline", True),
        ("vector(1)", "state-timeline", False),
        (TWO.format("vector(0)", "vector(1)"), "state-timeline", False),
        (TWO.format("vector(0)", LATER), "state-timeline", True),
        (TWO.format("vector(0)", "vector(1)"), "stat", True),
    ],
)
def test_a_value_other_than_0_moves(prometheus: Prometheus, expr: str, kind: str, moves: bool) -> None:
    """At any moment, of a query of now too; no row and NaN are nothing, and a state has to change, of one series."""
    now = time.time()
    wanted = query(expr.format(middle=now - SINCE / 2), kind)
    assert shown.those_that_moved(prometheus, [wanted], now - SINCE) == ({wanted.key} if moves else set())


@pytest.mark.parametrize(("expr", "moves"), [("vector(0)", True), ("vector(0) > 1", False)])
def test_what_is_0_by_nature_has_data(prometheus: Prometheus, expr: str, moves: bool) -> None:
    """A panel that `grafana/quiet.py` names may stay at 0, and may not be empty."""
    wanted = query(expr, panel="Unclean leader elections")
    assert shown.those_that_moved(prometheus, [wanted], time.time()) == ({wanted.key} if moves else set())


def test_the_range_is_that_of_the_fault(prometheus: Prometheus) -> None:
    """What a panel says of the time that is shown is asked of the time since the fault began, and of no other."""
    now = time.time()
    ages = query("time() - min_over_time(vector(time())[$__range:1s])")
    ((age,),) = shown.values(prometheus, ages, now - SINCE, now)
    assert SINCE - 1 <= age <= SINCE


def test_panels_are_waited_for(prometheus: Prometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    assert shown.until_moved(prometheus, [query(LATER.format(middle=now + 3))], now) == set()
    monkeypatch.setattr(shown, "SHOWS_WITHIN", 0.0)
    never = query("vector(0)")
    assert shown.until_moved(prometheus, [never], now) == {never.key}
