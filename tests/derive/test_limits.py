"""Partition limits of KIP-578 in `/metrics`: what counts, and what room is left."""

import math

from kafka_warden.model import Parameters
from tests.building import Partition, judge, snapshot
from tests.derive.following import families

TOPICS = {
    "orders": [Partition(replicas=(1, 2)), Partition(replicas=(2, 3), adding=(3,))],
    "__consumer_offsets": [Partition(replicas=(1, 2))] * 5,
    "__transaction_state": [Partition(replicas=(1,))] * 7,
    "__share_group_state": [Partition(replicas=(3,))],
}


def read(broker_limit: float, cluster_limit: float) -> dict[str, dict[tuple[str, ...], float]]:
    parameters = Parameters(max_broker_partitions=broker_limit, max_partitions=cluster_limit)
    return families(judge(snapshot(TOPICS)), parameters)


def test_counts_and_room() -> None:
    """Adding replicas count, internal topics do not, each partition counts once in the cluster."""
    page = read(2, 10)

    assert page["broker_partitions"] == {("1",): 1, ("2",): 2, ("3",): 1}
    assert page["broker_partition_headroom"] == {("1",): 1, ("2",): 0, ("3",): 1}
    assert page["cluster_partitions"] == {(): 2}
    assert page["cluster_partition_headroom"] == {(): 8}
    assert page["cluster_replicas"] == {(): 22}


def test_room_is_negative_when_over_and_infinite_without_a_limit() -> None:
    over, unlimited = read(1, 2), read(math.inf, math.inf)

    assert over["broker_partition_headroom"] == {("1",): 0, ("2",): -1, ("3",): 0}
    assert over["cluster_partition_headroom"] == {(): 0}
    assert set(unlimited["broker_partition_headroom"].values()) == {math.inf}
    assert unlimited["cluster_partition_headroom"] == {(): math.inf}
    assert unlimited["broker_partition_limit"] == {("1",): math.inf, ("2",): math.inf, ("3",): math.inf}
