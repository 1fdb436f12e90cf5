"""The rules do what an engineer on call expects, in each scenario of `scenarios/`."""

from pathlib import Path
from typing import Final

import pytest

from tests.alerts.scenarios import every
from tests.alerts.scenarios.scenario import Scenario
from tests.support.exporter_pages import Exporter
from tests.support.over_time import during
from tests.support.promtool import encoded

SCENARIOS: Final = every(Scenario)


def _parameters() -> list[object]:
    marks = {True: (), False: (pytest.mark.full_alerts,)}
    return [pytest.param(each, id=each.name, marks=marks[each.core]) for each in SCENARIOS]


@pytest.mark.parametrize("scenario", _parameters())
def test_alerts_are_as_expected(scenario: Scenario, tmp_path: Path) -> None:
    printed = scenario.failures(tmp_path)
    assert not printed, f"{scenario.name}: {scenario.what}\n{printed}"


def test_scenarios_have_their_own_names() -> None:
    names = [each.name for each in SCENARIOS]
    assert len(set(names)) == len(names)
    assert all(each.what for each in SCENARIOS)


def test_series_are_those_that_prometheus_stores() -> None:
    """A scrape that fails leaves stale markers, and a new process starts with fewer series and counts from 0."""
    exporter = Exporter(2, outages=[(25, 40)], lost=lambda t: t == 90)
    errors = {"source": "offsets", "broker": 2, "reason": "timeout"}
    exporter.set("source_errors_total", lambda t: 5 + t // 60, **errors)
    exporter.set("offline_partitions", during(60, 80, 3))
    exporter.end(100, source="jmx")
    stored = {name.removeprefix("kafka_warden_"): encoded(values) for name, values in exporter.series()}
    target = 'cluster="prod", job="kafka-warden", instance="a:10073"'
    assert stored[f"up{{{target}}}"] == "1+0x1 0+0x0 1+0x2 0+0x0 1+0x1"
    assert stored[f"offline_partitions{{{target}}}"] == "0+0x1 stale _x1 3+0x1 stale 0+0x1"
    assert stored[f'up{{{target}, broker="2", source="jmx"}}'] == "1+0x1 stale _x1 1+0x1 stale _x2"
    assert stored[f"process_start_time_seconds{{{target}}}"] == "-3600+0x1 stale 40+0x2 stale 40+0x1"
    labels = 'broker="2", reason="timeout", source="offsets"'
    assert stored[f"source_errors_total{{{target}, {labels}}}"] == "5+0x1 stale _x1 1+0x1 stale 1+0x0 2+0x0"


def test_only_series_of_the_catalogue_are_served() -> None:
    """A metric or a label that the exporter does not have is an error: its scenario would prove nothing."""
    exporter = Exporter(1)
    with pytest.raises(KeyError):
        exporter.set("offline_partition", 1)
    with pytest.raises(ValueError, match="not \\['topic'\\]"):
        exporter.set("offline_partitions", 1, topic="orders")
