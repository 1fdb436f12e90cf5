"""The rest of `test_matrix.py`: harmless events, with more time for a restart on a busy machine."""

import pytest

from sandbox import ClusterSettings
from tests.alerts import faults_quiet
from tests.alerts.fault import Round
from tests.alerts.faults import QUIET_ROUNDS
from tests.alerts.play import play
from tests.alerts.stage import Stage

pytestmark = [pytest.mark.cluster, pytest.mark.full_alerts]
SETTINGS, PACE = ClusterSettings(), faults_quiet.PACE


@pytest.mark.parametrize("scene", QUIET_ROUNDS, ids=lambda scene: scene.name)
def test_harmless_events_bring_no_alert(stage: Stage, scene: Round) -> None:
    play(stage, scene)
