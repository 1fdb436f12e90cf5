"""Kafka in ZooKeeper mode: lags and moves are as in KRaft mode, and what it cannot give is no failure."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_versions]

ABSENT = {("quorum", ""): "unsupported", ("fenced_brokers", ""): "unsupported"}
THROTTLE = 1_000_000


def test_kafka_in_zookeeper_mode(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """A throttled move with its rate and bytes, the active controller, a new one after its death, and an exact lag."""
    cluster = make_cluster(brokers=3, version="3.9.1", zookeeper=True, tiered=False)
    cluster.admin.create_topic("old", assignment={0: [1, 2]})
    cluster.admin.create_topic("kept", assignment={0: [2, 1], 1: [3, 2], 2: [1, 3]})
    cluster.load.produce("old", bytes=30_000_000)
    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        page = sidecar.whole_page()
        assert page.not_available() == ABSENT
        assert page.brokers("broker_sum_replica_lag_messages") == {1: 0, 2: 0, 3: 0}
        assert controller(page) == cluster.active_controller()
        assert page["controller_reachable"] == 1
        assert page["reassigning_partitions"] == 0

        cluster.admin.reassign({("old", 0): [1, 3]}, throttle=THROTTLE)
        page = sidecar.wait(lambda page: page.get("reassignment_bytes_per_second", topic="old", partition=0, broker=3))
        assert page["reassigning_partitions"] == 1
        assert page["reassignment_total_bytes_remaining"] > 0
        assert page.one("replication_throttle_bytes_per_second", broker=3, side="follower") == THROTTLE
        cluster.admin.set_throttle({("old", 0): [1, 3]}, 100 * THROTTLE)
        sidecar.wait(lambda page: page["reassigning_partitions"] == 0)

        dead = cluster.active_controller()
        cluster.kill(dead)
        page = sidecar.wait(lambda page: controller(page) not in (None, dead))
        cluster.load.produce("kept", records=77, partitions=[dead - 1])
        page = sidecar.wait(
            lambda page: page.get("replica_lag_messages", topic="kept", partition=dead - 1, broker=dead) == 77
        )
        assert page.one("broker_state", broker=dead, state="gone") == 1
        assert page["controller_reachable"] == 1
        assert page.not_available() == ABSENT
    assert sidecar.log.count("source is not available") == len(ABSENT)


def controller(page: Page) -> int | None:
    """The active controller that the page shows."""
    return next((int(node) for (node,) in page.all("controller_info")), None)
