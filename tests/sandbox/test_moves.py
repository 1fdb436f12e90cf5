"""Reassignments and throttles, as kafka-reassign-partitions leaves them."""

import pytest

from sandbox import AdminError, Cluster
from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, Reassignment

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]
RATE = 100_000
RATES = (LEADER_RATE, FOLLOWER_RATE)
LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


def rates(cluster: Cluster) -> list[set[str | None]]:
    """The rates that are set, by broker."""
    return [set(cluster.admin.broker_config(broker, RATES).values()) for broker in cluster.broker_ids]


@pytest.fixture
def throttled(cluster: Cluster) -> Cluster:
    """A move of 10 MB from broker 1 to broker 2, held at 100 kB/s; its partition 1 stays where it is."""
    cluster.admin.create_topic("moved", assignment={0: [1], 1: [1]})
    cluster.load.produce("moved", bytes=10_000_000)
    cluster.admin.reassign({("moved", 0): [2]}, throttle=RATE)
    return cluster


def test_a_throttled_move_sets_what_the_tool_sets(throttled: Cluster) -> None:
    """Sources on the leader list, destinations on the follower list, both rates on both brokers."""
    assert {("moved", 0): Reassignment((2, 1), adding=(2,), removing=(1,))} == throttled.admin.reassignments()
    assert throttled.admin.topic_config("moved", LISTS) == {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}
    assert [{str(RATE)}, {str(RATE)}, set()] == rates(throttled)


def test_a_second_move_keeps_the_first_on_the_lists(throttled: Cluster) -> None:
    """Throttling another move of the topic lists those under way, too."""
    throttled.admin.reassign({("moved", 1): [3]}, throttle=RATE)

    assert throttled.admin.topic_config("moved", LISTS) == {LEADER_REPLICAS: "0:1,1:1", FOLLOWER_REPLICAS: "0:2,1:3"}
    assert [{str(RATE)}] * 3 == rates(throttled)


def test_a_cancelled_move_goes_back(throttled: Cluster) -> None:
    """Cancelling leaves the replicas where they were; cancelling again is fine."""
    throttled.admin.cancel([("moved", 0)])
    throttled.admin.cancel([("moved", 0)])

    assert throttled.admin.reassignments() == {}
    assert throttled.admin.describe("moved")[0].replicas == (1,)


def test_an_impossible_move_is_refused_by_name(cluster: Cluster) -> None:
    """What the controller refuses is an error with Kafka's code."""
    cluster.admin.create_topic("here", assignment={0: [1]})
    with pytest.raises(AdminError, match="here-0") as refused:
        cluster.admin.reassign({("here", 0): [9]})

    assert refused.value.code == 39
