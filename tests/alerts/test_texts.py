"""Summaries and descriptions are what tests/golden/texts shows, and fit on a phone."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.alerts.reading import Reading
from tests.alerts.scenarios import every
from tests.support.rules import alerting_rules

READINGS: Final = {f"{each.name.replace(' ', '_')}.txt": each for each in every(Reading)}
GOLDEN: Final = Path(__file__).parents[1] / "golden" / "texts"
LINES: Final = 5
WIDTH: Final = 40
"""Characters of a line of a summary on a phone; it shows two."""


@pytest.mark.full_alerts
@pytest.mark.parametrize("file", READINGS)
def test_texts_are_as_expected(file: str, tmp_path: Path, golden: Callable[[str, bytes], None]) -> None:
    golden(f"texts/{file}", READINGS[file].read(tmp_path).encode())


def test_every_alert_is_read() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == READINGS.keys()
    read = {alert for each in READINGS.values() for _, alert in each.moments}
    assert {rule["alert"] for rule in alerting_rules()} == read


@pytest.mark.parametrize("file", READINGS)
def test_texts_fit(file: str) -> None:
    for alert in (GOLDEN / file).read_text().replace("\n    ", "\t").splitlines():
        _, summary, *description, _ = alert.split("\t")
        assert len(summary) <= 2 * WIDTH, summary
        assert len(description) <= LINES, description
        for line in (summary, *description):
            assert line == line.strip(), line
            assert line, description
            assert "  " not in line, line
            # Causes, problems and states have one.
            assert not any("_" in word for word in line.split()), line
