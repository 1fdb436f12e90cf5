"""Followers that cannot keep up, on a cluster whose sessions outlive the lag limit and whose fetches are small."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.followers import SMALL, TO_AGREE, TO_KNOW, Follower, Limits, at_most, count_by_state, left_at
from tests.cluster.page import Page
from tests.cluster.sidecar import INTERVAL, Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.realtime]

LEADER, BROKER = 1, 2
RECORD = 10_000
FAST, SLOW = 2_500_000, 200_000
"""Bytes a second. A fetch takes one record: a busy machine has 20 of them a second, and not always 250."""
LOOK_BACK = 1.25
"""Quota windows that a look back spans at most: what lies longer back is kept four times a window."""
SETTINGS = SMALL


def test_stuck_while_it_stands_still(own: Cluster, tmp_path: Path) -> None:
    """A follower under SIGSTOP that is not fenced: unknown while in the ISR, then stuck until it runs again."""
    limits = Limits.of(own)
    own.admin.create_topic("hung", assignment={0: [LEADER, BROKER]})

    with _produced(own, "hung", SLOW), Sidecar(configuration(own), tmp_path) as sidecar:
        follower = Follower(sidecar, "hung", BROKER)
        _seen_for(follower, limits.window)
        own.pause(BROKER)
        began = time.time()
        leaving = _leaving(own, "hung")
        reached = follower.until("stuck", on_the_way={"unknown", "in_sync"})
        left = leaving()
        pages = follower.stays("stuck")
        own.resume(BROKER)
        over = follower.until("", on_the_way={"unknown", "recovering", "in_sync"})

    assert reached.polls <= limits.polls(max(LOOK_BACK * limits.window, 1.5 * limits.lag) + limits.wait)
    assert _grows([follower.one(page, "lag_messages") for page in pages])
    for page in pages:
        assert page.time - follower.one(page, "behind_seconds") == pytest.approx(began, abs=limits.slack)
        assert page.time - follower.one(page, "lag_seconds") == pytest.approx(began, abs=limits.slack)
        assert page.time - follower.one(page, "out_of_sync_seconds") == pytest.approx(left, abs=2 * INTERVAL)
        assert count_by_state(page, BROKER)["stuck"] == 1
        assert set(count_by_state(page, BROKER)) <= {"stuck", "unknown"}
    assert count_by_state(over.page, BROKER) == {}


@pytest.mark.full_kafka
def test_recovering_while_its_lag_shrinks(own: Cluster, tmp_path: Path) -> None:
    """A follower that comes back from a long stop to records of a quota window ago: recovering until it is in sync."""
    missing = 8000
    own.admin.create_topic("back", assignment={0: [LEADER, BROKER]})
    own.load.produce("back", records=100, record_size=RECORD)

    with Sidecar(configuration(own), tmp_path) as sidecar:
        follower = Follower(sidecar, "back", BROKER)
        _seen_for(follower, 0)
        own.pause(BROKER)
        own.load.produce("back", records=missing, record_size=RECORD, acks=1, batch_size=RECORD)
        left = left_at(own, "back", BROKER)
        follower.until("stuck", on_the_way={"unknown"})
        stuck = follower.stays("stuck")[-1]
        assert follower.one(stuck, "lag_messages") == missing
        own.resume(BROKER)
        with at_most(own, BROKER, "back", missing * RECORD // 20):
            reached = follower.until("recovering", lambda page: BROKER not in page.silent("offsets"), {"unknown"})
            lags = [follower.one(reached.page, "lag_messages")]
            for page in follower.pages_in("recovering"):
                if BROKER not in own.admin.isr("back")[0]:
                    lags.append(follower.one(page, "lag_messages"))
                    out = follower.one(page, "out_of_sync_seconds")
                    assert page.time - out == pytest.approx(left, abs=2 * INTERVAL)
                    assert count_by_state(page, BROKER)["recovering"] >= 1

    print(f"lag {lags}")
    assert reached.polls <= TO_KNOW + TO_AGREE
    # A poll may find the follower as the one before did, while it is stopped.
    assert _grows([-lag for lag, _ in groupby(lags)])
    assert lags[-1] < lags[0]
    assert own.admin.isr("back")[0] == (LEADER, BROKER)


def test_leader_unavailable_while_the_leader_hangs(own: Cluster, tmp_path: Path) -> None:
    """A leader under SIGSTOP is not fenced: its follower outside the ISR cannot catch up, and that is not its fault."""
    own.admin.create_topic("mute", assignment={0: [LEADER, BROKER]})
    own.load.produce("mute", records=100, record_size=RECORD)

    with Sidecar(configuration(own), tmp_path) as sidecar:
        follower = Follower(sidecar, "mute", BROKER)
        _seen_for(follower, 0)
        own.pause(BROKER)
        own.load.produce("mute", records=1000, record_size=RECORD, acks=1)
        left = left_at(own, "mute", BROKER)
        follower.until("stuck", on_the_way={"unknown"})
        own.pause(LEADER)
        own.resume(BROKER)
        reached = follower.until("leader_unavailable", lambda page: LEADER in page.silent("offsets"))
        pages = follower.stays("leader_unavailable")
        own.resume(LEADER)
        over = follower.until(
            "", lambda page: not page.silent("offsets"), on_the_way={"unknown", "recovering", "in_sync"}
        )

    assert reached.polls <= TO_AGREE
    for page in pages:
        assert page.time - follower.one(page, "out_of_sync_seconds") == pytest.approx(left, abs=2 * INTERVAL)
        assert follower.get(page, "behind_seconds") is None
        assert count_by_state(page, BROKER)["leader_unavailable"] == 1
    assert count_by_state(over.page, BROKER) == {}


def _produced(cluster: Cluster, topic: str, rate: int) -> AbstractContextManager[object]:
    """Records all the time, one a batch, so that a small fetch takes few of them."""
    return cluster.load.background(topic, rate, record_size=RECORD, acks=1, batch_size=RECORD, linger_ms=0)


def _seen_for(follower: Follower, seconds: float) -> Page:
    """Let the sidecar look at a follower without trouble for so long, and for three polls."""
    first = follower.sidecar.next_page()
    for _ in range(2):
        follower.sidecar.next_page()
    return follower.sidecar.wait(
        lambda page: page.time - first.time >= seconds and not follower.state(page), what="enough was seen"
    )


def _leaving(cluster: Cluster, topic: str) -> Callable[[], float]:
    """Watch the ISR from now on; the returned function waits for the follower to be dropped, and returns the time."""
    left: list[float] = []
    thread = threading.Thread(target=lambda: left.append(left_at(cluster, topic, BROKER)), daemon=True)
    thread.start()

    def when() -> float:
        thread.join()
        return left[0]

    return when


def _grows(numbers: list[float]) -> bool:
    return all(before < after for before, after in pairwise(numbers))
