"""Logs on disk against the metadata (KIP-578), and replicas that move between two directories of a broker (KIP-113)."""

import itertools
import math
import shutil
from pathlib import Path

import pytest

from sandbox import Cluster, ClusterSettings
from sandbox.admin_moves import LOG_DIR_RATE
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration
from tests.support.topics import fill

pytestmark = [pytest.mark.cluster, pytest.mark.realtime]

MEGABYTE = 1_000_000
MISSING, STRAY = "broker_replicas_without_log", "broker_stray_replicas"
EVERY_POLL = {"log_dirs": "100ms"}
SETTINGS = ClusterSettings(brokers=2, log_dirs=2, tiered=False)
MANY = 3000
"""Logs that take a broker some polls to make."""


@pytest.mark.full_kafka
def test_topics_that_come_and_go_leave_nothing(own: Cluster, tmp_path: Path) -> None:
    with Sidecar(configuration(own, poll=EVERY_POLL), tmp_path) as sidecar:
        sidecar.whole_page()
        pages = []
        for number in range(6):
            own.admin.create_topic(f"brief-{number}", partitions=4, replication_factor=2)
            pages.append(sidecar.next_page())
            own.admin.delete_topic(f"brief-{number}")
            pages.append(sidecar.next_page())
        pages += [sidecar.whole_page() for _ in range(2)]

    assert {max(_counts(page, name).values(), default=0) for page in pages for name in (MISSING, STRAY)} == {0}
    for name in (MISSING, STRAY):
        assert _counts(pages[-1], name) == dict.fromkeys(own.broker_ids, 0)


@pytest.mark.full_kafka
def test_a_broker_that_is_slow_to_make_its_logs_is_without_them(own: Cluster, tmp_path: Path) -> None:
    """The metadata has thousands of replicas before the broker has made their logs: these count until it has."""
    with Sidecar(configuration(own, poll=EVERY_POLL), tmp_path) as sidecar:
        sidecar.whole_page()
        own.admin.create_topic("many", assignment={number: [2] for number in range(MANY)})
        begun = sidecar.pages_until(lambda page: _counts(page, MISSING).get(2))
        made = begun[-1:] + sidecar.pages_until(lambda page: _counts(page, MISSING).get(2) == 0)
        assert sum(replica.topic == "many" for replica in own.admin.log_dirs(2)) == MANY
        own.admin.delete_topic("many")
        after = sidecar.pages_until(lambda page: _counts(page, STRAY).get(2) == 0 and not page.down())

    counts = [count for page in made if (count := _counts(page, MISSING).get(2)) is not None]
    strays = [_counts(page, STRAY).get(2) for page in after]
    print(f"without a log {counts}; strays while they are deleted {strays}")
    assert MANY > counts[0] >= 0.01 * MANY
    assert counts == sorted(counts, reverse=True)
    assert all(_counts(page, name).get(1) in {0, None} for page in [*begun, *made, *after] for name in (MISSING, STRAY))
    assert set(_counts(after[-1], MISSING).values()) == {0}


