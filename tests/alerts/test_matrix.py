"""Every alert has fired for real: each fault is caused, brings just the alerts that it must, and they resolve."""

from importlib import import_module
from pathlib import Path

import pytest

from sandbox import ClusterSettings
from tests.alerts import matrix
from tests.alerts.fault import Fault, Round
from tests.alerts.faults import FAULTS, HARMLESS, ROUNDS, every_alert, render
from tests.alerts.play import play
from tests.alerts.stage import Stage

SETTINGS = ClusterSettings()


@pytest.mark.cluster
@pytest.mark.full_alerts
@pytest.mark.parametrize("scene", ROUNDS, ids=lambda scene: scene.name)
def test_faults_bring_just_their_alerts(stage: Stage, scene: Round) -> None:
    """Prometheus fires and Alertmanager holds just what the faults must bring; all resolve once they are undone."""
    play(stage, scene)


def test_the_page_shows_the_record() -> None:
    assert matrix.split_page()[1] == render(matrix.read()), "ALERT_MATRIX=write make full-alerts writes it"


def test_every_fault_has_its_round() -> None:
    modules = [import_module(f"tests.alerts.{file.stem}") for file in Path(__file__).parent.glob("faults_*.py")]
    made = {each.name for module in modules for each in vars(module).values() if isinstance(each, Fault)}
    assert made == {each.name for each in FAULTS}


def test_every_fault_was_recorded() -> None:
    assert sorted(matrix.read()) == sorted({each.name for each in FAULTS})


def test_every_alert_has_fired() -> None:
    fired = {alert for brought in matrix.read().values() for alert in brought[matrix.ALERTS]}
    assert fired == set(every_alert())


def test_nothing_fires_where_nothing_is_wrong() -> None:
    harmless, record = {fault.name for fault in HARMLESS}, matrix.read()
    assert {name for name, brought in record.items() if not brought[matrix.ALERTS]} == harmless
    assert not any(record[name][matrix.NOTIFICATIONS] for name in harmless)
