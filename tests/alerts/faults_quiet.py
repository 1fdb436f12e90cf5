"""Harmless events: no alert may fire."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from sandbox import wait_for
from sandbox.admin_moves import LOG_DIR_RATE
from tests.alerts.fault import fault
from tests.alerts.stage import FAST, Fired, Stage
from tests.support.topics import fill

MEGABYTE: Final = 1_000_000
PARTITIONS: Final = range(6)
PACE: Final = replace(FAST, floor=30.0)
"""A restart takes 15 s, and must be shorter than the minute that a dead broker has."""
LONGER: Final = 45.0
"""Seconds, longer than the longest `for` at this pace."""


@fault(
    "quiet", "Nothing: a healthy throttled move, producers, a burst, copies to remote storage, a restart of the sidecar"
)
def quiet(stage: Stage) -> Iterator[set[Fired]]:
    """Normal operation."""
    cluster = stage.cluster
    cluster.admin.create_topic("usual", partitions=len(PARTITIONS), replication_factor=3)
    cluster.admin.create_topic("moving", assignment={0: [1, 2]})
    cluster.admin.create_tiered_topic("remote")
    cluster.load.produce("moving", bytes=30 * MEGABYTE, record_size=10_000)
    with (
        cluster.load.background("usual", 300_000, partitions=PARTITIONS),
        cluster.load.background("remote", 200_000),
        cluster.load.background("moving", 100_000),
    ):
        cluster.admin.reassign({("moving", 0): [1, 3]}, throttle=2 * MEGABYTE)
        cluster.load.produce("moving", bytes=4 * MEGABYTE, record_size=10_000)
        cluster.admin.wait_for_moves()
        cluster.admin.clear_throttle(["moving"])
        ended = "kafka_warden_reassigning_partitions == 0"
        wait_for(lambda: stage.value(ended) is not None, what="the sidecar has seen the end")
        stage.restart_sidecar()
        time.sleep(LONGER)
        yield set()


@fault("rolling-restart", "Every broker is restarted, one after the other, under load")
def rolling_restart(stage: Stage) -> Iterator[set[Fired]]:
    """Restarts one broker after the other; before each, waits until all replicas are in sync."""
    cluster, config = stage.cluster, {"min.insync.replicas": 2}
    cluster.admin.create_topic("rolled", partitions=len(PARTITIONS), replication_factor=3, config=config)
    with cluster.load.background("rolled", 300_000, partitions=PARTITIONS):
        cluster.rolling_restart()
        time.sleep(LONGER)
        yield set()


@fault("log-dir-move", "A replica moves to the other log directory of its broker, throttled")
def log_dir_move(stage: Stage) -> Iterator[set[Fired]]:
    """A healthy move, which takes a minute and a half while its throttle stays."""
    cluster, admin = stage.cluster, stage.cluster.admin
    fill(cluster, "shelved", [1], 90 * MEGABYTE)
    admin.alter_broker_config(1, {LOG_DIR_RATE: MEGABYTE})
    (taken,) = (replica.log_dir for replica in admin.log_dirs(1) if replica.topic == "shelved")
    (free,) = {str(directory) for directory in cluster.log_dirs(1)} - {taken}
    admin.move_log_dir(1, ("shelved", 0), free)
    wait_for(lambda: stage.value("kafka_warden_log_dir_move_eta_seconds > 0"), what="the sidecar has seen it copy")
    time.sleep(LONGER)
    yield set()
    admin.alter_broker_config(1, {LOG_DIR_RATE: None})
    wait_for(lambda: not any(replica.is_future for replica in admin.log_dirs(1)), 120, "it has moved")
