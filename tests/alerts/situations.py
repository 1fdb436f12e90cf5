"""The situation in which the commands of a runbook run: the faults that bring its alert."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sandbox import ClusterSettings, wait_for
from sandbox.admin_moves import FOLLOWER_RATE, LEADER_RATE
from sandbox.protection import MONITOR, WRONG
from tests.alerts import faults_followers as followers
from tests.alerts import faults_history as history
from tests.alerts import faults_process as process
from tests.alerts import faults_sidecar as sidecar
from tests.alerts import faults_throttles as throttles
from tests.alerts import faults_worst_day as worst_day
from tests.alerts import matrix
from tests.alerts.fault import Fault, fault
from tests.alerts.faults import DISK_ROUNDS, FAULTS, SMALL_ROUNDS, WORST_DAY
from tests.alerts.faults_disks import TWO_DIRECTORIES
from tests.alerts.stage import Fired, Stage, fired
from tests.cluster.followers import SMALL

DEFAULT: Final = ClusterSettings()
CLUSTERS: Final = (
    *((each, SMALL) for scene in SMALL_ROUNDS for each in scene.faults),
    *((each, TWO_DIRECTORIES) for scene in DISK_ROUNDS for each in scene.faults),
    *((timed.fault, worst_day.QUORUM) for timed in WORST_DAY),
)
"""Faults that need another cluster than the default one."""


@fault("stale-replica", "The only broker in the ISR dies, and a replica outside the ISR runs")
def stale_replica(stage: Stage) -> Iterator[set[Fired]]:
    """What an unclean election is for."""
    cluster, topic = stage.cluster, "stale"
    cluster.admin.create_topic(topic, assignment={0: [2, 3]})
    cluster.stop(3)
    cluster.load.produce(topic, records=100, acks=1)
    wait_for(lambda: cluster.admin.isr(topic, 0)[0] == (2,), 60, "broker 3 is out of the ISR")
    cluster.kill(2)
    wait_for(lambda: 2 not in cluster.admin.brokers(), 60, "broker 2 is fenced")
    cluster.start(3)
    cluster.wait_ready(3)
    yield {fired("KafkaPartitionOffline", broker=2, topic=topic, partition=0)}
    cluster.start(2)
    cluster.wait_ready(2)


@fault("starved", "A throttle holds a broker outside the ISR that the minimum needs")
def starved(stage: Stage) -> Iterator[set[Fired]]:
    """The wiped broker, and a topic that needs it."""
    with followers.wiped.happen(stage):
        stage.cluster.admin.alter_topic_config("wiped", {"min.insync.replicas": 2})
        yield {fired("KafkaPartitionUnderMinIsr", topic="wiped", broker=3, side="follower")}


@fault("returned-empty", "A broker comes back with empty disks, and a throttle slows its return")
def returned_empty(stage: Stage) -> Iterator[set[Fired]]:
    """Replicas that stay out of sync while the commands of the page run; the throttle has an alert of its own."""
    with followers.wiped.happen(stage):
        yield {fired("KafkaReplicasOutOfSync", broker=3)}


@fault("blind-move", "A throttled move without a sidecar")
def blind_move(stage: Stage) -> Iterator[set[Fired]]:
    """What has to be stopped by hand."""
    with throttles.below_inbound.happen(stage), sidecar.sidecar_killed.happen(stage):
        yield {fired("KafkaWardenBlind", topic="outrun")}


@fault("stuck-move", "A move is throttled to less than what is produced")
def stuck_move(stage: Stage) -> Iterator[set[Fired]]:
    """The queries of the page name the partition."""
    with throttles.below_inbound.happen(stage):
        yield {fired("KafkaReassignmentStuck", topic="outrun", partition=0, broker=2)}


@fault("topic-filling", "A log directory with a topic is 95 % full")
def topic_filling(stage: Stage) -> Iterator[set[Fired]]:
    """A topic whose retention can be shortened."""
    stage.cluster.admin.create_topic("large", assignment={0: [1, worst_day.VICTIM]})
    with worst_day.log_dir_filling.happen(stage) as brought:
        yield brought


@fault("topic-too-many", "A cluster has a topic, and more partitions than it shall have")
def topic_too_many(stage: Stage) -> Iterator[set[Fired]]:
    """A topic that can be looked at before it is deleted."""
    stage.cluster.admin.create_topic("unused", assignment={0: [1], 1: [2]})
    with sidecar.cluster_full.happen(stage):
        yield {fired("KafkaPartitionLimit", topic="unused")}


@fault("password-expired", "A second sidecar has a password that is not valid any more")
def password_expired(stage: Stage) -> Iterator[set[Fired]]:
    """Only a secured cluster refuses one; the first sidecar has data."""
    yield from process.second_sidecar(stage, {"sasl.password.file": str(stage.cluster.secret_file(WRONG))})


@fault("history-too-large", "The topic of history takes no message, and the sidecar may write to it")
def history_too_large(stage: Stage) -> Iterator[set[Fired]]:
    """A monitoring principal has no ACL to write."""
    rights = [("topic", "kept", right) for right in ("describe", "write")]
    stage.cluster.admin.grant(MONITOR, rights)
    with history.topic_refuses.happen(stage) as brought:
        yield brought
    stage.cluster.admin.revoke(MONITOR, rights)


OWN: Final[Mapping[str, Fault]] = {
    "KafkaLogDirFilling": topic_filling,
    "KafkaPartitionLimit": topic_too_many,
    "KafkaPartitionOffline": stale_replica,
    "KafkaPartitionUnderMinIsr": starved,
    "KafkaReassignmentStuck": stuck_move,
    "KafkaReplicasOutOfSync": returned_empty,
    "KafkaWardenAccessRefused": password_expired,
    "KafkaWardenBlind": blind_move,
    "KafkaWardenHistoryLost": history_too_large,
}
"""Where the faults of the rounds leave nothing for a command of the page to work on, do not name it, or slow it."""


def situation(page: Path) -> Fault | None:
    """The fault that brings the alert of a page with the fewest others, None if the record of the rounds has none."""
    alerts = {name: brought[matrix.ALERTS] for name, brought in matrix.read().items()}
    bring = [each for each in FAULTS if page.stem in alerts.get(each.name, ())]
    return OWN.get(page.stem) or min(bring, key=lambda each: len(alerts[each.name]), default=None)


def settings(cause: Fault) -> ClusterSettings:
    """The cluster of a fault; always the same object, so that tests share it."""
    return next((cluster for each, cluster in CLUSTERS if each is cause), DEFAULT)


def end_moves(stage: Stage) -> None:
    """Let every move end under the throttles that are set."""
    admin = stage.cluster.admin
    for broker in admin.running():
        rates = admin.dynamic_broker_config(broker).keys() & {LEADER_RATE, FOLLOWER_RATE}
        admin.alter_broker_config(broker, dict.fromkeys(rates, 10**9))
    admin.wait_for_moves()
