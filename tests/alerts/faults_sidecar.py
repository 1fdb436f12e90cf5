"""Sidecars that are down, that have no data, or that have other limits."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from sandbox import Cluster, ClusterSettings
from sandbox.ports import LOOPBACK, Ports
from tests.alerts.fault import fault
from tests.alerts.stage import CLUSTER, Fired, Stage, Watcher, fired
from tests.cluster.forwarder import Forwarder

JMX_OF: Final = 2
RESTARTS: Final = 4


@fault("sidecar-killed", "The sidecar is killed")
def sidecar_killed(stage: Stage) -> Iterator[set[Fired]]:
    """SIGKILL without a restart."""
    stage.sidecar.kill()
    yield {fired("KafkaWardenDown"), fired("KafkaWardenBlind")}
    stage.restart_sidecar()


@fault("sidecar-restarts", "The sidecar restarts again and again")
def restarts(stage: Stage) -> Iterator[set[Fired]]:
    """As with too little memory."""
    for _ in range(RESTARTS):
        stage.sidecar.kill()
        stage.restart_sidecar()
    yield {fired("KafkaWardenRestarting")}


@fault("label-of-two", "The sidecar of another cluster has the same label")
def ambiguous(stage: Stage) -> Iterator[set[Fired]]:
    """Both clusters are well."""
    labels, folder = {"cluster": CLUSTER}, stage.sidecar.directory.with_name("other")
    with (
        Cluster(ClusterSettings(brokers=1, tiered=False)) as cluster,
        Watcher(folder, cluster, stage.pace.sections) as other,
    ):
        targets = [stage.sidecar.address, other.address]
        stage.prometheus.scrape(static_configs=[{"targets": targets, "labels": labels}])
        yield {fired("KafkaWardenClusterLabelAmbiguous")}
        stage.prometheus.scrape(static_configs=[{"targets": targets[:1], "labels": labels}])


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
        fired("KafkaWardenBlind"),
        *(fired("KafkaBrokerUnreachable", broker=broker) for broker in cluster.broker_ids),
        *(fired("KafkaWardenBlind", broker=broker) for broker in cluster.broker_ids),
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
    stage.reload_sidecar(jmx={"brokers": {**brokers, JMX_OF: forwarder.address}})
    yield {fired("KafkaWardenBlind", broker=JMX_OF)}
    with forwarder:
        stage.until_gone(fired("KafkaWardenBlind", broker=JMX_OF))
        stage.reload_sidecar(jmx={"brokers": brokers})


@fault("broker-limit", "More partitions than a broker shall have")
def brokers_full(stage: Stage) -> Iterator[set[Fired]]:
    """One broker above its limit, one close to it and one far below."""
    admin = stage.cluster.admin
    assignment = [[1]] * 20 + [[2]] * 10
    admin.create_topic("many", assignment=dict(enumerate(assignment)))
    hosted = Counter(broker for states in _states(stage) for broker in states)
    limit = hosted[2] + 1
    assert hosted[1] > limit
    assert hosted[3] < 0.7 * limit
    assert hosted[2] > 0.8 * limit
    stage.reload_sidecar(limits={"max_broker_partitions": limit})
    yield {fired("KafkaPartitionLimit", broker=1), fired("KafkaPartitionLimit", broker=2)}
    stage.reload_sidecar(limits={"max_broker_partitions": None})


@fault("cluster-limit", "More partitions than the cluster shall have")
def cluster_full(stage: Stage) -> Iterator[set[Fired]]:
    """One too many."""
    stage.reload_sidecar(limits={"max_partitions": sum(1 for _ in _states(stage)) - 1})
    yield {fired("KafkaPartitionLimit")}
    stage.reload_sidecar(limits={"max_partitions": None})


@fault("series-budget", "More series than the budget has room for")
def budget_too_small(stage: Stage) -> Iterator[set[Fired]]:
    """A series budget that is too small for the partitions and for the clients with a quota."""
    stage.reload_sidecar(limits={"series": 1})
    yield {fired("KafkaWardenBlind")}
    stage.reload_sidecar(limits={"series": None})


def _states(stage: Stage) -> Iterator[tuple[int, ...]]:
    """The replicas of every partition that a limit counts."""
    admin = stage.cluster.admin
    for topic in admin.topics():
        for state in admin.describe(topic).values():
            yield state.replicas
