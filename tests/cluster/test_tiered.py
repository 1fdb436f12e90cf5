"""Tiered storage (KIP-405, KIP-956): what is overdue, since when nothing is copied, and which quota is why."""

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
from sandbox.admin_quotas import DEFAULT
from sandbox.admin_topics import EARLIEST_LOCAL, LATEST, LATEST_TIERED
from tests.cluster.page import Page
from tests.cluster.sidecar import SLOW_MACHINE, Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.versions]

COPY_QUOTA = "remote.log.manager.copy.max.bytes.per.second"
FETCH_QUOTA = "remote.log.manager.fetch.max.bytes.per.second"
MIB = 1 << 20
"""The smallest segment of Kafka 4, and that of every topic here that does not say otherwise."""
TOPIC = "cold"
PROBLEMS = ("copy_held_back", "fetch_held_back", "copy_quota_below_segment", "client_fetch_quota_above")
OVERDUE, STALLED = "topic_remote_copy_overdue_bytes", "topic_remote_copy_stalled_seconds"


def test_a_copy_quota_far_below_inbound_holds_back(cluster: Cluster, tmp_path: Path) -> None:
    """Overdue bytes and their age grow, the quota is named without a break, and all of it ends.

    A sixth of what is produced may be copied, until the quota is taken away. It holds a whole segment in 11 s.
    """
    quota, inbound = 100_000, 600_000
    cluster.admin.alter_broker_config("", {COPY_QUOTA: quota})
    _create(cluster, TOPIC, [1, 2])

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        with cluster.load.background(TOPIC, inbound):
            low = sidecar.pages_until(lambda page: (page.get(OVERDUE, topic=TOPIC) or 0) >= 8 * MIB)
        still = sidecar.wait(lambda page: page.get("partition_bytes_in_per_second", topic=TOPIC, partition=0) == 0)
        _assert_overdue_is_that_of_the_brokers(cluster, sidecar)
        cluster.admin.alter_broker_config("", {COPY_QUOTA: None})
        after = sidecar.pages_until(lambda page: page.get(OVERDUE, topic=TOPIC) == 0 and not _problems(page))

    grown = [page.get(OVERDUE, topic=TOPIC) for page in low]
    stalled = [page.get(STALLED, topic=TOPIC) for page in low]
    held = [page.get("tiered_storage_problem_seconds", broker=1, problem="copy_held_back") for page in low]
    rates = [page.get("remote_copy_bytes_per_second", broker=1) for page in low]
    print(f"overdue {grown}\nstalled {_rounded(stalled)}\nheld back {_rounded(held)}\nrates {_rounded(rates)}")
    print(f"after: overdue {[page.get(OVERDUE, topic=TOPIC) for page in after]}, {len(after)} polls to the end")
    begun = next(place for place, seconds in enumerate(held) if seconds)
    first_overdue = next(place for place, amount in enumerate(grown) if amount)
    print(f"copy_held_back {begun - first_overdue} polls after something was overdue, in {len(low)} polls")
    assert _are_growing(held[begun:])
    assert max(seconds for seconds in stalled if seconds is not None) >= 5
    assert {key for page in [*low, still, *after] for key in _problems(page)} == {("1", "copy_held_back")}
    assert still.one("remote_copy_quota_bytes_per_second", broker=1) == quota
    assert after[-1].one(STALLED, topic=TOPIC) == 0


