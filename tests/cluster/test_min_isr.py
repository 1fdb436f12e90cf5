"""Partitions under min ISR, as each release counts them itself, and whether it accepts a write with acks=all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster
from sandbox.errors import SandboxError
from tests.cluster.beans import read_beans
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_versions]

BEAN = "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount/Value"
MEGABYTE = 1_000_000
TWO = {"min.insync.replicas": 2}
LAST_WITHOUT_CAP, FIRST_WITH_CAP = "3.6.2", "3.7.2"


@pytest.mark.parametrize(("version", "zookeeper", "single"), [("2.8.2", True, 1), ("4.1.1", False, 0)])
def test_raising_the_replication_factor(
    version: str, zookeeper: bool, single: int, make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """The leader counts adding replicas from the first second of a reassignment until enough of them are in sync."""
    cluster = make_cluster(version=version, zookeeper=zookeeper, tiered=False)
    cluster.admin.create_topic("single", assignment={0: [1]}, config=TWO)
    cluster.admin.create_topic("raised", assignment={0: [2]})
    cluster.load.produce("raised", bytes=25 * MEGABYTE)
    cluster.admin.alter_topic_config("raised", TWO)
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        expected = {"single": single, "raised": single}
        assert _refuses(cluster, sidecar) == expected
        cluster.admin.reassign({("raised", 0): [2, 1, 3]}, throttle=MEGABYTE)
        sidecar.wait(lambda page: page["reassigning_partitions"] == 1)
        assert _refuses(cluster, sidecar) == expected | {"raised": 1}
        cluster.admin.clear_throttle(["raised"])
        cluster.admin.wait_for_moves()
        assert _refuses(cluster, sidecar) == expected | {"raised": 0}


def test_leaders_of_two_releases(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = make_cluster(version=LAST_WITHOUT_CAP, tiered=False)
    topics = {f"single-{broker}": broker for broker in cluster.broker_ids}
    for topic, broker in topics.items():
        cluster.admin.create_topic(topic, assignment={0: [broker]}, config=TWO)
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        assert _refuses(cluster, sidecar) == dict.fromkeys(topics, 1)
        cluster.upgrade(2, FIRST_WITH_CAP)
        cluster.wait_in_sync()
        sidecar.wait(lambda page: page.get("topic_under_min_isr_partitions", topic="single-2") == 0)
        assert _refuses(cluster, sidecar) == dict.fromkeys(topics, 1) | {"single-2": 0}


def _refuses(cluster: Cluster, sidecar: Sidecar) -> dict[str, float]:
    """Return what the sidecar shows by topic, after comparing it with the leaders and with a producer."""
    page = sidecar.whole_page()
    shown = page.by("topic", "topic_under_min_isr_partitions")
    found = {topic: float(not _accepts(cluster, topic)) for topic in shown if not topic.startswith("__")}
    assert {topic: shown[topic] for topic in found} == found
    beans = {broker: read_beans(address, BEAN).values[BEAN] for broker, address in cluster.jmx_brokers.items()}
    print(f"{cluster.settings.version}: refused {found}, beans {beans}, shown {_shown(page)}")
    assert _shown(page) == beans
    return found


def _shown(page: Page) -> dict[int, float]:
    return page.brokers("broker_under_min_isr_partitions")


def _accepts(cluster: Cluster, topic: str) -> bool:
    try:
        cluster.load.produce(topic, records=1, acks="all", retries=0)
    except SandboxError as refused:
        assert "in-sync replicas" in str(refused), refused  # noqa: PT017  # the message of librdkafka
        return False
    return True
