"""The worst day: brokers that are all dead, no controller, one broker dead, hung or fenced, a disk that fills.

Their rounds run the rules at their real durations, except where waiting would take an hour.
"""

import time
from collections.abc import Iterator
from typing import Final

from sandbox import Cluster, ClusterSettings, wait_for
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired
from tests.support.small_disks import small_log_dir
from tests.support.topics import fill
from tests.support.tracing import stopped_thread

QUORUM: Final = ClusterSettings(
    controllers=3,
    profile="default",
    tiered=False,
    # A leader waits for more bytes than it may send: a follower gets one batch per `replica.fetch.wait.max.ms`.
    broker_properties={
        "replica.fetch.max.bytes": 1,
        "replica.fetch.min.bytes": 1_000_000,
        "replica.fetch.wait.max.ms": 200,
    },
)
"""Kafka's own times. A controller may fail, and a broker that is back needs long to catch up."""
BACKLOG: Final = 10_000
"""Batches: more than half an hour of fetches."""
VICTIM: Final = 2
WITHIN: Final = 150.0
"""Seconds until the alert on a broker."""
BURST: Final = 120.0
"""Seconds."""
MEGABYTE: Final = 1_000_000
DOWN: Final = 50.0
"""Seconds that each broker is down in a rolling restart."""
DISK, LEFT = 400.0, 20.0
"""Megabytes of the small disk, and of what is left when it fills."""


@fault("brokers-dead", "All brokers are killed")
def brokers_dead(stage: Stage) -> Iterator[set[Fired]]:
    """SIGKILL."""
    cluster = stage.cluster
    for broker in cluster.broker_ids:
        cluster.kill(broker)
    brokers = {fired("KafkaBrokerUnreachable", broker=broker) for broker in cluster.broker_ids}
    yield {fired("KafkaClusterUnreachable"), *brokers}
    for broker in cluster.broker_ids:
        cluster.start(broker)
    _whole(cluster)


@fault("quorum-lost", "Two of three controllers are killed")
def quorum_lost(stage: Stage) -> Iterator[set[Fired]]:
    """SIGKILL of the active one and of another one."""
    cluster, active = stage.cluster, stage.cluster.active_controller()
    (spared, _) = (node for node in cluster.controller_ids if node != active)
    dead = [node for node in cluster.controller_ids if node != spared]
    for node in dead:
        cluster.kill(node)
    yield {fired("KafkaNoActiveController")}
    for node in dead:
        cluster.start(node)
    for node in dead:
        cluster.wait_ready(node)
    _whole(cluster)


@fault("controller-failover", "The active controller is killed and comes back")
def failover(stage: Stage) -> Iterator[set[Fired]]:
    """SIGKILL of the active one; another one takes over."""
    cluster, active = stage.cluster, stage.cluster.active_controller()
    cluster.kill(active)
    wait_for(lambda: cluster.active_controller() != active, what="another controller is active")
    yield set()
    cluster.start(active)
    cluster.wait_ready(active)


@fault("one-dead", "One broker is killed")
def dead(stage: Stage) -> Iterator[set[Fired]]:
    """SIGKILL."""
    stage.cluster.kill(VICTIM)
    yield {fired("KafkaBrokerUnreachable", broker=VICTIM)}
    stage.cluster.start(VICTIM)
    _whole(stage.cluster)


@fault("broker-back", "A killed broker is back and catches up")
def catching_up(stage: Stage) -> Iterator[set[Fired]]:
    """The alert on the dead broker was sent; its replicas that catch up are no second notification."""
    cluster, unreachable = stage.cluster, fired("KafkaBrokerUnreachable", broker=VICTIM)
    cluster.admin.create_topic("backlog", assignment={0: [1, VICTIM]})
    cluster.kill(VICTIM)
    cluster.load.produce("backlog", records=BACKLOG, record_size=100, acks=1, batch_num_messages=1)
    stage.until_fired({unreachable}, WITHIN)
    stage.until_notified({unreachable})
    cluster.start(VICTIM)
    cluster.wait_ready(VICTIM)
    stage.caused()
    yield {unreachable}
    behind = VICTIM not in cluster.admin.isr("backlog")[0]
    cluster.admin.delete_topic("backlog")
    _whole(cluster)
    assert behind, "it caught up before the round ended"


