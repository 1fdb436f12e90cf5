"""Brokers that die or hang, and what that does to replicas."""

from collections.abc import Iterator
from typing import Final

from sandbox import wait_for
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired

VICTIM: Final = 2
PARTITIONS: Final = range(3)


@fault("broker-killed", "A broker is killed")
def killed(stage: Stage) -> Iterator[set[Fired]]:
    """SIGKILL; every replica that it hosts is out of sync: the alert on the broker explains them."""
    cluster = stage.cluster
    cluster.admin.create_topic("orders", partitions=len(PARTITIONS), replication_factor=3)
    with cluster.load.background("orders", 100_000, partitions=PARTITIONS, acks=1):
        produced = 'kafka_warden_partition_bytes_in_per_second{topic="orders"} > 0'
        wait_for(lambda: len(stage.prometheus.query(produced)) == len(PARTITIONS), what="the sidecar has seen them")
        cluster.kill(VICTIM)
        wait_for(lambda: VICTIM not in cluster.admin.brokers(), what="it is fenced")
        missing = cluster.admin.out_of_sync()
        assert {broker for replicas in missing.values() for broker in replicas} == {VICTIM}
        yield {
            fired("KafkaBrokerUnreachable", broker=VICTIM),
            fired("KafkaWardenBlind", broker=VICTIM),
        }
        cluster.start(VICTIM)
        cluster.wait_ready(VICTIM)
    cluster.wait_in_sync()


@fault("no-leader", "The broker with the only replica of a partition dies")
def no_leader(stage: Stage) -> Iterator[set[Fired]]:
    """The only replica is on the broker that is about to die."""
    stage.cluster.admin.create_topic("single", assignment={0: [VICTIM]})
    yield {fired("KafkaPartitionOffline")}


@fault("min-isr", "A broker dies whose replicas `min.insync.replicas` needs")
def min_isr(stage: Stage) -> Iterator[set[Fired]]:
    """Two replicas, two of which must be in sync, and one of them is on the broker that is about to die."""
    stage.cluster.admin.create_topic("strict", assignment={0: [1, VICTIM]}, config={"min.insync.replicas": 2})
    yield {fired("KafkaPartitionUnderMinIsr")}


@fault("unclean-election", "A partition gets a leader that is not in sync")
def unclean_election(stage: Stage) -> Iterator[set[Fired]]:
    """Two replicas stop in order, and the one that stopped first, and lacks a record, is back first."""
    cluster, first, last = stage.cluster, 3, VICTIM
    config = {"unclean.leader.election.enable": True}
    cluster.admin.create_topic("unclean", assignment={0: [last, first]}, config=config)
    cluster.stop(first)
    cluster.load.produce("unclean", records=1, acks=1)
    cluster.stop(last)
    for broker in (first, last):
        cluster.start(broker)
        cluster.wait_ready(broker)
    yield {fired("KafkaUncleanLeaderElection")}
    cluster.wait_in_sync()
