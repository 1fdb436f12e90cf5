"""Moves of compacted and of tiered topics: what remains is what is left on disk, not what was ever written."""

from pathlib import Path

import pytest

from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.admin_topics import EARLIEST_LOCAL
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from tests.cluster.page import Page
from tests.cluster.watching import LONG_ENOUGH, watching

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.full_kafka]

MEGABYTE = 1_000_000
RECORD = 10_000
SEGMENT = 1 << 20
TOPIC = "kind"
COMPACTED = {"cleanup.policy": "compact", "segment.bytes": SEGMENT, "min.cleanable.dirty.ratio": 0.01}
TIERED = {"remote.storage.enable": True, "segment.bytes": SEGMENT, "local.retention.bytes": 20 * SEGMENT}
SETTINGS = ClusterSettings(broker_properties=DEFAULT_QUOTA_WINDOW)
"""The law of throttled moves was measured with Kafka's own quota window."""
ETA_WITHIN = 12.0
"""Seconds. A move starts with all that a quota window lets through, and then waits."""


def test_a_compacted_topic_that_moves(own: Cluster, tmp_path: Path) -> None:
    own.admin.create_topic(TOPIC, assignment={0: [1]}, config=COMPACTED)
    own.load.produce(TOPIC, bytes=20 * MEGABYTE, record_size=RECORD, keys=20)
    wait_for(lambda: _size(own, 1) < 3 * MEGABYTE, LONG_ENOUGH, "the log is cleaned")
    own.load.produce(TOPIC, bytes=30 * MEGABYTE, record_size=RECORD, keys=3000)
    _follow(own, tmp_path, throttle=MEGABYTE)


def test_a_tiered_topic_that_moves(own: Cluster, tmp_path: Path) -> None:
    """Segments in remote storage only are not copied: 20 of 60 MB are."""
    own.admin.create_topic(TOPIC, assignment={0: [1]}, config=TIERED)
    own.load.produce(TOPIC, bytes=60 * MEGABYTE, record_size=RECORD)
    wait_for(lambda: own.admin.offsets(TOPIC, EARLIEST_LOCAL)[0] > 3000, LONG_ENOUGH, "segments are remote only")
    wait_for(lambda: _size(own, 1) < 25 * MEGABYTE, LONG_ENOUGH, "and gone from the disk")
    _follow(own, tmp_path, throttle=MEGABYTE)


def _follow(cluster: Cluster, folder: Path, throttle: int) -> None:
    """Move the only partition to broker 2 and hold every page against the disks and the clock."""
    size = _size(cluster, 1)
    with watching(cluster, folder) as watch:
        cluster.admin.reassign({(TOPIC, 0): [2]}, throttle=throttle)
        pages: list[Page] = []

        def over(page: Page) -> bool:
            pages.append(page)
            return any(_remaining(page) for page in pages) and page["reassigning_partitions"] == 0

        watch.until(over, "it has moved")
        cluster.admin.clear_throttle([TOPIC])

    moving = [page for page in pages if _remaining(page)]
    remaining = [_remaining(page) for page in moving]
    end = next(page.time for page in pages if page.time > moving[-1].time)
    off = [page.one("reassignment_eta_seconds", **_labels()) - (end - page.time) for page in moving[1:]]
    wholes = [
        left / (1 - page.one("reassignment_progress_ratio", **_labels()))
        for page, left in zip(moving, remaining, strict=True)
    ]
    print(f"{size} B on the leader's disk, by the page {[round(whole) for whole in wholes]}; remaining {remaining}")
    print(f"ETAs off by {[round(seconds, 1) for seconds in off]}")
    assert remaining == sorted(remaining, reverse=True)
    assert all(0.7 * size <= whole <= 1.1 * size for whole in wholes)
    assert max(abs(seconds) for seconds in off) <= ETA_WITHIN


def _labels() -> dict[str, object]:
    return {"topic": TOPIC, "partition": 0, "broker": 2}


def _remaining(page: Page) -> float:
    return page.get("reassignment_bytes_remaining", **_labels()) or 0.0


def _size(cluster: Cluster, broker: int) -> int:
    return sum(log.size for log in cluster.admin.log_dirs(broker) if log.topic == TOPIC)
