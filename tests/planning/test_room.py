"""Room on brokers for old and new replicas: KIP-578's limits, and disks."""

import math
from dataclasses import replace

import pytest

from kafka_warden.model import UNKNOWN
from kafka_warden.planning.creation import plan_creation
from kafka_warden.planning.findings import problems, warnings
from kafka_warden.planning.json_values import to_document
from kafka_warden.planning.room import Disk, Partitions, count_replicas
from kafka_warden.replies import LogDir
from tests.support.planned import GB, cluster, log_dir, plan, sized, to

OFFLINE, CORDONED = log_dir(2, online=False), log_dir(2, cordoned=True)
TOPICS = {"t": [sized([1, 2], GB), sized([2, 1], GB)], "__consumer_offsets": [sized([1, 2, 3], GB)] * 5}


def test_old_and_new_replicas_count() -> None:
    found = plan(cluster(TOPICS), to("t", 0, 1, 3), to("__consumer_offsets", 0, 1, 2), most_partitions=2)

    assert {room.broker: room.partitions for room in found.rooms} == {
        1: Partitions(2, 2, 2, 2, fits=True),
        2: Partitions(2, 2, 1, 2, fits=True),
        3: Partitions(0, 1, 1, 2, fits=True),
    }
    assert problems(found) == ()


def test_a_limit_that_is_exceeded_during_the_move_is_a_problem() -> None:
    """A swap between two full brokers fits before and after the move, but not during it."""
    topics = {"t": [sized([1], GB), sized([2], GB)]}
    found = plan(cluster(topics), to("t", 0, 2), to("t", 1, 1), most_partitions=1)
    counts = [(room.partitions.during, room.partitions.after, room.partitions.fits) for room in found.rooms]
    assert counts == [(2, 1, False)] * 2
    assert problems(found)[0] == "broker 1 would have 2 partitions while it moves, its limit is 1"


def test_a_broker_over_its_limit_may_lose_replicas() -> None:
    """It has no room for a new one, and needs none."""
    found = plan(cluster({"t": [sized([1], GB)] * 3}, more=[2]), to("t", 0, 2), most_partitions=1)
    assert [room.partitions for room in found.rooms] == [
        Partitions(3, 3, 2, 1, fits=True),
        Partitions(0, 1, 1, 1, fits=True),
    ]


def test_a_replica_that_is_being_added_is_counted_once() -> None:
    """A move in progress needs no further room."""
    found = plan(cluster({"t": [sized([1, 2], GB, adding=[2])]}), to("t", 0, 2), most_partitions=1)
    assert [room.partitions for room in found.rooms] == [Partitions(1, 1, after, 1, fits=True) for after in (0, 1)]


def test_bytes_that_each_broker_sends_and_receives() -> None:
    """A leader sends each copy; bytes are freed at the end only."""
    seen = cluster({"t": [sized([1, 2], 3 * GB)]}, log_dirs=(log_dir(1, used=5 * GB), log_dir(3)), more=[3, 4])

    found = {room.broker: room for room in plan(seen, to("t", 0, 3, 4)).rooms}

    moved = {broker: (room.sends, room.receives) for broker, room in found.items()}
    assert moved == {1: (6 * GB, 0), 2: (0, 0), 3: (0, 3 * GB), 4: (0, 3 * GB)}
    assert (found[1].disk.before, found[1].disk.during, found[1].disk.after) == (5 * GB, 5 * GB, 2 * GB)
    assert found[2].disk == Disk(None, None, None, None, None, fits=True, why="the log directories are unknown")
    assert found[4].disk.fits is None


def test_bytes_are_unknown_while_a_log_directory_is_offline() -> None:
    """It has logs, and the broker does not report them. A broker whose directories are online is summed as before."""
    offline = log_dir(1, "/b", online=False, bytes=UNKNOWN, usable_bytes=UNKNOWN, total_bytes=UNKNOWN)
    seen = cluster({"a": [sized([1, 2], GB)]}, log_dirs=(log_dir(1, used=GB), offline, log_dir(2)), more=[3])
    found = plan(seen, to("a", 0, 3, 2))
    one = found.rooms[0].disk
    assert (one.before, one.during, one.after, one.capacity, one.fits) == (None, None, None, 1e15 + GB, True)
    document = to_document({"disk": one})
    assert {key for key, reason in document["reasons"].items() if "a log directory is offline" in reason} == {
        f"disk.bytes_{when}" for when in ("before", "during", "after")
    }
    assert found.rooms[1].disk.before == 0


@pytest.mark.parametrize(
    ("why", "directories", "paths", "fits", "message"),
    [
        ("one that is large enough", [log_dir(2, usable=2 * GB)], [], True, ""),
        ("one byte short", [log_dir(2, usable=2 * GB - 1)], [], False, "they have not enough free space"),
        ("an offline one has no room", [OFFLINE, log_dir(2, "/b", usable=GB)], [], False, "not enough free space"),
        ("enough in either", [log_dir(2, usable=2 * GB), log_dir(2, "/b", usable=2 * GB)], [], True, ""),
        ("enough in both", [log_dir(2, usable=1.5 * GB), log_dir(2, "/b", usable=GB)], [], None, "depends on which"),
        ("no one takes one", [log_dir(2, usable=GB - 1)] * 3, [], False, "not enough free space"),
        ("unknown, before 3.3", [replace(log_dir(2), usable_bytes=UNKNOWN)], [], None, "their free space is unknown"),
        ("named and full", [log_dir(2), log_dir(2, "/b", usable=1)], ["/b"], False, "/b has not enough free space"),
        ("none is left", [log_dir(2, usable=GB), log_dir(2, "/b", usable=GB)], ["/b"], None, "depends"),
        ("named and empty", [log_dir(2, usable=GB), log_dir(2, "/b", usable=2 * GB)], ["/b"], True, ""),
        ("a cordoned one takes none", [CORDONED, log_dir(2, "/b", usable=GB)], [], False, "not enough free space"),
        ("the other one takes both", [log_dir(2, usable=1, cordoned=True), log_dir(2, "/b")], [], True, ""),
        ("all offline", [OFFLINE], [], False, "all log directories are offline"),
    ],
)
def test_disks(why: str, directories: list[LogDir], paths: list[str], fits: bool | None, message: str) -> None:
    seen = cluster({"t": [sized([1], GB)] * 2}, log_dirs=tuple(directories), more=[2])

    found = plan(seen, to("t", 0, 2, log_dirs=paths), to("t", 1, 2))

    disk = found.rooms[1].disk
    assert disk.fits is fits, why
    assert message in disk.why
    assert bool(problems(found)) is (fits is False)
    assert any(f"disks of broker 2: {disk.why}" in warning for warning in warnings(found)) is (fits is None)


def test_a_move_in_progress_to_a_cordoned_broker_goes_on() -> None:
    """It was submitted before: Kafka uses one of the directories."""
    seen = cluster({"t": [sized([1, 2], GB, adding=[2]), sized([3], GB)]}, log_dirs=(CORDONED,), more=[4])
    assert plan(seen, to("t", 1, 4)).rooms[1].disk.fits is True


def test_counts_for_a_creation() -> None:
    seen = cluster(TOPICS, more=[4])
    assert count_replicas(seen) == {1: 2, 2: 2, 3: 0, 4: 0}
    assert plan_creation(seen, "new", 1, 1, math.inf, math.inf).cluster_before == 2
    assert math.isinf(plan(seen, to("t", 0, 1, 4)).rooms[0].partitions.limit)
