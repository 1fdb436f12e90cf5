"""Topics that go, and that come again under an old name."""

from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster


def test_a_topic_recreated_with_fewer_partitions_is_another_topic(cluster: Cluster, tmp_path: Path) -> None:
    """After delete and create within a poll no series of an old partition is left, and no lag spans the two topics."""
    cluster.admin.create_topic("phoenix", partitions=4, replication_factor=3)
    cluster.load.produce("phoenix", records=2000, partitions=range(4))

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.wait(lambda page: _partitions(page, "phoenix") == {0, 1, 2, 3})
        cluster.admin.delete_topic("phoenix")
        cluster.admin.create_topic("phoenix", partitions=2, replication_factor=3)
        cluster.load.produce("phoenix", records=10, partitions=range(2))
        for page in sidecar.pages():
            assert _partitions(page, "phoenix") <= {0, 1}
            assert page.all("replica_lag_messages") == {}
            assert all(value >= 0 for value in page.all("partition_bytes_in_per_second").values())
            if _partitions(page, "phoenix") == {0, 1} and not page.down():
                break
        assert page.brokers("broker_sum_replica_lag_messages") == dict.fromkeys(cluster.broker_ids, 0)
        assert page.one("clamped_total", what="replica_lag") == 0
        assert "Traceback" not in sidecar.log


def test_the_end_of_a_dead_follower_ends_with_its_topic(cluster: Cluster, tmp_path: Path) -> None:
    """In a topic that was recreated its lag is unknown: the known end is that of the other topic."""
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
