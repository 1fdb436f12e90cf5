"""The sidecar only reads: by what the brokers and the controller say that they were asked."""

import time
from pathlib import Path

import pytest

from kafka_warden.clients.kafka.requests import READ_ONLY
from sandbox import Cluster
from tests.cluster.asked import asked_while
from tests.cluster.sidecar import INTERVAL, Sidecar, configuration

pytestmark = pytest.mark.cluster

POLLS = 6
ASKED = {
    "Metadata",
    "DescribeCluster",
    "ListOffsets",
    "DescribeLogDirs",
    "DescribeConfigs",
    "DescribeClientQuotas",
    "DescribeQuorum",
    "ListPartitionReassignments",
}


def test_brokers_see_no_request_that_is_not_on_the_list(cluster: Cluster, tmp_path: Path) -> None:
    cluster.admin.create_topic("watched", assignment={0: [1, 2]})
    cluster.load.produce("watched", bytes=3_000_000)
    cluster.admin.reassign({("watched", 0): [1, 3]}, throttle=1)
    quiet = asked_while(cluster, lambda: time.sleep(POLLS * INTERVAL))

    def watch() -> None:
        with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
            for _ in range(POLLS):
                page = sidecar.whole_page()
            assert page["reassigning_partitions"] == 1

    watched = asked_while(cluster, watch)
    allowed = {key.name for key in READ_ONLY}
    print(f"by themselves: {sorted(quiet)}; with the sidecar: {sorted(watched - quiet)}")
    assert watched - quiet <= allowed
    assert watched >= ASKED
