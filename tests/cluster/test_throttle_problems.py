"""What is wrong with a throttle, problem by problem: each is made to happen, is raised, and ends when it ends.

Asserted on every page that is read: no other problem, and no move that is stuck.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from sandbox.damage import rotten
from tests.cluster.page import Page, in_time
from tests.cluster.watching import LONG_ENOUGH, Watch, causes, problems, watching
from tests.support.topics import fill

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.versions]

MEGABYTE = 1_000_000
POLLS = 3
"""In which a problem holds before it is raised."""
STARTING = 1
"""Polls that may have begun before a change was made and ended after it."""
TWO_WINDOWS = 6.0
GRACE = 3.0


@pytest.mark.full_kafka
def test_a_healthy_throttled_move_has_none(cluster: Cluster, tmp_path: Path) -> None:
    cluster.admin.create_topic("grown", assignment={0: [1]})
    cluster.admin.create_topic("moved", assignment={number: [1, 2] for number in range(9)})
    cluster.load.produce("grown", bytes=7 * MEGABYTE, record_size=10_000)
    cluster.load.produce("moved", bytes=7 * MEGABYTE, record_size=10_000, partitions=range(9), acks=1)
    cluster.wait_in_sync()
    moves = {("grown", 0): [1, 2, 3], **{("moved", number): [2, 3] for number in range(9)}}
    waited = 0.0
    with cluster.load.background("moved", 50_000, partitions=range(9)), watching(cluster, tmp_path) as watch:
        watch.for_polls(3, "nothing moves")
        cluster.admin.reassign(moves, throttle=2 * MEGABYTE)
        watch.until(lambda page: page["reassigning_partitions"] == len(moves), "all are moving")

        def over(page: Page) -> bool:
            nonlocal waited
            stalled = page.get("reassignment_stalled_seconds", topic="grown", partition=0, broker=2)
            waited = max(waited, stalled or 0.0)
            return page["reassigning_partitions"] == 0

        watch.until(over, "every move has ended")
        print(f"the replica that was done waited for {waited:.0f} s for its sibling")
        assert waited > TWO_WINDOWS
        watch.for_polls(POLLS, "the throttle is still set")
        cluster.admin.clear_throttle(["grown", "moved"])
        watch.for_polls(POLLS + STARTING, "the throttle is cleared")


def test_what_is_set_wrongly_while_something_moves(cluster: Cluster, tmp_path: Path) -> None:
    fill(cluster, "moving", [1], 90 * MEGABYTE)
    alter, config = cluster.admin.alter_broker_config, cluster.admin.alter_topic_config
    both = {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"}

    def rates(first: int, second: int) -> Callable[[], None]:
        def change() -> None:
            cluster.admin.set_throttle_rate(1, first)
            cluster.admin.set_throttle_rate(2, second)

        return change

    right = rates(MEGABYTE, MEGABYTE)
    with watching(cluster, tmp_path) as watch:
        cluster.admin.reassign({("moving", 0): [2]}, throttle=MEGABYTE)
        watch.for_polls(POLLS, "a healthy move")
        with _raised(watch, "fetch_size", rates(900_000, 900_000), right):
            watch.problems = {(1, "leader", "fetch_size"), (2, "follower", "fetch_size")}
        with _raised(watch, "uneven rates", rates(MEGABYTE, 2 * MEGABYTE), right):
            watch.problems = {(broker, side, "uneven") for broker in (1, 2) for side in ("leader", "follower")}
        with _raised(
            watch, "no leader list", lambda: config("moving", {LEADER_REPLICAS: None}), lambda: config("moving", both)
        ):
            watch.problems = {(1, "leader", "lopsided")}
        with _raised(watch, "no leader rate", lambda: alter(1, {LEADER_RATE: None}), right):
            watch.problems = {(1, "leader", "lopsided")}
        with _raised(watch, "no follower rate", lambda: alter(2, {FOLLOWER_RATE: None}), right):
            watch.problems = {(2, "follower", "lopsided")}
        with _raised(
            watch,
            "a list names a replica that is not there",
            lambda: config("moving", {FOLLOWER_REPLICAS: "0:2,0:3"}),
            lambda: config("moving", both),
        ):
            watch.problems = {(3, "follower", "lopsided")}
        watch.causes["moving"] = {"throttle_blocked"}
        with _raised(watch, "blocked", rates(0, 0), right):
            watch.problems = {(1, "leader", "blocked"), (2, "follower", "blocked")}
        watch.causes.clear()
        watch.for_polls(POLLS, "all is well again")
        assert watch.page["reassigning_partitions"] == 1


@pytest.mark.full_kafka
def test_a_move_under_the_throttle_beside_one_that_goes_past_it(cluster: Cluster, tmp_path: Path) -> None:
    """What is produced into the one that no list names is more than the limit, and is not held against the other."""
    for topic in ("named", "unnamed"):
        cluster.admin.create_topic(topic, assignment={0: [1]})
    cluster.load.produce("named", bytes=90 * MEGABYTE, record_size=10_000)
    cluster.load.produce("unnamed", bytes=2 * MEGABYTE, record_size=10_000)
    named = {"topic": "named", "partition": 0, "broker": 2}
    ends: list[tuple[float, float]] = []

    def looked(page: Page) -> bool:
        """Check the move under the throttle; return whether the other one is stuck."""
        assert page.get("reassignment_never_ends", **named) in (None, 0)
        eta = page.get("reassignment_eta_seconds", **named)
        if eta is not None:
            assert eta < math.inf
            ends.append((page.time, page.time + eta))
        return ("unnamed", 0, 2) in causes(page)

    with (
        rotten(cluster, "unnamed", 1, MEGABYTE),
        cluster.load.background("unnamed", 2.5 * MEGABYTE, record_size=5000),
        watching(cluster, tmp_path) as watch,
    ):
        watch.until(lambda page: page.get("partition_bytes_in_per_second", topic="unnamed", partition=0), "rates")
        cluster.admin.reassign({("named", 0): [2]}, throttle=MEGABYTE)
        watch.for_polls(POLLS, "a healthy move")
        watch.problems = {(1, "leader", "lopsided"), (2, "follower", "lopsided")}
        watch.causes["unnamed"] = {"no_progress"}
        cluster.admin.reassign({("unnamed", 0): [2]})
        watch.until(lambda page: looked(page) and problems(page) == watch.problems, "past the throttle and stuck")
        assert watch.page["reassigning_partitions"] == 2
        watch.until(lambda page: looked(page) and page["reassigning_partitions"] == 1, "the other one has moved")
        for seen, end in ends[:: max(len(ends) // 8, 1)]:
            print(f"{watch.page.time - seen:.0f} s before it ended the ETA was off by {end - watch.page.time:+.1f} s")
        assert ends
        cluster.admin.cancel([("unnamed", 0)])
        watch.until(lambda page: page["reassigning_partitions"] == 0, "nothing moves")


def test_a_throttle_that_stays_after_its_move(cluster: Cluster, tmp_path: Path) -> None:
    fill(cluster, "over", [1], 12 * MEGABYTE)
    with watching(cluster, tmp_path, moves={"grace": f"{GRACE:g}s"}) as watch:
        cluster.admin.reassign({("over", 0): [2]}, throttle=MEGABYTE)
        watch.until(lambda page: page["reassigning_partitions"] == 1, "it moves")
        watch.problems = {(1, "leader", "left_behind"), (2, "follower", "left_behind")}
        watch.until(lambda page: page["reassigning_partitions"] == 0, "it has moved")
        ended = watch.page.time
        assert problems(watch.page) == set()
        watch.until(lambda page: problems(page) == watch.problems, "left behind")
        ages = watch.page.all("replication_throttle_problem_seconds", problem="left_behind").values()
        print(f"left behind {watch.page.time - ended:.1f} s after the end, ages {[round(age, 1) for age in ages]}")
        assert min(ages) >= GRACE
        left, idle = watch.problems, {(b, s, "idle_rate") for b in (1, 2) for s in ("leader", "follower")}
        cluster.admin.alter_topic_config("over", {LEADER_REPLICAS: None, FOLLOWER_REPLICAS: None})
        watch.problems = left | idle
        watch.until(lambda page: problems(page) == idle, "idle rates")
        cluster.admin.clear_throttle(["over"])
        assert in_time(watch.until(lambda page: not problems(page), "all is cleared")) <= 1 + STARTING
        watch.problems = set()
        watch.for_polls(POLLS, "nothing comes back")


def test_a_throttle_below_what_is_produced(cluster: Cluster, tmp_path: Path) -> None:
    """A limit that lets a response through and still loses: the problem at once, the cause when nothing gets on."""
    fill(cluster, "outrun", [1], 10 * MEGABYTE)
    with cluster.load.background("outrun", 2.5 * MEGABYTE, record_size=5000), watching(cluster, tmp_path) as watch:
        watch.until(lambda page: page.get("partition_bytes_in_per_second", topic="outrun", partition=0), "rates")
        watch.problems = {(1, "leader", "below_inbound"), (2, "follower", "below_inbound")}
        watch.causes["outrun"] = {"throttle_below_inbound"}
        cluster.admin.reassign({("outrun", 0): [2]}, throttle=MEGABYTE)
        watch.until(lambda page: problems(page) == watch.problems, "below inbound")
        watch.until(causes, "it is stuck")
        stalled = watch.page.one("reassignment_stalled_seconds", topic="outrun", partition=0, broker=2)
        print(f"stuck {stalled:.1f} s after it last got on")
        assert stalled >= TWO_WINDOWS
        assert watch.page.one("reassignment_eta_seconds", topic="outrun", partition=0, broker=2) == math.inf
        assert watch.page.one("reassignment_never_ends", topic="outrun", partition=0, broker=2) == 1
        for broker in (1, 2):
            cluster.admin.set_throttle_rate(broker, 20 * MEGABYTE)
        watch.until(
            lambda page: page.get("replication_throttle_bytes_per_second", broker=2, side="follower") != MEGABYTE,
            "raised",
        )
        assert causes(watch.page) == {}
        assert problems(watch.page) == set()
        watch.causes.clear()
        watch.problems = set()
        watch.until(lambda page: page["reassigning_partitions"] == 0, "it has moved")


@pytest.mark.full_kafka
def test_a_throttle_that_holds_originals_back(cluster: Cluster, tmp_path: Path) -> None:
    """A follower that was in sync under the throttle comes back, and may not catch up faster than a move may."""
    cluster.admin.create_topic("original", assignment={0: [1, 2]})
    cluster.admin.set_throttle({("original", 0): [1, 3]}, MEGABYTE)
    cluster.admin.alter_topic_config("original", {FOLLOWER_REPLICAS: "0:2"})
    cluster.admin.set_throttle_rate(3, None)
    cluster.load.produce("original", bytes=MEGABYTE, record_size=10_000)
    with watching(cluster, tmp_path) as watch:
        watch.for_polls(POLLS, "all in sync")
        cluster.pause(2)
        wait_for(lambda: cluster.admin.isr("original")[0] == (1,), LONG_ENOUGH, "2 is out of the ISR")
        cluster.load.produce("original", bytes=25 * MEGABYTE, record_size=10_000, acks=1)
        watch.for_polls(POLLS, "2 is away")
        cluster.resume(2)
        held = {(1, "leader", "holds_original"), (2, "follower", "holds_original")}
        watch.problems = held
        watch.until(lambda page: problems(page) == held, "originals are held back")
        for broker in (1, 2):
            cluster.admin.set_throttle_rate(broker, 50 * MEGABYTE)
        cluster.wait_in_sync()
        watch.until(lambda page: not problems(page), "the follower has caught up")
        watch.problems = set()
        watch.for_polls(POLLS, "nothing comes back")


@contextmanager
def _raised(watch: Watch, what: str, change: Callable[[], None], back: Callable[[], object]) -> Iterator[None]:
    """After a change the problems that the block sets are raised, all in the third poll; taken back, none is left."""
    yield
    expected = watch.problems
    watch.problems = set()
    change()
    watch.problems = expected
    polls = watch.until(lambda page: problems(page) == expected, what)
    assert len(polls) + STARTING >= POLLS
    assert in_time(polls) <= POLLS + STARTING
    watch.for_polls(1, "it lasts")
    assert problems(watch.page) == expected
    back()
    polls = watch.until(lambda page: not problems(page), f"no longer: {what}")
    assert in_time(polls) <= 1 + STARTING
    watch.problems = set()
