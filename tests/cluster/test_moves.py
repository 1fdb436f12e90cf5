"""Reassignments on a real cluster: how far they are, what throttles them, and why one does not get on."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration
from tests.support.topics import fill

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.versions]

MEGABYTE = 1_000_000
HEALTHY = {"topic": "healthy", "partition": 0, "broker": 2}


def test_a_throttled_move_is_followed_to_its_end(cluster: Cluster, tmp_path: Path) -> None:
    throttle, size = 1 * MEGABYTE, 15 * MEGABYTE
    fill(cluster, "healthy", [1], size)

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        cluster.admin.reassign({("healthy", 0): [2]}, throttle=throttle)
        pages = sidecar.pages_until(_is_over)
        after = sidecar.whole_page()

    pages = [page for page in pages if not page.down()]
    moving = [page for page in pages if page.get("reassignment_bytes_remaining", **HEALTHY) is not None]
    remaining = [page.one("reassignment_bytes_remaining", **HEALTHY) for page in moving]
    progress = [page.one("reassignment_progress_ratio", **HEALTHY) for page in moving]
    print(f"remaining {remaining}, progress {[round(ratio, 2) for ratio in progress]}")
    assert remaining == sorted(remaining, reverse=True)
    assert remaining[0] > remaining[-1]
    assert progress == sorted(progress)
    assert all(0 <= ratio <= 1 for ratio in progress)
    for page in moving[1:-1]:
        assert page["reassigning_partitions"] == 1
        assert page.one("reassignment_replicas", broker=2, change="adding") == 1
        assert page.one("reassignment_replicas", broker=1, change="removing") == 1
        assert page.one("reassignment_never_ends", **HEALTHY) == 0
        _assert_throttled(page, throttle)
    assert max(_rates(moving, "leader", broker=1)) > 0.5 * throttle
    assert max(_rates(moving, "follower", broker=2)) > 0.5 * throttle
    assert after["reassigning_partitions"] == 0
    assert [
        name for name in after.names() if after.rows(name) and "healthy" in _topics(after, name, "reassignment_")
    ] == []
    assert after.one("broker_reassignment_bytes_in_total", broker=2) >= size


def test_a_changed_move_is_changed_on_the_next_page(cluster: Cluster, tmp_path: Path) -> None:
    fill(cluster, "changed", [1], 12 * MEGABYTE)

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        targets = []
        for target in (2, 3):
            cluster.admin.reassign({("changed", 0): [target]}, throttle=100_000)
            page = sidecar.whole_page()
            targets.append(set(page.all("reassignment_stalled_seconds", topic="changed", partition=0)))
            assert page["reassigning_partitions"] == 1
            assert page.brokers("reassignment_replicas", change="adding")[target] == 1
        cluster.admin.cancel()
        after = sidecar.whole_page()

    assert targets == [{("2",)}, {("3",)}]
    assert after["reassigning_partitions"] == 0
    assert [name for name in after.names() if "changed" in _topics(after, name, "reassignment_")] == []
    # Kafka takes a first target that is given up for one to be removed, and a cancelled move leaves it as a replica.
    state = cluster.admin.describe("changed")[0]
    assert (state.replicas, state.isr) == ((1, 2), (1,))
    assert after["under_replicated_partitions"] == 1


def _is_over(page: Page) -> bool:
    return not page.all("reassignment_bytes_remaining") and page["reassigning_partitions"] == 0


def _assert_throttled(page: Page, throttle: float) -> None:
    limits = {1: throttle, 2: throttle, 3: float("inf")}
    origins = {("1", "broker"), ("2", "broker"), ("3", "unset")}
    listed = {"leader": {1: 1, 2: 0, 3: 0}, "follower": {1: 0, 2: 1, 3: 0}}
    for side, counts in listed.items():
        assert page.brokers("replication_throttle_bytes_per_second", side=side) == limits
        assert set(page.all("replication_throttle_origin_info", side=side)) == origins
        assert page.brokers("replication_throttled_replicas", side=side) == counts


def _rates(pages: Iterable[Page], side: str, broker: int) -> list[float]:
    found = (page.get(f"{side}_replication_throttled_bytes_per_second", broker=broker) for page in pages)
    return [rate for rate in found if rate is not None]


def _topics(page: Page, name: str, prefix: str) -> set[str]:
    return {labels.get("topic", "") for labels, _ in page.rows(name)} if name.startswith(prefix) else set()
