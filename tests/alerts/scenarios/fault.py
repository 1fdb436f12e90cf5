"""A fault that begins and does not end, and the alert that must fire within `kafka_warden.rules.delays`.

It is tested alone, and at a random time in clusters whose scrapes fail and whose exporters restart.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_warden.rules.delays import Intervals, delays
from tests.support.exporter_pages import Exporter

Change = Callable[[Exporter, float], None]
"""Changes what an exporter serves from a time on, in seconds."""


@dataclass(frozen=True)
class Fault:
    """A fault and its alert.

    Attributes:
        name: It is unique.
        alert: The alert that must fire.
        case: What the fault is called in `delays`.
        labels: Of the alert, if it has other instances.
        begins: Seconds after the start of the change at which the time of `delays` begins.
        change: Cause the fault at a time.
    """

    name: str
    alert: str
    case: str
    labels: Mapping[str, str]
    begins: float
    change: Change

    def longest(self, intervals: Intervals) -> float:
        """Return the seconds from the start of the change until the alert has fired, if every scrape succeeds."""
        times = {(case.alert, case.fault): seconds for case, seconds in delays({}, intervals).items()}
        return self.begins + times[self.alert, self.case]


def fault(alert: str, case: str = "", *, begins: float = 0.0, **labels: str) -> Callable[[Change], Fault]:
    """Make a fault of the function that causes it."""
    return lambda change: Fault(f"{alert}: {change.__name__}", alert, case, labels, begins, change)
