"""Sidecars that are down, that have no data, or that have other limits."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from sandbox import wait_for
from sandbox.ports import LOOPBACK, Ports
from tests.alerts.fault import fault
from tests.alerts.stage import CLUSTER, Fired, Stage, fired
from tests.cluster.forwarder import Forwarder

JMX_OF: Final = 2


@fault("sidecar-killed", "The sidecar is killed")
def sidecar_killed(stage: Stage) -> Iterator[set[Fired]]:
    """SIGKILL without a restart."""
    stage.sidecar.kill()
    yield {fired("KafkaWardenDown"), fired("KafkaWardenBlind")}
    stage.restart_sidecar()


@fault("sidecar-absent", "A second sidecar is a target and has never been up")
def never_up(stage: Stage) -> Iterator[set[Fired]]:
    """Nothing listens on its port."""
    labels, there, ports = {"cluster": CLUSTER}, stage.sidecar.address, Ports()
    absent = f"{LOOPBACK}:{ports.reserve()}"
    stage.prometheus.scrape(static_configs=[{"targets": [there, absent], "labels": labels}])
    yield {fired("KafkaWardenDown")}
    stage.prometheus.scrape(static_configs=[{"targets": [there], "labels": labels}])
    ports.close()


@fault("cluster-hangs", "Every broker hangs")
def cluster_hangs(stage: Stage) -> Iterator[set[Fired]]:
    """Every broker under SIGSTOP: the sidecar answers without new data."""
    cluster = stage.cluster
    for broker in cluster.broker_ids:
        cluster.pause(broker)
    yield {
        fired("KafkaClusterUnreachable"),
        fired("KafkaWardenPageStale"),
        fired("KafkaWardenBlind"),
        *(fired("KafkaBrokerUnreachable", broker=broker) for broker in cluster.broker_ids),
        *(fired("KafkaWardenJmxUnreachable", broker=broker) for broker in cluster.broker_ids),
    }
    for broker in cluster.broker_ids:
        cluster.resume(broker)
    for broker in cluster.broker_ids:
        cluster.wait_ready(broker)
    cluster.wait_in_sync()


@fault("jmx-refused", "The JMX port of a broker refuses")
def jmx_port_dead(stage: Stage) -> Iterator[set[Fired]]:
    """The sidecar is configured with a port that refuses connections."""
    brokers = stage.cluster.jmx_brokers
    forwarder = Forwarder(brokers[JMX_OF])
    stage.restart_sidecar(jmx={"brokers": {**brokers, JMX_OF: forwarder.address}})
    yield {fired("KafkaWardenJmxUnreachable", broker=JMX_OF)}
    with forwarder:
        stage.until_gone(fired("KafkaWardenJmxUnreachable", broker=JMX_OF))
        stage.restart_sidecar(jmx={"brokers": brokers})


@fault("broker-limit", "More partitions than a broker shall have")
def brokers_full(stage: Stage) -> Iterator[set[Fired]]:
    """One broker above its limit, one close to it and one far below."""
    admin = stage.cluster.admin
    wait_for(lambda: admin.describe("__remote_log_metadata"), what="the brokers have made their own topic")
    assignment = [[1]] * 20 + [[2]] * 10
    admin.create_topic("many", assignment=dict(enumerate(assignment)))
    hosted = Counter(broker for states in _states(stage) for broker in states)
    limit = hosted[2] + 1
    assert hosted[1] > limit
    assert hosted[3] < 0.7 * limit
    assert hosted[2] > 0.8 * limit
    stage.restart_sidecar(limits={"max_broker_partitions": limit})
    yield {fired("KafkaBrokerPartitionLimit", broker=1), fired("KafkaBrokerPartitionLimit", broker=2)}
    stage.restart_sidecar(limits={"max_broker_partitions": None})


@fault("cluster-limit", "More partitions than the cluster shall have")
def cluster_full(stage: Stage) -> Iterator[set[Fired]]:
    """One too many."""
    stage.restart_sidecar(limits={"max_partitions": sum(1 for _ in _states(stage)) - 1})
    yield {fired("KafkaClusterPartitionLimit")}
    stage.restart_sidecar(limits={"max_partitions": None})


@fault("series-budget", "More series than the budget has room for")
def budget_too_small(stage: Stage) -> Iterator[set[Fired]]:
    """A series budget that is too small for the partitions and for the clients with a quota."""
    stage.restart_sidecar(limits={"series": 1})
    yield {fired("KafkaWardenSeriesDropped"), fired("KafkaWardenBlind")}
    stage.restart_sidecar(limits={"series": None})


def _states(stage: Stage) -> Iterator[tuple[int, ...]]:
    """The replicas of every partition that a limit counts."""
    admin = stage.cluster.admin
    for topic in ("__remote_log_metadata", *admin.topics()):
        for state in admin.describe(topic).values():
            yield state.replicas
