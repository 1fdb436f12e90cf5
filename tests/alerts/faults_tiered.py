"""Remote storage that a quota limits, or that refuses writes."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from sandbox import SandboxError, wait_for
from sandbox.admin_topics import EARLIEST_LOCAL, LATEST_TIERED
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired
from tests.support.threads import repeating

COPY_QUOTA: Final = "remote.log.manager.copy.max.bytes.per.second"
FETCH_QUOTA: Final = "remote.log.manager.fetch.max.bytes.per.second"
MIB: Final = 1 << 20
READS: Final = 2.0
"""Seconds that one consumer tries to read."""
COPYING, OTHER = 1, 2
"""The broker with a copy quota, and the one with a fetch quota whose copies fail."""


@fault("copy-quota", "A copy quota far below what is produced")
def copy_held_back(stage: Stage) -> Iterator[set[Fired]]:
    """The quota is a sixth of the produce rate: one whole segment per quota window, so copies never stop."""
    admin = stage.cluster.admin
    admin.alter_broker_config(COPYING, {COPY_QUOTA: 100_000})
    _create(stage, "held", COPYING)
    with stage.cluster.load.background("held", 600_000):
        yield {fired("KafkaRemoteCopyHeldBack", broker=COPYING, cause="quota")}
    admin.alter_broker_config(COPYING, {COPY_QUOTA: None})


@fault("fetch-quota", "A consumer of history against a low fetch quota")
def fetch_held_back(stage: Stage) -> Iterator[set[Fired]]:
    """A consumer reads segments that are only in remote storage."""
    admin = stage.cluster.admin
    admin.alter_broker_config(OTHER, {FETCH_QUOTA: 150_000})
    _create(stage, "history", OTHER)
    stage.cluster.load.produce("history", bytes=30 * MIB)
    wait_for(lambda: admin.offsets("history", EARLIEST_LOCAL)[0] > 25 * 1000, 120, "segments are deleted locally")
    consumer = threading.Thread(target=lambda: stage.cluster.load.consume("history", timeout=300), daemon=True)
    consumer.start()
    yield {fired("KafkaRemoteFetchHeldBack", broker=OTHER, cause="quota")}
    admin.alter_broker_config(OTHER, {FETCH_QUOTA: None})
    consumer.join()


@fault("remote-fails", "Remote storage takes nothing of a partition")
def remote_fails(stage: Stage) -> Iterator[set[Fired]]:
    """A file replaces the directory of a partition: copies and reads fail."""
    admin, cluster = stage.cluster.admin, stage.cluster
    _create(stage, "failing", OTHER)
    cluster.load.produce("failing", bytes=3 * MIB)
    wait_for(lambda: admin.offsets("failing", EARLIEST_LOCAL)[0] > 0, 120, "a segment is in remote storage only")
    # Brokers delete the segments of an earlier topic of this name late.
    there = max(cluster.root.glob("remote/*/failing-0-*"), key=lambda path: path.stat().st_ctime)
    aside = there.rename(there.with_name("aside"))
    there.touch()
    cluster.load.produce("failing", bytes=4 * MIB)

    def read_in_vain() -> None:
        with suppress(SandboxError):
            cluster.load.consume("failing", timeout=READS)

    # One failed read ends a consumer: its failures would be over before the alert.
    with repeating(read_in_vain, READS / 4):
        yield {
            fired("KafkaRemoteCopyHeldBack", broker=OTHER, cause="errors"),
            fired("KafkaRemoteCopyHeldBack", topic="failing", cause="lag"),
            fired("KafkaRemoteFetchHeldBack", broker=OTHER, cause="errors"),
        }
    there.unlink()
    aside.rename(there)
    wait_for(lambda: admin.offsets("failing", LATEST_TIERED)[0] > 5 * 1000, 120, "the segments are copied")


def _create(stage: Stage, topic: str, broker: int) -> None:
    config = {"remote.storage.enable": True, "segment.bytes": MIB, "local.retention.bytes": MIB}
    stage.cluster.admin.create_topic(topic, assignment={0: [broker]}, config=config)
