"""The life of a cluster and its nodes."""

from collections.abc import Callable

import pytest

from sandbox import Cluster, SandboxError, wait_for

pytestmark = pytest.mark.cluster


def test_it_is_ready_when_the_block_begins(cluster: Cluster) -> None:
    """All brokers are unfenced, and every address is known."""
    assert {1, 2, 3} == set(cluster.admin.brokers())
    assert cluster.bootstrap.split(",") == list(cluster.admin.brokers().values())
    assert ({1, 2, 3}, {101}) == (set(cluster.jmx_brokers), set(cluster.jmx_controllers))
    assert cluster.active_controller() == 101


@pytest.mark.full_kafka
def test_a_paused_broker_is_fenced_and_comes_back(cluster: Cluster) -> None:
    """SIGSTOP lets a broker's session end; after SIGCONT it is back in every ISR."""
    cluster.admin.create_topic("paused", partitions=3, replication_factor=3)
    cluster.pause(2)
    wait_for(lambda: 2 not in cluster.admin.brokers(), what="broker 2 is fenced")
    assert all(2 not in isr for isr in cluster.admin.isr("paused").values())

    cluster.resume(2)
    cluster.wait_ready(2)
    cluster.wait_in_sync()
    assert all(2 in isr for isr in cluster.admin.isr("paused").values())


def test_a_killed_follower_lacks_exactly_what_was_produced_since(cluster: Cluster) -> None:
    """Both ends equal, then the follower killed, then n records: the log of the leader is n longer, no more."""
    cluster.admin.create_topic("exact", assignment={0: [1, 2]})
    cluster.load.produce("exact", records=100)
    wait_for(lambda: cluster.admin.offsets("exact", node=2, replica_id=-2) == {0: 100}, what="the follower has all")
    cluster.kill(2)

    assert cluster.load.produce("exact", records=77) == {0: 77}
    assert cluster.admin.offsets("exact", replica_id=-2) == {0: 177}


@pytest.mark.full_kafka
def test_a_wiped_broker_bootstraps_from_the_others(cluster: Cluster) -> None:
    """A broker with new, empty disks fetches everything again."""
    cluster.admin.create_topic("wiped", assignment={0: [1, 2]})
    cluster.load.produce("wiped", records=500)
    with pytest.raises(SandboxError, match="still runs"):
        cluster.wipe(2)
    cluster.kill(2)
    cluster.wipe(2)
    assert not [file for directory in cluster.log_dirs(2) for file in directory.glob("wiped-*")]
    cluster.start(2)
    cluster.wait_ready(2)
    cluster.wait_in_sync()

    assert cluster.admin.offsets("wiped", node=2, replica_id=-2) == {0: 500}


@pytest.mark.full_kafka
def test_a_rolling_restart_loses_no_record(cluster: Cluster) -> None:
    """Every broker is restarted under load, and every acknowledged record is there."""
    cluster.admin.create_topic("rolling", partitions=3, replication_factor=3, config={"min.insync.replicas": 2})
    before = cluster.pids()
    with cluster.load.background("rolling", rate=100_000, partitions=range(3)) as producer:
        cluster.rolling_restart()
    after = cluster.pids()

    assert before[101] == after[101]
    assert all(before[broker] != after[broker] for broker in cluster.broker_ids)
    ends = cluster.admin.offsets("rolling")
    assert all(0 < records <= ends[partition] for partition, records in producer.acked.items())


@pytest.mark.full_kafka
def test_leaders_come_back_to_the_preferred_replicas(cluster: Cluster) -> None:
    """A restart moves leaders away, and a preferred election brings them back."""
    cluster.admin.create_topic("led", assignment={0: [1, 2]})
    cluster.restart(1)
    cluster.wait_in_sync()
    wait_for(lambda: cluster.admin.describe("led")[0].leader == 2, what="broker 2 leads")
    cluster.admin.elect_preferred([("led", 0)])
    wait_for(lambda: cluster.admin.describe("led")[0].leader == 1, what="broker 1 leads again")


def test_reset_brings_everything_back(cluster: Cluster) -> None:
    """What a test leaves behind, the next does not find: nodes, moves, topics, quotas, configs."""
    cluster.admin.create_topic("left", assignment={0: [1]}, config={"retention.ms": 1000000})
    cluster.load.produce("left", bytes=3_000_000)
    cluster.admin.reassign({("left", 0): [2]}, throttle=1000)
    cluster.admin.alter_broker_config("", {"log.cleaner.threads": 2})
    cluster.admin.set_client_quota(client_id="left", values={"controller_mutation_rate": 1})
    cluster.pause(3)
    cluster.kill(101)
    defaults = dict(cluster._defaults)
    cluster.reset()

    assert cluster.admin.topics() == ()
    assert cluster.admin.reassignments() == {}
    assert cluster.admin.client_quotas() == {}
    assert defaults == cluster.admin.default_broker_config()
    assert [cluster.admin.dynamic_broker_config(broker) for broker in cluster.broker_ids] == [{}, {}, {}]
    assert {1, 2, 3} == set(cluster.admin.brokers())


@pytest.mark.full_kafka
def test_another_controller_takes_over(make_cluster: Callable[..., Cluster]) -> None:
    """With three controllers, the active one may die, and comes back as a follower that has caught up."""
    cluster = make_cluster(brokers=1, controllers=3, tiered=False)
    first = cluster.active_controller()
    cluster.kill(first)
    wait_for(lambda: cluster.active_controller() != first, what="another controller is active")
    cluster.admin.create_topic("after", partitions=2)
    cluster.wipe(first)
    cluster.start(first)
    cluster.wait_ready(first)

    assert cluster.active_controller() != first


@pytest.mark.full_kafka
def test_a_broker_that_cannot_start_says_why(make_cluster: Callable[..., Cluster]) -> None:
    """A node that ends while starting is an error with the end of its log."""
    with pytest.raises(SandboxError, match=r"exit code 1(.|\n)*num.io.threads"):
        make_cluster(brokers=1, tiered=False, broker_properties={"num.io.threads": 0})
