"""The worst day under rules that are not scaled: how long until a person knows, and how many notifications that takes.

Each round has a Prometheus and an Alertmanager of its own, so none has to wait until the alerts of another one resolve.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.alerts.fault import Timed
from tests.alerts.faults import WORST_DAY
from tests.alerts.faults_worst_day import QUORUM
from tests.alerts.play import play_timed
from tests.alerts.stage import Stage, usual_cluster

pytestmark = [pytest.mark.cluster, pytest.mark.full_alerts, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def cluster(no_process_left: None) -> Iterator[Cluster]:
    """Three controllers, so one may fail, and a topic with three copies."""
    with usual_cluster(QUORUM) as running:
        running.admin.create_topic("orders", partitions=6, replication_factor=3, config={"min.insync.replicas": 2})
        running.load.produce("orders", records=6000, partitions=range(6))
        yield running


@pytest.mark.parametrize("timed", WORST_DAY, ids=lambda timed: timed.fault.name)
def test_a_person_knows_in_time(cluster: Cluster, tmp_path: Path, timed: Timed) -> None:
    with Stage(tmp_path, cluster, timed.pace) as stage:
        play_timed(stage, timed)
