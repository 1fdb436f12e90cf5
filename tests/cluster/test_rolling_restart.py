"""A rolling restart under load: the page says what is true while it lasts, and nothing afterwards."""

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandbox import Cluster, SandboxError
from tests.cluster.followers import count_by_state
from tests.cluster.page import Page
from tests.cluster.sidecar import INTERVAL, Sidecar, configuration
from tests.support.threads import repeating

pytestmark = [pytest.mark.cluster, pytest.mark.realtime]

TOPIC = "rolling"
PARTITIONS = 6
LOOK = 0.1
SLACK = 4 * INTERVAL
"""Metadata is up to a poll old, brokers learn of it one after the other, and a state is shown once two polls agree."""

Replica = tuple[int, int]
"""Partition and broker."""


@dataclass(frozen=True)
class Look:
    """What the brokers themselves say at one moment."""

    time: float
    missing: frozenset[Replica]
    fenced: frozenset[int]


@dataclass
class Truth:
    """Everything that the brokers said of the topic's ISR."""

    looks: list[Look] = field(default_factory=list)

    def ever_missing(self, began: float, ended: float) -> set[Replica]:
        """Replicas that were out of the ISR at some time."""
        return {replica for look in self._between(began, ended) for replica in look.missing}

    def always_missing(self, began: float, ended: float) -> set[Replica]:
        """Replicas that were out of the ISR all the time."""
        looks = list(self._between(began, ended))
        return set(frozenset.intersection(*(look.missing for look in looks))) if looks else set()

    def ever_fenced(self, began: float, ended: float) -> set[int]:
        """Brokers that were fenced at some time."""
        return {broker for look in self._between(began, ended) for broker in look.fenced}

    def _between(self, began: float, ended: float) -> Iterable[Look]:
        """Those of that time, and the one before and the one after: a broker that goes may let a look wait long."""
        times = [look.time for look in self.looks]
        return self.looks[max(bisect_left(times, began) - 1, 0) : bisect_right(times, ended) + 1]


@pytest.mark.full_kafka
def test_a_rolling_restart_raises_nothing_but_what_is_true(cluster: Cluster, tmp_path: Path) -> None:
    """Out of sync is who is missing from the brokers' own ISR, offline whose broker is down; no replica is slow."""
    cluster.admin.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=3, config={"min.insync.replicas": 2})
    pages: list[Page] = []
    failures: list[BaseException] = []

    def restart() -> None:
        try:
            cluster.rolling_restart()
        except BaseException as failure:  # noqa: BLE001  asserted below
            failures.append(failure)

    with (
        Sidecar(configuration(cluster), tmp_path) as sidecar,
        cluster.load.background(TOPIC, 300_000, partitions=range(PARTITIONS)) as producer,
        _watched(cluster) as truth,
    ):
        sidecar.wait(lambda page: not page.silent("offsets"), what="every broker answers")
        restarting = threading.Thread(target=restart)
        restarting.start()
        for page in sidecar.pages(300):
            pages.append(page)
            if not restarting.is_alive():
                break
        after = [page for page, _ in zip(sidecar.pages(), range(3), strict=False)]
        time.sleep(SLACK)  # until the truth of the last page is known, too

    assert failures == []
    assert not producer.errors
    seen = {(labels["broker"], labels["state"]) for page in pages for labels, _ in page.rows("replica_state")}
    out = {_out(page) for page in pages}
    print(f"{len(pages)} polls, states {sorted(seen)}, {len(truth.looks)} looks, {len(out)} different sets out of sync")
    assert {state for _, state in seen} <= {"offline", "unknown", "in_sync", "recovering"}
    assert {broker for broker, state in seen if state == "offline"} == set(map(str, cluster.broker_ids))
    for page in pages:
        _assert_true(page, truth)
    for page in after:
        assert not _out(page)
        assert page["under_replicated_partitions"] == 0
        assert [count_by_state(page, broker) for broker in cluster.broker_ids] == [{}, {}, {}]
        # on a busy machine a broker that is just back may not answer in time: unknown is what is true then
        assert {labels["state"] for labels, _ in page.rows("replica_state")} <= {"in_sync", "unknown"}


def _assert_true(page: Page, truth: Truth) -> None:
    """What the page says of the topic was true, or true not long ago; and what was true for long it says."""
    around = page.time - SLACK, page.time + SLACK
    assert _out(page) <= truth.ever_missing(*around), f"{page.time}: out of sync and the brokers never said so"
    assert _out(page) >= truth.always_missing(*around), f"{page.time}: out of sync for long and not in /metrics"
    offline = {int(labels["broker"]) for labels, _ in page.rows("replica_state") if labels["state"] == "offline"}
    assert offline <= truth.ever_fenced(*around), f"{page.time}: offline and never fenced"


def _out(page: Page) -> frozenset[Replica]:
    rows = page.rows("replica_out_of_sync_seconds")
    return frozenset((int(of["partition"]), int(of["broker"])) for of, _ in rows if of["topic"] == TOPIC)


def _look(cluster: Cluster) -> Look:
    states = cluster.admin.describe(TOPIC)
    missing = {(number, broker) for number, of in states.items() for broker in set(of.replicas) - set(of.isr)}
    fenced = set(cluster.broker_ids) - set(cluster.admin.brokers())
    return Look(time.time(), frozenset(missing), frozenset(fenced))


@contextmanager
def _watched(cluster: Cluster) -> Iterator[Truth]:
    """Ask the brokers for the ISR again and again."""
    truth = Truth()

    def watch() -> None:
        # The broker that is asked may be the one that stops just now.
        with suppress(SandboxError):
            truth.looks.append(_look(cluster))

    with repeating(watch, LOOK):
        yield truth
