"""A disk that a broker loses, while it goes on with another one."""

from collections.abc import Iterator
from typing import Final

from sandbox import ClusterSettings, wait_for
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired

TWO_DIRECTORIES: Final = ClusterSettings(brokers=2, tiered=False, log_dirs=2)
"""With a session of seconds, so that a broker may register again as soon as it is back: `SMALL` has minutes."""
VICTIM: Final = 2
PARTITIONS: Final = range(6)


@fault(
    "log-dir-offline",
    "A broker loses one of its two log directories",
    "KafkaLogDirOffline",
    "KafkaReplicaOutOfSyncTooLong",
    "KafkaPartitionUnderReplicated",
)
def log_dir_offline(stage: Stage) -> Iterator[set[Fired]]:
    """The folder goes away under a broker that follows: it notices, and serves what lies in the other one."""
    cluster, admin = stage.cluster, stage.cluster.admin
    admin.create_topic("halved", assignment={number: [1, VICTIM] for number in PARTITIONS})
    cluster.load.produce("halved", records=100, partitions=PARTITIONS)
    lost = cluster.log_dirs(VICTIM)[1]
    gone = {log.partition for log in admin.log_dirs(VICTIM) if (log.topic, log.log_dir) == ("halved", str(lost))}
    assert 0 < len(gone) < len(PARTITIONS)
    aside = lost.rename(lost.with_name("aside"))
    offline = f'kafka_warden_log_dir_online{{broker="{VICTIM}"}} == 0'
    wait_for(lambda: stage.value(offline) is not None, 60, "the broker has given the directory up")
    yield {
        fired("KafkaLogDirOffline", broker=VICTIM, log_dir=lost),
        *(fired("KafkaReplicaOutOfSyncTooLong", topic="halved", partition=n, broker=VICTIM) for n in gone),
        *(fired("KafkaPartitionUnderReplicated", topic="halved", partition=n) for n in gone),
    }
    aside.rename(lost)
    cluster.restart(VICTIM)
    cluster.wait_in_sync()
