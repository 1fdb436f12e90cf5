"""The sidecar only reads: by what the brokers and the controller say that they were asked."""

import time
from pathlib import Path

import pytest

from exporter.clients.kafka.link import READ_ONLY
from sandbox import Cluster
from tests.cluster.beans import read_beans
from tests.cluster.sidecar import INTERVAL, Sidecar, configuration

pytestmark = pytest.mark.cluster

REQUESTS = "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=*,version=*/Count"
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
    """While a throttled move stands still and nobody but the sidecar talks, only requests that read come in."""
    cluster.admin.create_topic("watched", assignment={0: [1, 2]})
    cluster.load.produce("watched", bytes=3_000_000)
    cluster.admin.reassign({("watched", 0): [1, 3]}, throttle=1)
    quiet = _grown(cluster, lambda: time.sleep(POLLS * INTERVAL))

    def watch() -> None:
        with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
            for _ in range(POLLS):
                page = sidecar.whole_page()
            assert page["reassigning_partitions"] == 1

    watched = _grown(cluster, watch)
    allowed = {key.name for key in READ_ONLY}
    print(f"by themselves: {sorted(quiet)}; with the sidecar: {sorted(watched - quiet)}")
    assert watched - quiet <= allowed
    assert watched >= ASKED


def _grown(cluster: Cluster, meanwhile: object) -> set[str]:
    """Kinds of request that any process was sent meanwhile."""
    assert callable(meanwhile)
    before = _counts(cluster)
    meanwhile()
    return {kind for (kind, process), count in _counts(cluster).items() if count > before.get((kind, process), 0)}


def _counts(cluster: Cluster) -> dict[tuple[str, int], float]:
    counts: dict[tuple[str, int], float] = {}
    for node, address in {**cluster.jmx_brokers, **cluster.jmx_controllers}.items():
        for bean, count in read_beans(address, REQUESTS).values.items():
            kind = bean.partition("request=")[2].partition(",")[0].partition("/")[0]
            counts[kind, node] = counts.get((kind, node), 0) + count
    return counts
