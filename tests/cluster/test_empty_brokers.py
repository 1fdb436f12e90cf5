"""A broker without replicas that ends before Kafka 4.0, which does not list fenced brokers: in order, or not."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.poller.lead import SHUTDOWN
from kafka_warden.timer import SOON
from sandbox import Cluster, wait_for
from tests.building import expect_snapshot

pytestmark = [pytest.mark.cluster, pytest.mark.full_versions]

EMPTY = 2
WITHIN = 60.0


@pytest.fixture(params=[("2.8.2", True), ("3.9.1", True), ("3.9.1", False)], ids=["2.8.2 zk", "3.9.1 zk", "3.9.1"])
def cluster_before_4(request: pytest.FixtureRequest, make_cluster: Callable[..., Cluster]) -> Cluster:
    """Broker 2 has no replica. Sessions are as long as Kafka's own defaults."""
    version, zookeeper = request.param
    cluster = make_cluster(brokers=2, version=version, zookeeper=zookeeper, tiered=False, profile="default", jmx=False)
    cluster.admin.create_topic("elsewhere", assignment={0: [1]})
    return cluster


@contextmanager
def polling(cluster: Cluster) -> Iterator[Poller]:
    """A poller that knows both brokers, and has a connection to each."""
    with closing(Poller(PollerSettings(), translate({"bootstrap.servers": cluster.bootstrap}, {}), None)) as poller:
        assert set(expect_snapshot(poller.poll()).offsets_at) == {1, EMPTY}
        yield poller


def listed(cluster: Cluster) -> bool:
    return EMPTY in cluster.admin.brokers()


def test_its_end_leaves_a_trace_unless_it_was_in_order(cluster_before_4: Cluster) -> None:
    cluster = cluster_before_4
    with polling(cluster) as poller:
        link = poller._state.links._links[f"broker {EMPTY}"]
        stopping = threading.Thread(target=cluster.stop, args=(EMPTY,))
        stopping.start()
        # As the timer does.
        wait_for(lambda: link.lost_at + SOON <= link.now() < link.lost_at + SHUTDOWN, WITHIN, "its connection is lost")
        snapshot = expect_snapshot(poller.poll())
        stopping.join()
        assert EMPTY not in snapshot.brokers
        cluster.start(EMPTY)
        cluster.wait_ready(EMPTY)
        assert EMPTY in expect_snapshot(poller.poll()).offsets_at

        cluster.kill(EMPTY)
        wait_for(lambda: not listed(cluster), WITHIN, "the cluster no longer lists it")
        took = link.now() - link.lost_at
        print(f"killed: unlisted after {took:.1f} s")
        assert took > SHUTDOWN
        assert expect_snapshot(poller.poll()).brokers[EMPTY].gone
        cluster.start(EMPTY)
        cluster.wait_ready(EMPTY)
        assert not expect_snapshot(poller.poll()).brokers[EMPTY].gone
