"""What an engineer on call reads: a scenario, and the texts of its alerts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import promtool
from tests.support.exporter_pages import Exporter
from tests.support.over_time import MINUTE
from tests.support.promtool import Text, block, texts


@dataclass(frozen=True)
class Reading:
    """A scenario whose alerts are read.

    Attributes:
        name: What happens.
        exporters: They have one scrape interval.
        texts: The alerts that are read.
        evaluation: Seconds between two evaluations of the rules.
    """

    name: str
    exporters: Sequence[Exporter]
    texts: Sequence[Text]
    evaluation: int = 15

    def write(self, folder: Path) -> Path:
        """Write the test for promtool."""
        series = [each for exporter in self.exporters for each in exporter.series()]
        test = block(self.name, self.exporters[0].step, series, []) | texts(self.texts)
        return promtool.write(folder / "texts.test.yml", [test], self.evaluation)


def text(minute: float, alert: str, summary: str, *description: str, severity: str = "warning", **labels: str) -> Text:
    """Return what an alert of the cluster prod reads like at a minute."""
    of_alert = {"cluster": "prod", "severity": severity, **labels}
    return Text(minute * MINUTE, alert, of_alert, summary, description)