@pytest.mark.full_kafka
def test_a_folder_of_no_partition_is_a_stray(own: Cluster, tmp_path: Path) -> None:
    """Folders of a broker that was down: a deleted topic's is set aside, a lost one comes again, a copy is a stray."""
    own.admin.create_topic("keep", assignment={0: [1, 2], 1: [2, 1]})
    own.admin.create_topic("gone", assignment={0: [1, 2]})
    for topic, partitions in (("keep", range(2)), ("gone", range(1))):
        own.load.produce(topic, records=300, partitions=partitions)
    own.stop(2)
    own.admin.delete_topic("gone")
    shutil.rmtree(_folder(own, 2, "keep-0"))
    # Kafka finds strays by the topic id inside the folder, so it takes this one for a log of its own.
    kept = _folder(own, 2, "keep-1")
    shutil.copytree(kept, kept.with_name("strange-0"))

    with Sidecar(configuration(own, poll=EVERY_POLL), tmp_path) as sidecar:
        down = sidecar.next_page()
        assert _counts(down, STRAY) == {1: 0}
        own.start(2)
        own.wait_ready(2)
        pages = sidecar.pages_until(lambda page: _counts(page, STRAY).get(2))
        own.wait_in_sync()
        page = sidecar.whole_page()
        assert _counts(page, STRAY) == {1: 0, 2: 1}
        assert _counts(page, MISSING) == {1: 0, 2: 0}
        own.stop(2)
        shutil.rmtree(_folder(own, 2, "strange-0"))
        own.start(2)
        own.wait_ready(2)
        after = sidecar.pages_until(lambda page: _counts(page, STRAY).get(2) == 0)

    aside = [folder.name for directory in own.log_dirs(2) for folder in directory.glob("gone-*")]
    print(f"{len(pages)} polls until the stray counted, {len(after)} until it was gone; set aside: {aside}")
    assert all(name.endswith("-stray") for name in aside)
    assert len(aside) == 1
    assert set(_counts(after[-1], MISSING).values()) == {0}


def test_a_move_between_directories_is_followed_to_its_end(own: Cluster, tmp_path: Path) -> None:
    size, throttle, inbound = 14 * MEGABYTE, 600_000, 50_000
    own.admin.alter_broker_config(1, {LOG_DIR_RATE: throttle})
    fill(own, "dirs", [1, 2], size)
    (replica,) = (replica for replica in own.admin.log_dirs(1) if replica.topic == "dirs")
    (other,) = {str(directory) for directory in own.log_dirs(1)} - {replica.log_dir}

    with Sidecar(configuration(own, poll=EVERY_POLL), tmp_path) as sidecar:
        sidecar.whole_page()
        own.admin.move_log_dir(1, ("dirs", 0), other)
        moving = sidecar.pages_until(lambda page: page.all("log_dir_move_bytes_remaining"))
        with own.load.background("dirs", inbound):
            moving += sidecar.pages_until(lambda page: not page.all("log_dir_move_bytes_remaining"))
        after = sidecar.whole_page()

    *moving, ended = moving[next(i for i, page in enumerate(moving) if page.all("log_dir_move_bytes_remaining")) :]
    remaining = [page.one("log_dir_move_bytes_remaining", topic="dirs", partition=0, broker=1) for page in moving]
    etas = [page.one("log_dir_move_eta_seconds", topic="dirs", partition=0, broker=1) for page in moving]
    left = [ended.time - page.time for page in moving]
    print("remaining, ETA and what it took:")
    for numbers in zip(remaining, etas, left, strict=True):
        print("{:12.0f} B {:6.1f} s {:6.1f} s".format(*numbers))
    assert remaining[0] > 0.6 * size
    assert remaining[-1] < 0.3 * size
    gaps = [later.time - earlier.time for earlier, later in itertools.pairwise(moving)]
    grown = [later - earlier for earlier, later in itertools.pairwise(remaining)]
    assert all(more <= 2 * inbound * gap for more, gap in zip(grown, gaps, strict=True))
    assert all(0 <= eta < math.inf for eta in etas)
    assert [r.log_dir for r in own.admin.log_dirs(1) if r.topic == "dirs"] == [other]
    for page in [*moving, ended, after]:
        assert page["reassigning_partitions"] == 0
        assert page.all("reassignment_stuck") == {}
        assert page["under_replicated_partitions"] == 0
        assert {**_counts(page, MISSING), **_counts(page, STRAY)} == {1: 0, 2: 0}
        assert set(page.all("replication_throttle_problem_seconds", side="leader").values()) <= {0}
        assert set(page.all("replication_throttle_problem_seconds", side="follower").values()) <= {0}


def _counts(page: Page, name: str) -> dict[int, float]:
    return page.brokers(name)


def _folder(cluster: Cluster, broker: int, name: str) -> Path:
    (folder,) = (directory / name for directory in cluster.log_dirs(broker) if (directory / name).exists())
    return folder
