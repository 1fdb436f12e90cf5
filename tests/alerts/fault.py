"""What a fault is: how it is caused, which alerts it must bring, and how it is undone."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.alerts.stage import REAL, Fired, Pace, Stage


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: Short, unique.
        what: For people.
        happen: Causes it, yields the alerts that must fire and no others, and undoes it.
    """

    name: str
    what: str
    happen: Callable[[Stage], AbstractContextManager[set[Fired]]]


def fault(name: str, what: str) -> Callable[[Callable[[Stage], Iterator[set[Fired]]]], Fault]:
    """Make a fault of a generator that causes it, yields its alerts and undoes it, whatever came of them."""

    def make(happen: Callable[[Stage], Iterator[set[Fired]]]) -> Fault:
        @contextmanager
        def caused(stage: Stage) -> Iterator[set[Fired]]:
            steps = happen(stage)
            brought = next(steps)
            try:
                yield brought
            finally:
                for _ in steps:
                    raise AssertionError(f"{name} yields its alerts once")

        return Fault(name, what, caused)

    return make


@dataclass(frozen=True)
class Round:
    """Faults at the same time on one cluster, caused in this order and undone in the other one."""

    name: str
    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Timed:
    """A fault alone on a stage, and how soon its alert must fire.

    Attributes:
        fault: The fault.
        alert: The alert that is timed, "" where none may fire.
        within: Seconds from the fault until it fires, at most.
        watched: Seconds from the fault until it is undone, at least: what else fires meanwhile is a failure.
        pace: How fast the stage runs.
    """

    fault: Fault
    alert: str
    within: float
    watched: float
    pace: Pace = REAL
