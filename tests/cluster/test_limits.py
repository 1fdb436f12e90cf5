"""Partition limits (KIP-578): counts and headroom of brokers and cluster as topics come, grow, move and go."""

from collections import Counter
from pathlib import Path

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest

from sandbox import Cluster, wait_for
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster

INTERNAL = {"__consumer_offsets": 0, "__transaction_state": 1}
"""What no limit counts, with the key type that makes a coordinator of it."""
REMOTE_LOG = "__remote_log_metadata"
"""Neither is that of tiered storage, which Metadata does not mark as internal."""


def test_headroom_follows_what_is_created_and_falls_below_zero(cluster: Cluster, tmp_path: Path) -> None:
    brokers, partitions = _counted(cluster)
    limits = {"max_broker_partitions": max(brokers.values()) + 4, "max_partitions": partitions + 6}

    with Sidecar(configuration(cluster, limits=limits), tmp_path) as sidecar:
        _assert_counts(sidecar.whole_page(), cluster, limits)
        for topic, kind in INTERNAL.items():
            _make_internal(cluster, topic, kind)
        page = _assert_counts(sidecar.next_page(), cluster, limits)
        hosted, counted = page.brokers("broker_replicas"), page.brokers("broker_partitions")
        assert all(hosted[broker] > counted[broker] for broker in cluster.broker_ids)

        cluster.admin.create_topic("pair", assignment={number: [1, 2] for number in range(3)})
        page = _assert_counts(sidecar.next_page(), cluster, limits)
        assert page["cluster_partition_headroom"] == 3
        cluster.admin.create_topic("single", assignment={number: [1] for number in range(3)})
        page = _assert_counts(sidecar.next_page(), cluster, limits)
        assert page["cluster_partition_headroom"] == 0
        assert page.one("broker_partition_headroom", broker=1) < 0
        cluster.admin.create_partitions("pair", 5, [[3, 2], [3, 2]])
        page = _assert_counts(sidecar.next_page(), cluster, limits)
        assert page["cluster_partition_headroom"] == -2
        cluster.admin.delete_topic("pair", "single")
        page = _assert_counts(sidecar.next_page(), cluster, limits)
        assert page["cluster_partition_headroom"] == 6


def _assert_counts(page: Page, cluster: Cluster, limits: dict[str, int]) -> Page:
    """The page says of every broker, and of the cluster, what the brokers' own metadata does."""
    brokers, partitions = _counted(cluster)
    most, of_cluster = limits["max_broker_partitions"], limits["max_partitions"]
    print(f"headroom {page.brokers('broker_partition_headroom')}, cluster {page['cluster_partition_headroom']}")
    assert page.brokers("broker_partition_limit") == dict.fromkeys(cluster.broker_ids, most)
    assert page.brokers("broker_partitions") == brokers
    assert page.brokers("broker_partition_headroom") == {broker: most - count for broker, count in brokers.items()}
    assert page["cluster_partition_limit"] == of_cluster
    assert page["cluster_partitions"] == partitions
    assert page["cluster_partition_headroom"] == of_cluster - partitions
    return page


def _counted(cluster: Cluster) -> tuple[dict[int, int], int]:
    """Replicas by broker and partitions of all topics but the internal ones, as a broker's metadata has them."""
    replicas, partitions = Counter(dict.fromkeys(cluster.broker_ids, 0)), 0
    for topic in set(cluster.admin.topics(internal=True)) - {*INTERNAL, REMOTE_LOG}:
        for state in cluster.admin.describe(topic).values():
            replicas.update(state.replicas)
            partitions += 1
    return dict(replicas), partitions


def _make_internal(cluster: Cluster, topic: str, kind: int) -> None:
    request = FindCoordinatorRequest(key="any", key_type=kind, coordinator_keys=["any"])
    cluster.admin.ask(request)
    wait_for(lambda: cluster.admin.describe(topic), what=f"{topic} is there")
    cluster.admin.wait_for_topic(topic, len(cluster.admin.describe(topic)))
