"""Topics that go, and that come again under an old name."""

from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster


def test_the_end_of_a_dead_follower_ends_with_its_topic(cluster: Cluster, tmp_path: Path) -> None:
    cluster.admin.create_topic("phoenix", assignment={0: [1, 2]})
    cluster.load.produce("phoenix", records=500)

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        cluster.kill(2)
        cluster.load.produce("phoenix", records=7)
        sidecar.wait(lambda page: page.get("replica_lag_messages", topic="phoenix", partition=0, broker=2) == 7)
        cluster.admin.delete_topic("phoenix")
        cluster.admin.create_topic("phoenix", assignment={0: [1, 2]})
        page = sidecar.wait(lambda page: _partitions(page, "phoenix") == {0})

    assert page.get("replica_lag_messages", topic="phoenix", partition=0, broker=2) is None
    assert page.get("broker_sum_replica_lag_messages", broker=2) is None
    assert page.one("broker_replica_lag_unknown_replicas", broker=2) >= 1
    assert page.one("clamped_total", what="replica_lag") == 0


def _partitions(page: Page, topic: str) -> set[int]:
    rows = (labels for name in page.names() for labels, _ in page.rows(name))
    return {int(labels["partition"]) for labels in rows if labels.get("topic") == topic and "partition" in labels}
