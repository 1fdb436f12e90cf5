"""Why a move does not get on, cause by cause: each is made to happen, is named, and ends when it ends.

Asserted on every page that is read: no other cause, and no throttle problem.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from sandbox import AdminError, Cluster, ClusterSettings, wait_for
from sandbox.admin_topics import EARLIEST_LOCAL, LATEST_TIERED
from sandbox.damage import log_files, rotten
from tests.cluster.page import Page
from tests.cluster.watching import LONG_ENOUGH, Watch, causes, watching
from tests.support.small_disks import small_log_dir
from tests.support.topics import fill

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.versions]

MEGABYTE = 1_000_000
TWO_WINDOWS = 6.0
"""Seconds. A move with a new minimum since then is not stuck, unless a fact says so."""
AT_ONCE = 2
"""Polls, from the first one on that can see a fact."""
SETTINGS = ClusterSettings(log_dirs=2, controller_properties={"broker.session.timeout.ms": 30_000})
"""With two log directories a broker, and a controller that takes a broker that hangs for alive for so long."""


@pytest.mark.full_kafka
def test_what_stands_still_and_why(cluster: Cluster, tmp_path: Path) -> None:
    """Damaged files on disk, one after the other kind: four moves stand still, each for a cause of its own.

    A log that the leader cannot serve (`no_progress`), an index that the target cannot write (`fetcher_failed`), a
    remote log that is not there (`aux_state_error`), and a replica that is to stay and is out of sync
    (`copied_not_completed`).
    """
    fill(cluster, "rotten", [1], 5 * MEGABYTE)
    fill(cluster, "kept", [1, 2], 2 * MEGABYTE)
    _fill_tiered(cluster, "remote", leader=3)
    fill(cluster, "damaged", [1], 15 * MEGABYTE)
    with rotten(cluster, "rotten", 1, MEGABYTE) as repair, _hidden(cluster, "remote") as restore:
        _drop_out(cluster, "kept", leader=1, broker=2)
        with watching(cluster, tmp_path) as watch:
            cluster.admin.reassign({("damaged", 0): [2]}, throttle=MEGABYTE)
            watch.until(lambda page: page.all("reassignment_bytes_remaining"), "the move is seen")
            _cut_indices(cluster, "damaged", 2)
            cluster.admin.reassign({("rotten", 0): [3], ("remote", 0): [1], ("kept", 0): [2, 3]}, throttle=MEGABYTE)
            wanted = {
                ("rotten", 0, 3): "no_progress",
                ("damaged", 0, 2): "fetcher_failed",
                ("remote", 0, 1): "aux_state_error",
                ("kept", 0, 3): "copied_not_completed",
            }
            watch.causes = {topic: {cause} for (topic, _, _), cause in wanted.items()}
            _until_stuck_in_time(watch, set(wanted))
            assert causes(watch.page) == wanted

            repair()
            watch.until(lambda page: not _is_stuck(page, "rotten"), "rotten gets on")
            del watch.causes["rotten"]
            watch.until(lambda page: not page.all("reassignment_bytes_remaining", topic="rotten"), "rotten has moved")
            restore()
            watch.until(lambda page: not _is_stuck(page, "remote"), "remote gets on")
            del watch.causes["remote"]
            cluster.admin.cancel([("damaged", 0)])
            del watch.causes["damaged"]
            watch.until(lambda page: not page.all("reassignment_bytes_remaining", topic="damaged"), "damaged is over")
            cluster.restart(2)
            watch.until(lambda page: not _is_stuck(page, "kept"), "kept is whole again")
            watch.causes.clear()
            watch.until(lambda page: page["reassigning_partitions"] == 0, "every move has ended")
            cluster.admin.clear_throttle(["damaged", "rotten", "remote", "kept"])
            watch.for_polls(3, "the throttle is cleared")


def test_facts_are_shown_at_once(cluster: Cluster, tmp_path: Path) -> None:
    """A throttle of 0, a target that is down, and no leader: within two polls of those that can see it."""
    for topic, leader in {"blocked": 1, "orphan": 1, "headless": 3}.items():
        fill(cluster, topic, [leader], 25 * MEGABYTE)
    with watching(cluster, tmp_path) as watch:
        cluster.admin.reassign({("blocked", 0): [2]}, throttle=MEGABYTE)
        watch.until(lambda page: page.all("reassignment_bytes_remaining"), "the move is seen")
        watch.causes["blocked"] = {"throttle_blocked"}
        watch.problems = {(1, "leader", "blocked"), (2, "follower", "blocked")}
        for broker in (1, 2):
            cluster.admin.set_throttle_rate(broker, 0)
        polls = watch.until_stuck(_is_zero, {("blocked", 0, 2): "throttle_blocked"}, "blocked")
        assert polls <= AT_ONCE
        for broker in (1, 2):
            cluster.admin.set_throttle_rate(broker, MEGABYTE)
        watch.until(lambda page: not _is_zero(page), "the throttle is raised")
        assert causes(watch.page) == {}
        watch.causes.clear()
        watch.problems.clear()

        cluster.admin.reassign({("orphan", 0): [3], ("headless", 0): [2]}, throttle=MEGABYTE)
        watch.until(lambda page: page["reassigning_partitions"] == 3, "the moves are seen")
        wanted = {("orphan", 0, 3): "target_down", ("headless", 0, 2): "no_leader"}
        # Who was killed leads, for all that the cluster knows, until its session is over.
        watch.causes = {"orphan": {"target_down"}, "headless": {"leader_unresponsive", "no_leader"}}
        cluster.kill(3)
        down = {move: cause for move, cause in wanted.items() if cause == "target_down"}
        assert watch.until_stuck(lambda page: _is_away(page, 3), down, "target down") <= AT_ONCE
        assert watch.until_stuck(lambda page: page.fenced(3), wanted, "no leader") <= AT_ONCE
        watch.causes["headless"] = {"no_leader"}
        watch.for_polls(3, "broker 3 is down")
        # With windows of 3 s a move is stuck after 6 s: moves that share a limit take longer turns, and the first bytes
        # of one whose target was away take a moment.
        turns = {topic: {"no_progress"} for topic in ("blocked", "orphan", "headless")}
        watch.causes = turns | {"orphan": {"target_down", "no_progress"}, "headless": {"no_leader", "no_progress"}}
        cluster.start(3)
        cluster.wait_ready(3)
        watch.until(lambda page: not causes(page), "broker 3 is back")
        watch.causes = turns
        watch.for_polls(5, "they get on")


@pytest.mark.full_kafka
def test_a_broker_that_hangs(own: Cluster, tmp_path: Path) -> None:
    fill(own, "hanging", [1], 40 * MEGABYTE)
    with watching(own, tmp_path) as watch:
        own.admin.reassign({("hanging", 0): [2]}, throttle=MEGABYTE)
        watch.until(lambda page: page.all("reassignment_bytes_remaining"), "the move is seen")
        for broker, cause in {1: "leader_unresponsive", 2: "target_down"}.items():
            watch.causes["hanging"] = {cause}
            own.pause(broker)
            polls = watch.until_stuck(lambda page: page.silent("offsets"), {("hanging", 0, 2): cause}, cause)
            assert polls <= AT_ONCE
            watch.for_polls(3, "it hangs")
            assert causes(watch.page) == {("hanging", 0, 2): cause}
            own.resume(broker)
            watch.until(lambda page: not page.down(), f"broker {broker} answers")
            assert causes(watch.page) == {}
            watch.causes.clear()
            watch.for_polls(3, "it gets on")


@pytest.mark.full_kafka
def test_a_log_dir_that_is_gone_costs_its_own_replicas_only(own: Cluster, tmp_path: Path) -> None:
    numbers = range(4)
    own.admin.create_topic("spread", assignment={number: [1] for number in numbers})
    own.load.produce("spread", bytes=4 * MEGABYTE, record_size=10_000, partitions=numbers)
    with watching(own, tmp_path) as watch:
        own.admin.reassign({("spread", number): [3] for number in numbers}, throttle=MEGABYTE)
        watch.until(lambda page: len(page.all("reassignment_bytes_remaining")) == len(numbers), "the moves are seen")
        wait_for(lambda: len(_placed(own, "spread", 3)) == len(numbers))
        lost = own.log_dirs(3)[1]
        places = _placed(own, "spread", 3)
        wanted = {("spread", n, 3): "log_dir_offline" for n, place in places.items() if place == str(lost)}
        assert 0 < len(wanted) < len(numbers)
        watch.causes["spread"] = {"log_dir_offline"}
        aside = lost.rename(lost.with_name("aside"))
        polls = watch.until_stuck(lambda page: not _is_online(page, 3, lost), wanted, "log dir offline")
        assert polls <= AT_ONCE
        watch.until(lambda page: page["reassigning_partitions"] == len(wanted), "the others have moved")
        assert causes(watch.page) == wanted

        aside.rename(lost)
        watch.causes["spread"] |= {"target_down"}
        own.restart(3)
        watch.until(lambda page: _is_online(page, 3, lost) and not page.down(), "the directory is back")
        watch.causes.clear()
        watch.until(lambda page: page["reassigning_partitions"] == 0, "every move has ended")


@pytest.mark.full_kafka
def test_a_disk_without_room(own: Cluster, tmp_path: Path) -> None:
    """A full directory, then one that is too small, then neither: what is left is that the leader's log is rotten.

    The broker has another directory with a lot of room, which is of no use to what moves to this one. Nothing may be
    written while there is no room: the first write that fails takes the directory offline, which is another cause.
    """
    fill(own, "large", [1], 30 * MEGABYTE)
    small = own.log_dirs(2)[1]
    with small_log_dir(own, 2, small, megabytes=24) as leave, rotten(own, "large", 1, 500) as repair:
        _prefer(own, "large", 2, small)
        with watching(own, tmp_path) as watch:
            leave(0.5)
            watch.causes["large"] = {"log_dir_full"}
            own.admin.reassign({("large", 0): [2]})
            watch.until(causes, "it is stuck")
            assert _placed(own, "large", 2) == {0: str(small)}
            for size, room, cause in ((24, 15.0, "target_disk_too_small"), (100, None, "no_progress")):
                watch.causes["large"] |= {cause}
                subprocess.run(["mount", "-o", f"remount,size={size}m", str(small)], check=True)
                leave(room)
                watch.until(partial(_has_cause, cause), cause)
                watch.causes["large"] = {cause}
            repair()
            watch.until(lambda page: not causes(page), "it gets on")
            watch.causes.clear()
            watch.until(lambda page: page["reassigning_partitions"] == 0, "it has moved")


@pytest.mark.full_kafka
def test_a_hundred_partitions_at_a_low_rate_are_never_stuck(cluster: Cluster, tmp_path: Path) -> None:
    numbers = range(100)
    cluster.admin.create_topic("hundred", assignment={number: [1] for number in numbers})
    cluster.load.produce("hundred", bytes=1_300_000, record_size=10_000, partitions=numbers, acks=1)
    longest = 0.0
    with watching(cluster, tmp_path) as watch:
        cluster.admin.reassign({("hundred", number): [2] for number in numbers}, throttle=MEGABYTE)
        watch.until(lambda page: page["reassigning_partitions"] == len(numbers), "all are moving")

        def over(page: Page) -> bool:
            nonlocal longest
            longest = max([longest, *page.all("reassignment_stalled_seconds").values()])
            return page["reassigning_partitions"] == 0

        watch.until(over, "every move has ended", timeout=900.0)
    print(f"the longest wait for a turn was {longest:.0f} s")
    assert longest > 2 * TWO_WINDOWS


def _fill_tiered(cluster: Cluster, topic: str, leader: int) -> None:
    """A topic whose first segments are in remote storage only, so a new replica must ask for them there."""
    config = {"remote.storage.enable": True, "segment.bytes": 1 << 20, "local.retention.bytes": 1 << 20}
    cluster.admin.create_topic(topic, assignment={0: [leader]}, config=config)
    cluster.load.produce(topic, bytes=6 * MEGABYTE, record_size=10_000)
    # What is copied later would not be hidden.
    active = max(int(file.stem) for file in log_files(cluster, leader, topic, "log"))
    wait_for(lambda: cluster.admin.offsets(topic, LATEST_TIERED)[0] == active - 1, LONG_ENOUGH, "all is copied")
    wait_for(lambda: cluster.admin.offsets(topic, EARLIEST_LOCAL)[0] > 0, LONG_ENOUGH, "and some is there only")


@contextmanager
def _hidden(cluster: Cluster, topic: str) -> Iterator[Callable[[], None]]:
    """Take what a topic has in remote storage away; what is yielded puts it back."""
    (there,) = cluster.root.glob(f"remote/*/{topic}-0-*")
    hidden = there.with_name(f"hidden-{there.name}")
    there.rename(hidden)

    def restore() -> None:
        for file in hidden.iterdir():
            there.mkdir(exist_ok=True)
            file.rename(there / file.name)

    yield restore


def _drop_out(cluster: Cluster, topic: str, leader: int, broker: int) -> None:
    """Let a follower fall out of the ISR, and stay out: it cannot write its index any more."""
    _cut_indices(cluster, topic, broker)
    with cluster.load.background(topic, MEGABYTE // 5, record_size=5000, acks=1):
        wait_for(lambda: cluster.admin.isr(topic)[0] == (leader,), LONG_ENOUGH, f"{broker} is out of the ISR")


def _cut_indices(cluster: Cluster, topic: str, broker: int) -> None:
    """Make the indices of a replica empty under the broker that has mapped them: writing to them fails from now on."""
    for kind in ("index", "timeindex"):
        files = log_files(cluster, broker, topic, kind)
        assert files
        for file in files:
            os.truncate(file, 0)


def _prefer(cluster: Cluster, topic: str, broker: int, log_dir: Path) -> None:
    """Set where a broker will put a replica that it does not have yet; it answers that it has none."""
    with pytest.raises(AdminError, match="ReplicaNotAvailable"):
        cluster.admin.move_log_dir(broker, (topic, 0), str(log_dir))


def _placed(cluster: Cluster, topic: str, broker: int) -> dict[int, str]:
    return {log.partition: log.log_dir for log in cluster.admin.log_dirs(broker) if log.topic == topic}


def _until_stuck_in_time(watch: Watch, moves: set[tuple[str, int, int]]) -> None:
    """Wait until all are stuck: none before two windows without progress, nor more than a poll after its target's."""
    late = dict.fromkeys((broker for _, _, broker in moves), 0)

    def stuck(page: Page) -> bool:
        found = causes(page)
        for target in late:
            stalled = [_stalled(page, move) for move in moves if move[2] == target]
            silent = moves - found.keys()
            late[target] += min(stalled) >= TWO_WINDOWS and any(broker == target for _, _, broker in silent)
        assert all(_stalled(page, move) >= TWO_WINDOWS for move in found)
        return moves <= found.keys()

    watch.until(stuck, "every move is stuck", timeout=300.0)
    print(f"polls with two windows without progress before it was said, by target: {late}")
    assert max(late.values()) <= 1


def _stalled(page: Page, move: tuple[str, int, int]) -> float:
    topic, partition, broker = move
    return page.get("reassignment_stalled_seconds", topic=topic, partition=partition, broker=broker) or 0.0


def _is_stuck(page: Page, topic: str) -> bool:
    return any(move[0] == topic for move in causes(page))


def _has_cause(cause: str, page: Page) -> bool:
    return set(causes(page).values()) == {cause}


def _is_zero(page: Page) -> bool:
    return page.get("replication_throttle_bytes_per_second", broker=2, side="follower") == 0


def _is_away(page: Page, broker: int) -> bool:
    return page.fenced(broker) or broker in page.silent("offsets")


def _is_online(page: Page, broker: int, log_dir: Path) -> bool:
    return page.get("log_dir_online", broker=broker, log_dir=log_dir) == 1
