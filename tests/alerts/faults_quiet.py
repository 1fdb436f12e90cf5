"""What is no fault, so that nothing may fire."""

import time
from collections.abc import Iterator
from typing import Final

from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage

MEGABYTE: Final = 1_000_000
PARTITIONS: Final = range(6)
LONGER: Final = 25.0
"""Seconds: than the longest `for` of this scale."""


@fault("quiet", "Nothing: a healthy throttled move, producers, copies to remote storage, a restart of the sidecar")
def quiet(stage: Stage) -> Iterator[set[Fired]]:
    """A day like any other."""
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
        cluster.admin.wait_for_moves()
        cluster.admin.clear_throttle(["moving"])
        stage.restart_sidecar()
        time.sleep(LONGER)
        yield set()


@fault("rolling-restart", "Every broker is restarted, one after the other, under load")
def rolling_restart(stage: Stage) -> Iterator[set[Fired]]:
    """One broker after the other, each once all replicas are in sync again."""
    cluster, config = stage.cluster, {"min.insync.replicas": 2}
    cluster.admin.create_topic("rolled", partitions=len(PARTITIONS), replication_factor=3, config=config)
    with cluster.load.background("rolled", 300_000, partitions=PARTITIONS):
        cluster.rolling_restart()
        time.sleep(LONGER)
        yield set()
