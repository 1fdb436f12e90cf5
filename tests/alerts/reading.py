"""What an engineer on call reads: a scenario, and the alerts whose texts are read."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.support.exporter_pages import Exporter
from tests.support.promtool import block, failures, write

FIRED: Final = re.compile(r"alertname: (?P<alert>\w+), time: (?P<time>\w+),|(?:Labels|Annotations):{(?P<values>.*)}")
VALUE: Final = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class Reading:
    """A scenario whose alerts are read.

    Attributes:
        name: What happens.
        moments: Minutes, and the name of an alert that fires then.
        exporter: Arguments of the first `Exporter`.
        evaluation: Seconds between two evaluations of the rules, the scrape interval by default.
        story: Change what that exporter serves, and add others.
    """

    name: str
    moments: Sequence[tuple[int, str]]
    exporter: Mapping[str, Any]
    evaluation: int | None
    story: Callable[[Exporter], None]

    def read(self, folder: Path) -> str:
        """Return time, name and labels of each alert, then its summary, description and link to the dashboard."""
        exporter = Exporter(**self.exporter)
        self.story(exporter)
        # Promtool prints what is not expected.
        asked = [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []} for minute, alert in self.moments]
        test = block(self.name, exporter.step, exporter.series_of_test(), []) | {"alert_rule_test": asked}
        lines, seen = list[str](), list[str]()
        for match in FIRED.finditer(
            failures(write(folder / "texts.test.yml", [test], self.evaluation or exporter.step))
        ):
            values = {name: json.loads(value) for name, value in VALUE.findall(match["values"] or "")}
            if match["alert"]:
                seen.append(f"{match['time']} {match['alert']}")
            elif "summary" in values:
                texts = (values["summary"], *values["description"].split("\n"), values["dashboard_url"])
                lines += [f"    {line}" for line in texts]
            else:
                labels = {name: value for name, value in values.items() if name not in ("alertname", "exporter")}
                lines.append(" ".join([seen[-1], *(f"{name}={value}" for name, value in labels.items())]))
        assert len(seen) == len(self.moments), f"no other alert fires: {seen}"
        return "\n".join([*lines, ""])


def reading(
    name: str, minutes: float, *moments: tuple[int, str], evaluation: int | None = None, **exporter: Any
) -> Callable[[Callable[[Exporter], None]], Reading]:
    """Make a reading of a function, as `scenario` does."""
    exporter["minutes"] = minutes
    return lambda story: Reading(name, moments, exporter, evaluation, story)
