"""The rest of `test_matrix.py`: log directories, on brokers that have two."""

import pytest

from tests.alerts.fault import Round
from tests.alerts.faults import DISK_ROUNDS
from tests.alerts.faults_disks import TWO_DIRECTORIES
from tests.alerts.play import play
from tests.alerts.stage import Stage

pytestmark = [pytest.mark.cluster, pytest.mark.full_alerts]
SETTINGS = TWO_DIRECTORIES


@pytest.mark.parametrize("scene", DISK_ROUNDS, ids=lambda scene: scene.name)
def test_log_directories_bring_just_their_alerts(stage: Stage, scene: Round) -> None:
    play(stage, scene)
