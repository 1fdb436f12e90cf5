"""Tiered storage since Kafka 4.3: followers that begin late (KIP-1023), uploads that wait on purpose (KIP-1241)."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from sandbox.admin_topics import EARLIEST_LOCAL, LATEST, LATEST_TIERED
from tests.cluster.sidecar import Sidecar, configuration
from tests.cluster.test_plan import plan_of
from tests.cluster.test_tiered import COPY_QUOTA, MIB, OVERDUE, STALLED

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

ALLOWED_BYTES, ALLOWED_SECONDS = "topic_remote_copy_allowed_lag_bytes", "topic_remote_copy_allowed_lag_seconds"
REMOTE = {"remote.storage.enable": True, "segment.bytes": MIB}
DELAY = 25.0
WEEK = 7 * 24 * 3600
FETCH_LATE = "follower.fetch.last.tiered.offset.enable"


def test_uploads_that_wait_on_purpose_are_not_overdue(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """By bytes: 8 MiB stay. By age: nothing is overdue before the age, and all closed segments are after it."""
    cluster = make_cluster(version="4.4.0", brokers=2)
    admin = cluster.admin
    sizes = {"remote.copy.lag.bytes": 8 * MIB, "remote.copy.lag.ms": -1, "local.retention.bytes": 64 * MIB}
    admin.create_topic("large", assignment={0: [1, 2]}, config=REMOTE | sizes)
    admin.create_topic("aged", assignment={0: [2, 1]}, config=REMOTE | {"remote.copy.lag.ms": int(1000 * DELAY)})
    cluster.load.produce("large", bytes=7 * MIB)

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        early = sidecar.wait(lambda page: page.get(OVERDUE, topic="large") is not None)
        limits = {name: early.all(name) for name in (ALLOWED_BYTES, ALLOWED_SECONDS)}
        waiting = sidecar.pages_until(lambda page: page.time > early.time + DELAY)
        assert admin.offsets("large", LATEST_TIERED) == {0: -1}
        cluster.load.produce("large", bytes=7 * MIB)
        wait_for(lambda: admin.offsets("large", LATEST_TIERED)[0] > 0, 60.0, "what exceeds 8 MiB is copied")
        copied = sidecar.wait(lambda page: page.get(OVERDUE, topic="large") == 0)

        admin.alter_broker_config("", {COPY_QUOTA: 1})
        began = time.time()
        cluster.load.produce("aged", bytes=7 * MIB)
        produced = time.time()
        held = sidecar.pages_until(lambda page: (page.get(OVERDUE, topic="aged") or 0) > 3 * MIB)
        took = time.time() - began
        admin.alter_broker_config("", {COPY_QUOTA: None})
        after = sidecar.wait(lambda page: page.get(OVERDUE, topic="aged") == 0)

    left = _uncopied(cluster, "large")
    aged = [page.get(OVERDUE, topic="aged") for page in held]
    print(
        f"allowed {limits}; {left / MIB:.1f} MiB of large stay; aged {aged} in {took:.1f} s,"
        f" produced in {produced - began:.1f} s"
    )
    assert limits == {
        ALLOWED_BYTES: {("large",): 8 * MIB, ("aged",): float("inf")},
        ALLOWED_SECONDS: {("large",): WEEK, ("aged",): DELAY},
    }
    assert {page.get(OVERDUE, topic="large") for page in [*waiting, copied]} == {0}
    assert left > 7 * MIB
    assert took >= DELAY
    assert {value for value in aged if value is not None and value <= MIB} == {0}
    assert after.one(STALLED, topic="aged") == 0


def test_an_empty_follower_copies_what_is_not_in_remote_storage(
    make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """Kafka 4.3: the plan predicts the bytes of the new log, and the move never lacks more than them."""
    cluster = make_cluster(version="4.3.1", broker_properties={FETCH_LATE: "true"})
    admin = cluster.admin
    # The open segment is more than a follower fetches at once.
    sizes = {"segment.bytes": 4 * MIB, "local.retention.bytes": 8 * MIB}
    admin.create_topic("cold", assignment={0: [1]}, config=REMOTE | sizes)
    cluster.load.produce("cold", bytes=22 * MIB)
    wait_for(lambda: admin.offsets("cold", EARLIEST_LOCAL)[0] > 0, 60.0, "segments are deleted locally")
    wait_for(lambda: _uncopied(cluster, "cold") < 4 * MIB, 60.0, "closed segments are copied")
    local = _size(cluster, "cold", 1)

    found = plan_of(cluster, tmp_path, {("cold", 0): [2, 1]}, "--measure", "4s", "--deadline", "1m")
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        admin.reassign({("cold", 0): [2, 1]}, throttle=100_000)
        moving = sidecar.pages_until(lambda _: not admin.reassignments())
    lacks = [left for page in moving for left in page.all("reassignment_bytes_remaining").values()]
    copied = _size(cluster, "cold", 2)

    print(f"local {local}; planned {found['move']['bytes']}, copied {copied}, lacked {lacks}")
    assert copied < 4 * MIB < 8 * MIB <= local
    assert found["move"]["bytes"] == pytest.approx(copied, rel=0.1)
    assert any("the new preferred leader gets only what is not in remote storage" in each for each in found["warnings"])
    assert 0 < max(lacks) <= 1.05 * copied


def _size(cluster: Cluster, topic: str, broker: int) -> int:
    (size,) = (replica.size for replica in cluster.admin.log_dirs(broker) if replica.topic == topic)
    return size


def _uncopied(cluster: Cluster, topic: str) -> float:
    """Bytes of the leader's log that are not in remote storage, by its own offsets and size."""
    leader = cluster.admin.describe(topic)[0].leader
    end, start, tiered = (cluster.admin.offsets(topic, when)[0] for when in (LATEST, EARLIEST_LOCAL, LATEST_TIERED))
    return (end - max(tiered + 1, start)) * _size(cluster, topic, leader) / (end - start)
