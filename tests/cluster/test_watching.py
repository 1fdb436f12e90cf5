"""`Watch` fails on unexpected and on flapping throttle problems; without a cluster."""

import pytest

from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar
from tests.cluster.watching import Problem, Watch

LOPSIDED: Problem = (1, "leader", "lopsided")


def snapshot(*problems: Problem) -> Page:
    """A snapshot with these problems, raised just now."""
    name = "kafka_warden_replication_throttle_problem_seconds"
    rows = (f'{name}{{broker="{broker}",side="{side}",problem="{problem}"}} 0' for broker, side, problem in problems)
    return Page("\n".join([f"# TYPE {name} gauge", *rows, ""]))


@pytest.fixture
def watch() -> Watch:
    """Looks at pages that the test gives it."""
    return Watch(Sidecar.__new__(Sidecar))


@pytest.mark.parametrize("problem", ["lopsided", "uneven", "blocked"])
def test_an_unexpected_problem_fails_at_once(watch: Watch, problem: str) -> None:
    """Its age is 0 in the first snapshot that has it."""
    with pytest.raises(AssertionError, match="a problem that is none"):
        watch.look(snapshot((1, "leader", problem)))


def test_a_problem_that_flaps_fails(watch: Watch) -> None:
    """It may be raised once, until other problems are expected."""
    watch.problems = {LOPSIDED}
    for page in (snapshot(), snapshot(LOPSIDED), snapshot(LOPSIDED), snapshot()):
        watch.look(page)
    with pytest.raises(AssertionError, match="came back"):
        watch.look(snapshot(LOPSIDED))


def test_a_problem_may_be_raised_again_when_expected_again(watch: Watch) -> None:
    """A new phase of a test starts when it sets `problems`, to the same value, too."""
    watch.problems = {LOPSIDED}
    watch.look(snapshot(LOPSIDED))
    watch.look(snapshot())
    watch.problems = {LOPSIDED}
    watch.look(snapshot(LOPSIDED))
