"""Every alert has fired for real: each fault is caused, brings just the alerts that it must, and they resolve."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import ClusterSettings
from tests.alerts import matrix
from tests.alerts.fault import Round
from tests.alerts.faults import FAULTS, ROUNDS, every_alert, render
from tests.alerts.play import play
from tests.alerts.stage import Stage

NOT_FIRED_YET: frozenset[str] = frozenset()
"""Alerts that no fault here has brought about."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, no_process_left: None) -> Iterator[Stage]:
    """Three brokers that are watched, shared by the rounds."""
    with Stage(tmp_path_factory.mktemp("stage"), ClusterSettings()) as running:
        yield running


@pytest.mark.cluster
@pytest.mark.matrix
@pytest.mark.parametrize("scene", ROUNDS, ids=lambda scene: scene.name)
def test_faults_bring_just_their_alerts(stage: Stage, scene: Round) -> None:
    """Prometheus fires and Alertmanager holds just what the faults must bring; all resolve once they are undone."""
    play(stage, scene)


def test_committed_matrix_is_complete() -> None:
    """The matrix has every alert and every fault, and of each fault what it is known to bring."""
    cells = matrix.read()
    assert matrix.text() == render(cells), "ALERT_MATRIX=write writes what is seen"
    seen = {fault.name: frozenset(alert for name, alert in cells if name == fault.name) for fault in FAULTS}
    assert seen == {fault.name: fault.alerts for fault in FAULTS}


def test_every_alert_has_fired() -> None:
    """No alert is left that never fired but in promtool's tests."""
    assert set(every_alert()) - {alert for fault in FAULTS for alert in fault.alerts} == NOT_FIRED_YET


def test_nothing_fires_where_nothing_is_wrong() -> None:
    """A quiet run, a rolling restart and a move to another log directory bring no alert."""
    assert {fault.name for fault in FAULTS if not fault.alerts} == {"quiet", "rolling-restart", "log-dir-move"}


def test_matrix_is_read_as_it_is_written(tmp_path: Path) -> None:
    """What is written comes back, and what stands around it stays."""
    file = tmp_path / "README.md"
    file.write_text(f"before\n{matrix.BEGIN}{matrix.END}after\n")
    cells = {("one", "A"): matrix.FIRED, ("two", "A"): matrix.MUTED, ("two", "B"): matrix.FIRED}
    matrix.write(matrix.render(cells, [("one", "first"), ("two", "second")], ["A", "B", "C"]), file)
    assert matrix.read(file) == cells
    assert file.read_text().startswith("before\n")
    assert file.read_text().endswith("after\n")
