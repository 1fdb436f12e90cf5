"""The rules do what an engineer on call expects, in each scenario of `scenarios/`."""

from pathlib import Path
from typing import Final

import pytest

from tests.alerts.scenarios import brokers, disks, exporters, moves, partitions, quotas, scraping
from tests.alerts.scenarios.scenario import Scenario

SCENARIOS: Final = [
    value
    for module in (scraping, exporters, brokers, partitions, moves, disks, quotas)
    for value in vars(module).values()
    if isinstance(value, Scenario)
]


def _parameters() -> list[object]:
    marks = {True: (), False: (pytest.mark.full_alerts,)}
    return [pytest.param(each, id=each.name, marks=marks[each.core]) for each in SCENARIOS]


@pytest.mark.parametrize("scenario", _parameters())
def test_alerts_are_as_expected(scenario: Scenario, tmp_path: Path) -> None:
    """Every check of the scenario holds."""
    printed = scenario.failures(tmp_path)
    assert not printed, f"{scenario.name}: {scenario.what}\n{printed}"


def test_scenarios_have_their_own_names() -> None:
    """No name is used twice, and each scenario says what happens."""
    names = [each.name for each in SCENARIOS]
    assert len(set(names)) == len(names)
    assert all(": " in each.what for each in SCENARIOS)
