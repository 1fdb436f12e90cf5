"""The rest of `test_matrix.py`: log directories, on brokers that have two."""

from collections.abc import Iterator

import pytest

from tests.alerts.fault import Round
from tests.alerts.faults import DISK_ROUNDS
from tests.alerts.faults_disks import TWO_DIRECTORIES
from tests.alerts.play import play
from tests.alerts.stage import Stage

pytestmark = [pytest.mark.cluster, pytest.mark.full_alerts]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, no_process_left: None) -> Iterator[Stage]:
    """Two brokers that are watched, shared by the rounds."""
    with Stage(tmp_path_factory.mktemp("stage"), TWO_DIRECTORIES) as running:
        yield running


@pytest.mark.parametrize("scene", DISK_ROUNDS, ids=lambda scene: scene.name)
def test_log_directories_bring_just_their_alerts(stage: Stage, scene: Round) -> None:
    """As in `test_matrix.py`."""
    play(stage, scene)
