"""States of followers on a real cluster: each is made by what happens to brokers, and ends with it."""

import threading
import time
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from tests.cluster.followers import (
    LARGEST_OVERHEAD,
    TO_AGREE,
    TO_KNOW,
    Follower,
    Limits,
    count_by_state,
    left_at,
    out_of_sync,
)
from tests.cluster.page import Page
from tests.cluster.sidecar import INTERVAL, Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.versions]

RECORD = 1000
MEGABYTE = 1_000_000
ENOUGH = 6
"""Polls in a state that is held on to by a throttle."""
LEADER, BROKER = 1, 2
"""The follower that all of this happens to is on broker 2."""


def test_offline_while_its_broker_is_dead(cluster: Cluster, tmp_path: Path) -> None:
    """From the second poll on that sees its broker fenced until it is back; every age counts from its death."""
    limits, missing = Limits.of(cluster), 1500
    cluster.admin.create_topic("dead", assignment={0: [LEADER, BROKER], 1: [3, BROKER], 2: [3, LEADER]})
    cluster.load.produce("dead", records=300, partitions=range(3))

    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        follower = Follower(sidecar, "dead", BROKER)
        _known(follower)
        cluster.kill(BROKER)
        left = left_at(cluster, "dead", BROKER)
        produced = time.time()
        cluster.load.produce("dead", records=missing, record_size=RECORD)
        reached = follower.until("offline", _fenced, on_the_way={"unknown"})
        pages = follower.stays("offline")
        truth = out_of_sync(cluster)
        cluster.start(BROKER)
        cluster.wait_ready(BROKER)
        gone = follower.until("", lambda page: not _fenced(page), on_the_way={"recovering", "in_sync", "unknown"})
        after = follower.stays("")[-1]

    assert reached.polls <= TO_AGREE
    for page in pages:
        assert follower.one(page, "lag_messages") == missing
        assert missing * RECORD < follower.one(page, "lag_bytes") < LARGEST_OVERHEAD * missing * RECORD
        assert page.time - follower.one(page, "behind_seconds") == pytest.approx(produced, abs=limits.slack)
        assert page.time - follower.one(page, "lag_seconds") == pytest.approx(produced, abs=limits.slack)
        assert page.time - follower.one(page, "out_of_sync_seconds") == pytest.approx(left, abs=2 * INTERVAL)
    assert {broker: count_by_state(pages[-1], broker) for broker in cluster.broker_ids} == {
        LEADER: {},
        BROKER: {"offline": truth[BROKER]},
        3: {},
    }
    assert gone.polls <= limits.polls(limits.lag)
    assert count_by_state(after, BROKER) == {}
    assert follower.get(after, "out_of_sync_seconds") is None


