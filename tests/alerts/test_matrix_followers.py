"""The rest of `test_matrix.py`: faults of followers, on a cluster that lets them be slow and fences no broker."""

from collections.abc import Iterator

import pytest

from tests.alerts.fault import Round
from tests.alerts.faults import SMALL_ROUNDS
from tests.alerts.faults_followers import LEADER, SMALL
from tests.alerts.play import play
from tests.alerts.stage import Stage

pytestmark = [pytest.mark.cluster, pytest.mark.full_alerts]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, no_process_left: None) -> Iterator[Stage]:
    """Two brokers that are watched, shared by the rounds."""
    with Stage(tmp_path_factory.mktemp("stage"), SMALL) as running:
        running.restart_sidecar(jmx={"brokers": {LEADER: running.cluster.jmx_brokers[LEADER]}})
        yield running


@pytest.mark.parametrize("scene", SMALL_ROUNDS, ids=lambda scene: scene.name)
def test_followers_bring_just_their_alerts(stage: Stage, scene: Round) -> None:
    """As in `test_matrix.py`."""
    play(stage, scene)
