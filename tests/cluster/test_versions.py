"""Kafka 3.9 is as good as 4.1: every source answers, and each has its numbers in `/metrics`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster

EVERY_SOURCE = {"metadata", "offsets", "log_dirs", "configs", "reassignments", "quotas", "quorum", "jmx"}


def test_kafka_3_9_answers_everything(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """All sources are up, and a killed follower lags, although 3.9 does not return which brokers are fenced."""
    cluster = make_cluster(brokers=2, version="3.9.1", tiered=True)
    cluster.admin.create_topic("old", assignment={0: [1, 2], 1: [2, 1]})
    cluster.load.produce("old", records=200, partitions=range(2))
    cluster.admin.set_client_quota(client_id="any", values={"controller_mutation_rate": 5})

    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        page = sidecar.whole_page()
        assert {source for source, _ in page.up()} == EVERY_SOURCE
        (labels, _), *_ = page.rows("cluster_info")
        assert labels["cluster_id"] == cluster.cluster_id
        assert labels["kafka_version"].startswith("3.9")
        assert page.brokers("broker_sum_replica_lag_messages") == {1: 0, 2: 0}
        assert page.brokers("broker_bytes_in_total").keys() == {1, 2}
        assert page.brokers("remote_copy_quota_bytes_per_second").keys() == {1, 2}
        assert page.by("partition", "partition_bytes_in_per_second", topic="old") == {"0": 0, "1": 0}
        assert page.all("log_dir_usable_bytes") != {}
        assert page.all("controller_info") == {(str(cluster.active_controller()),): 1}
        assert page.all("quorum_lag_offsets").keys() == {("1", "observer"), ("2", "observer"), ("101", "voter")}
        assert page.one("controller_mutation_quota_config", user="", client_id="any") == 5
        cluster.kill(2)
        cluster.load.produce("old", records=77)
        page = sidecar.wait(lambda page: page.one("broker_state", broker=2, state="gone"))
        assert page.one("replica_lag_messages", topic="old", partition=0, broker=2) == 77
