"""A broker loses one disk and continues with another one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox import ClusterSettings, wait_for
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired
from tests.alerts.unregister import unregister

TWO_DIRECTORIES: Final = ClusterSettings(
    brokers=2,
    tiered=False,
    log_dirs=2,
    broker_properties={"replica.lag.time.max.ms": 1500},
    controller_properties={"broker.session.timeout.ms": 9000},
)
"""A replica leaves the ISR long before its broker is fenced, and that takes seconds: `SMALL` has minutes."""
LEADER, VICTIM = 1, 2
PARTITIONS: Final = range(6)


@fault("log-dir-offline", "A broker loses one of its two log directories")
def log_dir_offline(stage: Stage) -> Iterator[set[Fired]]:
    """The directory of a following broker is removed: it notices, and serves the other directory."""
    lost = _lose_half(stage, "halved")
    yield lost.alerts
    lost.give_back()
    stage.cluster.restart(VICTIM)
    stage.cluster.wait_in_sync()


@fault("broker-removed", "A broker with a lost log directory is taken out of the cluster for good")
def removed(stage: Stage) -> Iterator[set[Fired]]:
    """A broker without replicas is stopped and unregistered: its alerts end without a report of a good state."""
    cluster, jmx = stage.cluster, stage.cluster.jmx_brokers
    # The sidecar's JMX settings list broker ids: this id stays until it is removed there.
    stage.restart_sidecar(jmx={"brokers": {LEADER: jmx[LEADER]}})
    lost = _lose_half(stage, "leaving")
    yield lost.alerts
    cluster.admin.delete_topic("leaving")
    cluster.stop(VICTIM)
    unregister(cluster, VICTIM)
    for alert in lost.alerts:
        stage.until_gone(alert)
    lost.give_back()
    cluster.start(VICTIM)
    cluster.wait_ready(VICTIM)
    stage.restart_sidecar(jmx={"brokers": jmx})


@dataclass(frozen=True)
class Lost:
    """A lost log directory of the victim, the alerts on it, and its temporary path."""

    directory: Path
    aside: Path
    alerts: set[Fired]

    def give_back(self) -> None:
        """Move it back; its broker uses it after a restart."""
        self.aside.rename(self.directory)


def _lose_half(stage: Stage, topic: str) -> Lost:
    """A topic with the victim as follower, half of which is in the directory that it loses."""
    cluster, admin = stage.cluster, stage.cluster.admin
    admin.create_topic(topic, assignment={number: [LEADER, VICTIM] for number in PARTITIONS})
    cluster.load.produce(topic, records=100, partitions=PARTITIONS)
    seen = f'count(kafka_warden_partition_bytes_in_per_second{{topic="{topic}"}})'
    wait_for(lambda: stage.value(seen) == len(PARTITIONS), 60, "the sidecar knows the ends of all replicas")
    lost = cluster.log_dirs(VICTIM)[1]
    gone = {log.partition for log in admin.log_dirs(VICTIM) if (log.topic, log.log_dir) == (topic, str(lost))}
    assert 0 < len(gone) < len(PARTITIONS)
    aside = lost.rename(lost.with_name("aside"))
    offline = f'kafka_warden_log_dir_online{{broker="{VICTIM}"}} == 0'
    wait_for(lambda: stage.value(offline) is not None, 60, "the broker has given the directory up")
    alerts = {fired("KafkaLogDirOffline", broker=VICTIM, log_dir=lost), fired("KafkaPartitionAtMinIsr")}
    return Lost(lost, aside, alerts)