def test_bootstrapping_after_its_disks_were_emptied(cluster: Cluster, tmp_path: Path) -> None:
    """Its end fell: bootstrapping until it is in sync, though a throttle holds it back, too, and no other state."""
    missing = 14_000
    cluster.admin.create_topic("wiped", assignment={0: [LEADER, BROKER]})
    cluster.load.produce("wiped", records=missing, record_size=RECORD)

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        follower = Follower(sidecar, "wiped", BROKER)
        _known(follower)
        _throttle(cluster, "wiped", MEGABYTE // 2)
        cluster.kill(BROKER)
        cluster.wipe(BROKER)
        follower.until("offline", _fenced, on_the_way={"unknown"})
        left = left_at(cluster, "wiped", BROKER)
        cluster.start(BROKER)
        reached = follower.until("bootstrapping", lambda page: _answers(follower, page), timeout=120)
        assert reached.polls <= TO_AGREE + 1
        lags = [follower.one(reached.page, "lag_messages")]
        for page in follower.pages_in("bootstrapping"):
            if (lag := follower.get(page, "lag_messages")) is not None:
                lags.append(lag)
            if BROKER not in cluster.admin.isr("wiped")[0]:
                assert page.time - follower.one(page, "out_of_sync_seconds") == pytest.approx(left, abs=2 * INTERVAL)
                assert count_by_state(page, BROKER)["bootstrapping"] >= 1
            if len(lags) >= ENOUGH and lags[-1] < lags[0]:
                _throttle(cluster, "wiped", None)
        after = follower.stays("")[-1]

    print(f"lag {lags}")
    assert lags == sorted(lags, reverse=True)
    assert missing >= lags[0] > lags[-1]
    assert cluster.admin.isr("wiped")[0] == (LEADER, BROKER)
    assert count_by_state(after, BROKER) == {}


@pytest.mark.full_kafka
@pytest.mark.parametrize("side", ["follower", "leader"])
def test_throttled_when_a_throttle_holds_it_back(cluster: Cluster, tmp_path: Path, side: str) -> None:
    """A listed follower outside the ISR, the throttle of either side used up: throttled, and over when it is lifted."""
    limits, missing, topic = Limits.of(cluster), 12_000, f"held-{side}"
    cluster.admin.create_topic(topic, assignment={0: [LEADER, BROKER]})
    cluster.load.produce(topic, records=300)
    _throttle(cluster, topic, MEGABYTE // 4, side)
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        follower = Follower(sidecar, topic, BROKER)
        _known(follower)
        cluster.kill(BROKER)
        left = left_at(cluster, topic, BROKER)
        cluster.load.produce(topic, records=missing, record_size=RECORD)
        follower.until("offline", _fenced, on_the_way={"unknown"})
        cluster.start(BROKER)
        reached = follower.until("throttled", lambda page: _answers(follower, page), {"unknown"}, timeout=120)
        pages = follower.stays("throttled", limits.polls(limits.window))
        _throttle(cluster, topic, None, side)
        gone = follower.until("", on_the_way={"recovering", "in_sync"})
        after = follower.stays("")[-1]

    lags = [follower.one(page, "lag_messages") for page in pages]
    print(f"lag {lags}")
    assert reached.polls <= TO_AGREE + 2
    assert gone.polls <= limits.polls(limits.window)
    assert lags == sorted(lags, reverse=True)
    assert missing >= lags[0] > lags[-1] > 0
    for page in pages:
        assert page.time - follower.one(page, "out_of_sync_seconds") == pytest.approx(left, abs=2 * INTERVAL)
        assert count_by_state(page, BROKER)["throttled"] == 1
    assert count_by_state(pages[-1], BROKER) == {"throttled": 1}
    assert count_by_state(after, BROKER) == {}


def test_leader_unavailable_without_a_leader(cluster: Cluster, tmp_path: Path) -> None:
    """The last in-sync replica is dead and the follower that lacks records may not lead: no replica can catch up."""
    cluster.admin.create_topic("headless", assignment={0: [3, BROKER]})
    cluster.load.produce("headless", records=300)

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        follower = Follower(sidecar, "headless", BROKER)
        _known(follower)
        cluster.kill(BROKER)
        left = left_at(cluster, "headless", BROKER)
        cluster.load.produce("headless", records=700)
        follower.until("offline", _fenced, on_the_way={"unknown"})
        cluster.kill(3)
        wait_for(lambda: cluster.admin.describe("headless")[0].leader == -1, what="there is no leader")
        cluster.start(BROKER)
        reached = follower.until("leader_unavailable", lambda page: not _fenced(page), timeout=120)
        pages = follower.stays("leader_unavailable")
        cluster.start(3)
        cluster.wait_ready(3)
        led = follower.until("", lambda page: not page["offline_partitions"], on_the_way={"in_sync", "recovering"})

    assert reached.polls <= TO_AGREE
    for page in pages:
        assert page["offline_partitions"] == 1
        assert page.time - follower.one(page, "out_of_sync_seconds") == pytest.approx(left, abs=2 * INTERVAL)
        assert [follower.get(page, name) for name in ("lag_messages", "lag_bytes", "behind_seconds")] == [None] * 3
        assert count_by_state(page, BROKER)["leader_unavailable"] == 1
    assert led.polls <= Limits.of(cluster).polls(2)


def test_a_burst_of_large_batches_raises_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """More messages at once than any threshold of messages would stand: every replica stays in sync."""
    burst, bursts = 50_000, 4
    cluster.admin.create_topic("bursts", partitions=3, replication_factor=3)
    produced: list[dict[int, int]] = []

    def produce() -> None:
        for _ in range(bursts):
            produced.append(cluster.load.produce("bursts", burst, record_size=100, partitions=range(3), acks=1))
            sidecar.next_page()

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        producing = threading.Thread(target=produce)
        producing.start()
        pages: list[Page] = []
        for page in sidecar.pages():
            pages.append(page)
            if not producing.is_alive():
                break

    assert produced == [dict.fromkeys(range(3), burst)] * bursts
    states = {labels["state"] for page in pages for labels, _ in page.rows("replica_state")}
    lag = max((value for page in pages for _, value in page.rows("replica_lag_messages")), default=0)
    print(f"{len(pages)} polls, greatest lag on a page {lag:.0f} messages, states {states}")
    assert states <= {"in_sync"}
    for page in pages:
        assert page.all("replica_out_of_sync_seconds") == {}
        assert page["under_replicated_partitions"] == 0
        assert {state for broker in cluster.broker_ids for state in count_by_state(page, broker)} == set()


@pytest.mark.parametrize(
    ("topic", "replicas", "state"), [("raised", [LEADER, BROKER], "bootstrapping"), ("moved", [BROKER], "moving")]
)
def test_a_replica_that_is_added(cluster: Cluster, tmp_path: Path, topic: str, replicas: list[int], state: str) -> None:
    """Bootstrapping where a replication factor is raised, moving where another one is removed; no time out of sync."""
    missing = 14_000
    cluster.admin.create_topic(topic, assignment={0: [LEADER]})
    cluster.load.produce(topic, records=missing, record_size=RECORD)

    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        follower = Follower(sidecar, topic, BROKER)
        _known(follower)
        cluster.admin.reassign({(topic, 0): replicas}, throttle=MEGABYTE // 2)
        adding = {"broker": BROKER, "change": "adding"}
        reached = follower.until(
            state, lambda page: page.get("reassignment_replicas", **adding), on_the_way={"unknown"}
        )
        lags = [follower.one(reached.page, "lag_messages")]
        for page in follower.pages_in(state):
            lags.append(follower.get(page, "lag_messages") or 0)
            assert follower.get(page, "out_of_sync_seconds") is None
            assert page["under_replicated_partitions"] == 0
            assert count_by_state(page, BROKER) == {state: 1} or BROKER in cluster.admin.isr(topic)[0]
            if len(lags) >= ENOUGH and lags[-1] < lags[0]:
                cluster.admin.clear_throttle([topic])
        after = sidecar.next_page()

    print(f"lag {lags}")
    assert reached.polls <= TO_KNOW + TO_AGREE
    assert lags == sorted(lags, reverse=True)
    assert missing >= lags[0] > lags[-1]
    assert count_by_state(after, BROKER) == {}
    assert sorted(cluster.admin.describe(topic)[0].replicas) == sorted(replicas)


def _known(follower: Follower) -> None:
    """Wait until the sidecar has enough polls for a verdict, and check that it reports no problem."""
    for _ in range(TO_KNOW):
        page = follower.sidecar.whole_page()
    assert follower.state(page) == ""


def _fenced(page: Page) -> bool:
    return page.fenced(BROKER)


def _answers(follower: Follower, page: Page) -> bool:
    """The broker is back, and both it and the leader have answered."""
    return not _fenced(page) and BROKER not in page.silent("offsets")


def _throttle(cluster: Cluster, topic: str, rate: int | None, side: str = "follower") -> None:
    """List the follower's partition on one side only and limit that side; no rate lifts it."""
    if side == "leader":
        cluster.admin.alter_topic_config(topic, {LEADER_REPLICAS: f"0:{LEADER}"})
        cluster.admin.alter_broker_config(LEADER, {LEADER_RATE: rate})
    else:
        cluster.admin.alter_topic_config(topic, {FOLLOWER_REPLICAS: f"0:{BROKER}"})
        # the cluster's default: the broker itself may be dead
        cluster.admin.alter_broker_config("", {FOLLOWER_RATE: rate})
