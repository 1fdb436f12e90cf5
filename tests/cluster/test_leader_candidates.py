"""Partitions without a leader on real Kafka: which brokers may lead them, with ELR (KIP-966) and without."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration
from tests.support.topics import lose_leaders

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

ELR, LAST = "elr", "last_known_elr"
OF_PAIR = {("pair", "0", "2", ELR), ("pair", "0", "2", LAST)}
OF_SINGLE = {("single", "0", "3", ELR), ("single", "0", "3", LAST)}


def candidates(page: Page) -> set[tuple[str, ...]]:
    names = ("topic", "partition", "broker", "member_of")
    return {tuple(labels[name] for name in names) for labels, _ in page.rows("leader_candidate")}


@pytest.mark.parametrize(
    ("version", "found", "partitions"),
    [
        ("3.9.1", {("pair", "0", "2", "isr"), ("single", "0", "3", "isr")}, {1: 0, 2: 1, 3: 1}),
        ("4.1.1", OF_PAIR | OF_SINGLE | {("pair", "0", "3", ELR)}, {1: 0, 2: 1, 3: 2}),
        ("4.4.0", OF_PAIR | OF_SINGLE | {("pair", "0", "3", ELR)}, {1: 0, 2: 1, 3: 2}),
    ],
)
def test_the_brokers_to_start(
    version: str,
    found: set[tuple[str, ...]],
    partitions: dict[int, int],
    make_cluster: Callable[..., Cluster],
    tmp_path: Path,
) -> None:
    """They are named until they run. A broker that was killed leaves the ELR when it starts."""
    cluster = make_cluster(version=version, tiered=False, jmx=False)
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        lose_leaders(cluster)
        page = sidecar.wait(lambda page: page.get("offline_partitions") == 2 and candidates(page) == found)
        assert page.brokers("broker_leader_candidate_partitions") == partitions
        assert page.not_available() == ({("fenced_brokers", ""): "unsupported"} if version < "4" else {})
        problems = json.loads(sidecar.get("/api/v1/problems")[1])["data"]
        (sentence,) = (problem["sentence"] for problem in problems if problem["kind"] == "offline_partitions")
        print(sentence)
        assert sentence.startswith("2 partitions without a leader. Start broker ")
        (folder := tmp_path / "uncounted").mkdir()
        with Sidecar(configuration(cluster, topics={"uncounted": ["sing.*"]}), folder) as other:
            page = other.wait(lambda page: page.get("offline_partitions") == 1)
            assert page.by("state", "uncounted_partitions") == {"offline": 1, "under_min_isr": 0, "at_min_isr": 0}
            assert page.by("topic", "topic_offline_partitions")["single"] == 1
            problems = {row["kind"]: row["sentence"] for row in json.loads(other.get("/api/v1/problems")[1])["data"]}
            assert problems["uncounted_partitions"].endswith("critical alerts: 1 offline.")

        cluster.start(3)
        cluster.wait_ready(3)
        left = {row for row in found if row[0] == "pair" and row[2] == "2"}
        page = sidecar.wait(lambda page: page.get("offline_partitions") == 1 and candidates(page) == left)
        assert page.brokers("broker_leader_candidate_partitions") == {1: 0, 2: 1, 3: 0}

        cluster.start(2)
        cluster.wait_ready(2)
        page = sidecar.wait(lambda page: page.get("offline_partitions") == 0 and not page.down())
        assert not candidates(page)
        assert page.brokers("broker_leader_candidate_partitions") == {1: 0, 2: 0, 3: 0}
        assert not [source for source, _ in page.up() if source == "eligible_leaders"]
    assert "Traceback" not in sidecar.log
