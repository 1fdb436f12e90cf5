"""Followers that hang, cannot keep up, or have lost everything."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sandbox import wait_for
from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired
from tests.cluster.followers import duty_cycle
from tests.support.threads import repeating

MEGABYTE: Final = 1_000_000
RECORD: Final = 10_000
SAMPLES: Final = 8
"""One every two seconds. A follower that hangs before its third sample is not known to be stuck."""
PAUSED, BETWEEN = 4.5, 3.5
"""Seconds of a pause and until the next one. `disks.TWO_DIRECTORIES` allows 1.5 s to a replica and 9 s to a broker: the
replica is out of the ISR for two polls."""
LEADER: Final = 1
"""The broker of `SMALL` that no fault stops. A broker that runs a part of the time sometimes answers over JMX."""


@fault("broker-hangs", "A broker hangs and is not fenced")
def hangs(stage: Stage) -> Iterator[set[Fired]]:
    """SIGSTOP without fencing: the follower does not advance, but the cluster sees it as alive."""
    with _outrun(stage, "hung"):
        stage.cluster.pause(2)
        yield {fired("KafkaBrokerUnreachable", broker=2)}
        stage.cluster.resume(2)


@fault("follower-slow", "A follower copies half of what is written")
def slow(stage: Stage) -> Iterator[set[Fired]]:
    """A broker that runs a part of the time. Replicas of a broker that came back lately are expected to be behind."""
    wait_for(lambda: stage.value("broker:kafka_warden_broker_returned:max") is None, 120, "no broker came back lately")
    with _outrun(stage, "slow"), duty_cycle(stage.cluster, LEADER, 2, "slow"):
        yield {fired("KafkaReplicasOutOfSync", broker=2), fired("KafkaPartitionAtMinIsr")}


@fault("broker-wiped", "A throttled broker comes back with empty disks")
def wiped(stage: Stage) -> Iterator[set[Fired]]:
    """Disks are emptied, and an existing throttle limits the new copy."""
    cluster, admin, rate = stage.cluster, stage.cluster.admin, MEGABYTE // 4
    admin.create_topic("wiped", assignment={0: [1, 3]})
    cluster.load.produce("wiped", bytes=45 * MEGABYTE, record_size=RECORD)
    admin.alter_topic_config("wiped", {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:3"})
    admin.alter_broker_config(1, {LEADER_RATE: rate})
    admin.alter_broker_config(3, {FOLLOWER_RATE: rate})
    # It reads configurations without a throttle once a minute, and all of them when it starts.
    stage.restart_sidecar()
    limit = 'kafka_warden_replication_throttle_bytes_per_second{broker="3",side="follower"}'
    wait_for(lambda: stage.value(limit) == rate, 30, "the throttle is seen")
    cluster.kill(3)
    cluster.wipe(3)
    cluster.start(3)
    cluster.wait_ready(3)
    yield {
        fired("KafkaThrottleTooLow", broker=1, side="leader"),
        fired("KafkaThrottleTooLow", broker=3, side="follower"),
        fired("KafkaPartitionAtMinIsr"),
    }
    admin.alter_broker_config(1, {LEADER_RATE: None})
    admin.alter_broker_config(3, {FOLLOWER_RATE: None})
    admin.alter_topic_config("wiped", {LEADER_REPLICAS: None, FOLLOWER_REPLICAS: None})
    cluster.wait_in_sync()


@fault("isr-flaps", "A broker pauses for a moment, again and again")
def flaps(stage: Stage) -> Iterator[set[Fired]]:
    """SIGSTOP for longer than the brokers allow a replica to be late, and for less than the controller does."""
    stage.cluster.admin.create_topic("flapping", assignment={0: [1, 2]})

    def pause() -> None:
        stage.cluster.pause(2)
        time.sleep(PAUSED)
        stage.cluster.resume(2)

    with stage.cluster.load.background("flapping", MEGABYTE // 10, acks=1), repeating(pause, BETWEEN):
        yield {fired("KafkaIsrFlapping", broker=2)}
    stage.cluster.wait_in_sync()


@contextmanager
def _outrun(stage: Stage, topic: str) -> Iterator[None]:
    """A topic with a higher inbound rate than a partly running follower with small fetches can copy."""
    stage.cluster.admin.create_topic(topic, assignment={0: [1, 2]})
    load = stage.cluster.load.background(
        topic, 2.5 * MEGABYTE, record_size=RECORD, acks=1, batch_size=RECORD, linger_ms=0
    )
    with load:
        rates = f'count_over_time(kafka_warden_partition_bytes_in_per_second{{topic="{topic}"}}[1m]) >= {SAMPLES}'
        wait_for(lambda: stage.value(rates), what=f"{topic} was looked at for longer than a quota window")
        yield
    stage.cluster.wait_in_sync()
