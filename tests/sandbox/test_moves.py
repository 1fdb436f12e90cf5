"""Reassignments and throttles, as kafka-reassign-partitions leaves them."""

from collections.abc import Callable

import pytest

from sandbox import AdminError, Cluster, wait_for
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


def test_the_throttle_holds_the_move_until_it_is_cleared(throttled: Cluster) -> None:
    """At 100 kB/s most of the move is still to do after the first bytes; without the throttle it ends."""
    arrived = wait_for(lambda: sum(r.size for r in throttled.admin.log_dirs(2) if r.topic == "moved"), what="bytes")
    assert arrived < 5_000_000
    throttled.admin.clear_throttle(["moved"])
    throttled.admin.wait_for_moves()

    wait_for(lambda: throttled.admin.describe("moved")[0].replicas == (2,), what="the brokers know of the move's end")
    assert throttled.admin.topic_config("moved", LISTS) == {LEADER_REPLICAS: "", FOLLOWER_REPLICAS: ""}
    assert [set(), set(), set()] == rates(throttled)


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


def test_a_replica_moves_between_log_directories(make_cluster: Callable[..., Cluster]) -> None:
    """On a broker with two log directories a replica can be copied from one to the other, at a rate; Kafka 3.9."""
    cluster = make_cluster(brokers=1, version="3.9.1", tiered=False, log_dirs=2)
    cluster.admin.create_topic("dirs", partitions=1)
    cluster.load.produce("dirs", bytes=5_000_000)
    (replica,) = (r for r in cluster.admin.log_dirs(1) if r.topic == "dirs")
    (other,) = {str(directory) for directory in cluster.log_dirs(1)} - {replica.log_dir}
    cluster.admin.alter_broker_config(1, {"replica.alter.log.dirs.io.max.bytes.per.second": RATE})
    cluster.admin.move_log_dir(1, ("dirs", 0), other)
    future = wait_for(lambda: [r for r in cluster.admin.log_dirs(1) if r.topic == "dirs" and r.is_future], what="copy")
    assert [other] == [r.log_dir for r in future]
    cluster.admin.clear_throttle([])

    wait_for(
        lambda: [r.log_dir for r in cluster.admin.log_dirs(1) if r.topic == "dirs"] == [other], what="the copy is all"
    )