@pytest.mark.full_kafka
def test_a_restarted_leader_makes_nothing_overdue(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """A broker that has just begun to lead answers `-5` late: what was copied is not overdue because of that.

    Its remote log manager looks once in an interval, which is 30 s by default.
    """
    interval = {"remote.log.manager.task.interval.ms": 8000}
    cluster = make_cluster(brokers=2, broker_properties=interval)
    topics = {"alone": [1], "followed": [1, 2]}
    for topic, brokers in topics.items():
        _create(cluster, topic, brokers, local=20 * MIB)
        cluster.load.produce(topic, bytes=6 * MIB)
    for topic in topics:
        wait_for(partial(_is_copied, cluster, topic), what="the segments are copied")
    offsets: dict[str, list[int]] = {topic: [] for topic in topics}

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.wait(lambda page: page.all(OVERDUE) == {(topic,): 0 for topic in topics})
        cluster.stop(1)
        pages = [sidecar.next_page() for _ in range(2)]
        cluster.start(1)
        cluster.wait_ready(1)
        cluster.wait_in_sync()
        cluster.admin.elect_preferred([("followed", 0)])
        for page in sidecar.pages(2 * SLOW_MACHINE):
            pages.append(page)
            for topic in topics:
                offsets[topic].append(_tiered(cluster, topic))
            if min(each[-1] for each in offsets.values()) > 0:
                break
        for topic in topics:
            cluster.load.produce(topic, bytes=2 * MIB)
        sidecar.wait(lambda page: any(value > 0 for value in page.all(OVERDUE).values()), what="something is overdue")
        pages.append(sidecar.wait(lambda page: page.all(OVERDUE) == {(topic,): 0 for topic in topics}))

    overdue = {topic: [page.get(OVERDUE, topic=topic) for page in pages] for topic in topics}
    print(f"latest tiered offsets by the leader: {offsets}\noverdue: {overdue}")
    assert min(offsets["alone"]) == -1
    assert {amount for amounts in overdue.values() for amount in amounts} <= {0, None}
    assert {key for page in pages for key in _problems(page)} == set()


def test_quotas_that_cannot_work_come_and_go(cluster: Cluster, tmp_path: Path) -> None:
    """A copy quota below a segment, and clients that may exhaust the fetch quota: the configuration alone shows it."""
    for broker, copy, fetch in ((1, 50_000, MIB), (2, 100_000, None), (3, None, 10 * MIB)):
        cluster.admin.alter_broker_config(broker, {COPY_QUOTA: copy, FETCH_QUOTA: fetch})
    for broker in cluster.broker_ids:
        _create(cluster, f"cold-{broker}", [broker])

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        first = sidecar.wait(_problems)
        assert set(_problems(first)) == {
            ("1", "copy_quota_below_segment"),
            ("1", "client_fetch_quota_above"),
            ("3", "client_fetch_quota_above"),
        }
        _create(cluster, "large", [2], segment=2 * MIB)
        large = sidecar.pages_until(lambda page: ("2", "copy_quota_below_segment") in _problems(page))
        cluster.admin.delete_topic("large")
        small = sidecar.pages_until(lambda page: ("2", "copy_quota_below_segment") not in _problems(page))
        print(f"{len(large)} polls until the large segments were seen, {len(small)} until they were gone")
        assert max(len(large), len(small)) <= 4
        cluster.admin.set_client_quota(client_id=DEFAULT, values={"consumer_byte_rate": 500_000})
        cluster.admin.alter_broker_config(1, {COPY_QUOTA: MIB})
        cluster.admin.alter_broker_config(2, {FETCH_QUOTA: 500_000})
        cluster.admin.alter_broker_config(3, {COPY_QUOTA: 90_000})
        wanted = {("2", "client_fetch_quota_above"), ("3", "copy_quota_below_segment")}
        pages = sidecar.pages_until(lambda page: set(_problems(page)) == wanted)
        print(f"{len(pages)} polls until the new quotas were evaluated: configurations are read once a minute")

    allowed = {(broker, name) for broker in "123" for name in ("copy_quota_below_segment", "client_fetch_quota_above")}
    assert {key for page in [first, *large, *small, *pages] for key in _problems(page)} <= allowed


def _create(cluster: Cluster, topic: str, brokers: list[int], segment: int = MIB, local: int = MIB) -> None:
    config = {"remote.storage.enable": True, "segment.bytes": segment, "local.retention.bytes": local}
    cluster.admin.create_topic(topic, assignment={0: brokers}, config=config)


def _tiered(cluster: Cluster, topic: str = TOPIC) -> int:
    return cluster.admin.offsets(topic, LATEST_TIERED)[0]


def _is_copied(cluster: Cluster, topic: str) -> bool:
    return _tiered(cluster, topic) > 5 * 1000


def _assert_overdue_is_that_of_the_brokers(cluster: Cluster, sidecar: Sidecar) -> None:
    """The page against the brokers' own offsets and size, while nothing is produced and perhaps one segment copied."""
    before = _tiered(cluster)
    page = sidecar.whole_page()
    after = _tiered(cluster)
    (size,) = (replica.size for replica in cluster.admin.log_dirs(1) if replica.topic == TOPIC)
    end, start = (cluster.admin.offsets(TOPIC, when)[0] for when in (LATEST, EARLIEST_LOCAL))
    most, least = ((end - (tiered + 1)) * size / (end - start) - MIB for tiered in (before, after))
    shown = page.one(OVERDUE, topic=TOPIC)
    print(f"overdue {shown:.0f}, by the brokers' own numbers {least:.0f} to {most:.0f}")
    assert 0.98 * least <= shown <= 1.02 * most


def _problems(page: Page) -> dict[tuple[str, ...], float]:
    return page.all("tiered_storage_problem_seconds")


def _are_growing(values: Iterable[float | None]) -> bool:
    """Whether each is above the one before; a poll in which a broker did not answer in time has none."""
    known = [value for value in values if value is not None]
    return all(earlier < later for earlier, later in itertools.pairwise(known))


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 1) for value in values]