@fault("slow-rolling-restart", "Every broker is restarted, one after the other, and is down for 50 s")
def slow_rolling_restart(stage: Stage) -> Iterator[set[Fired]]:
    """Controlled shutdown; before each, all replicas are in sync."""
    cluster = stage.cluster
    for broker in cluster.broker_ids:
        cluster.stop(broker)
        time.sleep(DOWN)
        cluster.start(broker)
        _whole(cluster)
    stage.caused()
    yield set()


@fault("broker-fenced", "A broker answers, and the controller receives no heartbeat from it")
def fenced(stage: Stage) -> Iterator[set[Fired]]:
    """The thread that sends its heartbeats stops."""
    pid = stage.cluster.pids()[VICTIM]
    with stopped_thread(pid, f"broker-{VICTIM}-lifecy"):
        yield {fired("KafkaBrokerUnreachable", broker=VICTIM)}
    _whole(stage.cluster)


@fault("metadata-stale", "A broker no longer reads the metadata, and its heartbeats go on")
def metadata_stale(stage: Stage) -> Iterator[set[Fired]]:
    """The thread that fetches the metadata log stops."""
    pid = stage.cluster.pids()[VICTIM]
    with stopped_thread(pid, f"kafka-{VICTIM}-raft-io"):
        yield {fired("KafkaBrokerUnreachable", broker=VICTIM)}
    _whole(stage.cluster)


@fault("log-dir-filling", "A log directory is 95 % full")
def log_dir_filling(stage: Stage) -> Iterator[set[Fired]]:
    """On a small file system of its own."""
    (directory,) = stage.cluster.log_dirs(VICTIM)
    with small_log_dir(stage.cluster, VICTIM, directory, DISK) as leave:
        _whole(stage.cluster)
        size = f'kafka_warden_log_dir_total_bytes{{broker="{VICTIM}"}} < 1e9'
        wait_for(lambda: stage.value(size), 180, "the sidecar knows the small disk")
        leave(LEFT)
        stage.caused()
        yield {fired("KafkaLogDirFilling", broker=VICTIM, log_dir=directory)}
        leave(None)
    _whole(stage.cluster)


@fault("move-outrun", "A move begins under a throttle far below what is produced")
def outrun(stage: Stage) -> Iterator[set[Fired]]:
    """An inbound rate of 2 MB/s, and a limit of 0.5 MB/s."""
    cluster = stage.cluster
    fill(cluster, "outrun", [1], 30 * MEGABYTE)
    with cluster.load.background("outrun", 2 * MEGABYTE, record_size=10_000):
        cluster.admin.reassign({("outrun", 0): [VICTIM]}, throttle=MEGABYTE // 2)
        stage.caused()
        yield {fired("KafkaReassignmentStuck", broker=VICTIM)}
    _cancel(cluster, "outrun")


@fault("move-burst", "Producers write far more than the throttle of a move for two minutes")
def burst(stage: Stage) -> Iterator[set[Fired]]:
    """It has advanced before, and makes up for the burst in minutes."""
    cluster = stage.cluster
    fill(cluster, "burst", [1], 300 * MEGABYTE)
    cluster.admin.reassign({("burst", 0): [VICTIM]}, throttle=MEGABYTE)
    left = f'kafka_warden_reassignment_bytes_remaining{{topic="burst"}} < {240 * MEGABYTE}'
    wait_for(lambda: stage.value(left), 180, "the move advances")
    stage.caused()
    with cluster.load.background("burst", 3 * MEGABYTE, record_size=10_000):
        time.sleep(BURST)
    yield set()
    _cancel(cluster, "burst")


def _cancel(cluster: Cluster, topic: str) -> None:
    cluster.admin.cancel()
    cluster.admin.clear_throttle([topic])
    cluster.admin.delete_topic(topic)


def _whole(cluster: Cluster) -> None:
    for broker in cluster.broker_ids:
        cluster.wait_ready(broker)
    cluster.wait_in_sync()
