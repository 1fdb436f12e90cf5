"""The rest of `test_matrix.py`: faults of followers, on a cluster that lets them be slow and fences no broker."""

import pytest

from tests.alerts.fault import Round
from tests.alerts.faults import SMALL_ROUNDS
from tests.alerts.faults_followers import LEADER
from tests.alerts.play import play
from tests.alerts.stage import Stage
from tests.cluster.followers import SMALL

pytestmark = [pytest.mark.cluster, pytest.mark.full_alerts]
SETTINGS = SMALL


@pytest.fixture(scope="module")
def stage(stage: Stage) -> Stage:
    """The sidecar reads beans of the leader only."""
    stage.restart_sidecar(jmx={"brokers": {LEADER: stage.cluster.jmx_brokers[LEADER]}})
    return stage


@pytest.mark.parametrize("scene", SMALL_ROUNDS, ids=lambda scene: scene.name)
def test_followers_bring_just_their_alerts(stage: Stage, scene: Round) -> None:
    play(stage, scene)
