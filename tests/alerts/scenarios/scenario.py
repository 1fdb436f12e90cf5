"""A scenario: what happens to a cluster, its exporters and their scrapes, and which alerts an engineer on call expects.

Times are minutes since the start of the test. `alert` is a regular expression, and so are the values of labels.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.exporter_pages import Exporter
from tests.support.over_time import MINUTE
from tests.support.promtool import Check, block, failures, write

ANY: Final = ".+"
"""Every alert. KafkaWardenWatchdog always fires, and is in no check."""


Checks = Iterable[Check]
"""What the rules must do."""


@dataclass(frozen=True)
class Scenario:
    """What happens, and what is expected.

    Attributes:
        name: It never changes.
        what: For people.
        core: It is quick, and part of `make test`.
        exporter: Arguments of the first `Exporter`.
        evaluation: Seconds between two evaluations of the rules, the scrape interval by default.
        story: Change what that exporter serves, add others, and return the checks.
    """

    name: str
    what: str
    core: bool
    exporter: Mapping[str, Any]
    evaluation: int | None
    story: Callable[[Exporter], Checks]

    def failures(self, folder: Path) -> str:
        """Run promtool on the present rules; return what it prints, or nothing if all is as expected."""
        exporter = Exporter(**self.exporter)
        checks = list(self.story(exporter))
        test = block(f"{self.name}: {self.what}", exporter.step, exporter.series_of_test(), checks)
        return failures(write(folder / f"{self.name}.test.yml", [test], self.evaluation or exporter.step))


def scenario(
    name: str, minutes: float, *, core: bool = False, evaluation: int | None = None, **exporter: Any
) -> Callable[[Callable[[Exporter], Checks]], Scenario]:
    """Make a scenario of a function; its docstring says what happens and what is expected."""
    exporter["minutes"] = minutes
    return lambda story: Scenario(name, " ".join((story.__doc__ or "").split()), core, exporter, evaluation, story)


def alerts(alert: str, besides: str = "", **labels: str) -> str:
    """Return the selector of alerts that fire, except `besides`."""
    matchers = [f'alertname=~"{alert}"', f'alertname!~"KafkaWardenWatchdog|{besides}"', 'alertstate="firing"']
    return "ALERTS{" + ", ".join([*matchers, *(f'{label}=~"{value}"' for label, value in labels.items())]) + "}"


def _ever(alert: str, since: float, until: float, labels: dict[str, str]) -> str:
    seconds = math.ceil((until - since) * MINUTE)
    return f"count(max_over_time({alerts(alert, **labels)}[{seconds}s]))"


def fires(alert: str, until: float, since: float = 0.0, **labels: str) -> Check:
    """It fires at some time between `since` and `until`."""
    return Check(until * MINUTE, f"{_ever(alert, since, until, labels)} > bool 0", 1)


def silent(alert: str = ANY, *, until: float, since: float = 0.0, **labels: str) -> Check:
    """It does not fire between `since` and `until`; the label `besides` is for alerts that may."""
    return Check(until * MINUTE, _ever(alert, since, until, labels), None)


def firing(alert: str, at: float, count: int | None = None, **labels: str) -> Check:
    """It fires at this time, with this number of instances if `count` is given."""
    query = f"count({alerts(alert, **labels)})"
    return Check(at * MINUTE, query if count else f"{query} > bool 0", count or 1)


def over(alert: str, at: float, **labels: str) -> Check:
    """It does not fire at this time."""
    return Check(at * MINUTE, f"count({alerts(alert, **labels)})", None)


def steady(alert: str, since: float, until: float, count: int = 1, **labels: str) -> tuple[Check, Check]:
    """It fires from `since` until `until` without a gap, always with this number of instances."""
    minutes = f"[{(until - since) * MINUTE:.0f}s:30s]"
    query = f"count({alerts(alert, **labels)}) or vector(0)"
    return (
        Check(until * MINUTE, f"min_over_time(({query}){minutes})", count),
        Check(until * MINUTE, f"max_over_time(({query}){minutes})", count),
    )
