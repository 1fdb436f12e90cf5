"""Brokers that die, hang, or do not run yet."""

import signal
from collections.abc import Iterator
from typing import Final

from sandbox import Cluster, wait_for
from tests.alerts.stage import Fired, fired
from tests.cluster.page import OWN, Page
from tests.faults.witness import Witness

VICTIM: Final = 2
OTHERS: Final = (1, 3)
TOPIC: Final = "orders"
PARTITIONS: Final = range(3)
LAZY: Final = (
    *("client_request_", "leader_replication_throttled_", "follower_replication_throttled_"),
    *(f"controller_mutation{what}" for what in ("s_", "_tokens", "_throttle_", "_quota_per_", "_burst", "_admission_")),
)
"""Beans that a process has from their first use on, and what follows from them."""


def make_topics(cluster: Cluster) -> None:
    """The one topic that all faults find: every broker leads a partition and follows two."""
    cluster.admin.create_topic(TOPIC, assignment={0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
    cluster.load.produce(TOPIC, records=50, partitions=PARTITIONS)


def killed(witness: Witness) -> Iterator[set[Fired]]:
    """F1: kill -9 of a broker costs its own series only."""
    before = witness.page
    witness.cluster.kill(VICTIM)
    page = witness.until(lambda page: _only(page, VICTIM) and page["under_replicated_partitions"] > 0, "it is down")
    assert page.errors("offsets", VICTIM, before).keys() <= {"refused", "fenced"}
    assert page.errors("jmx", VICTIM, before).keys() == {"refused"}
    page = witness.until(lambda page: page.get("broker_bytes_in_total", broker=VICTIM) is None, "its series are gone")
    assert not page.lost(before, OTHERS, LAZY)
    yield without(VICTIM)
    witness.cluster.start(VICTIM)
    witness.cluster.wait_ready(VICTIM)
    witness.cluster.wait_in_sync()


def hung(witness: Witness) -> Iterator[set[Fired]]:
    """F2, F3: SIGSTOP of a broker delays no other, and there is one attempt at a time; SIGCONT brings it back."""
    before, cluster = witness.page, witness.cluster
    cluster.pause(VICTIM)
    page = witness.until(lambda page: _only(page, VICTIM) and page["under_replicated_partitions"] > 0, "it is down")
    assert page.errors("offsets", VICTIM, before).keys() <= {"timeout", "connect_timeout", "fenced"}
    assert page.errors("jmx", VICTIM, before)["timeout"] >= 1
    for _ in range(5):
        page = witness.until(lambda _: True, "a poll")
        assert _only(page, VICTIM)
        assert len(witness.connections(VICTIM)) <= 1
    assert not page.lost(before, OTHERS, LAZY)
    yield without(VICTIM)
    cluster.resume(VICTIM)
    cluster.wait_ready(VICTIM)
    cluster.wait_in_sync()


def all_down(witness: Witness) -> Iterator[set[Fired]]:
    """F5: no broker runs when the sidecar starts: it is not ready, shows no number of a broker, and waits for them.

    They are shut down in order: after SIGKILL of all, Kafka elects the last known leaders and counts that as unclean.
    """
    cluster = witness.cluster
    nodes = (*cluster.broker_ids, *cluster.controller_ids)
    with witness.unwatched():
        witness.stage.sidecar.end(signal.SIGTERM)
        for node in nodes:
            cluster.stop(node)
        witness.stage.sidecar.restart(ready=False)
    page = witness.until_shown(lambda page: page.errors("metadata"), "metadata fails")
    assert page.up().keys() == page.down()
    assert page.errors("metadata").keys() == {"refused"}
    assert no_numbers(page)
    assert witness.status("/-/ready") == 503
    assert witness.status("/-/healthy") == 200
    jmx = {fired("KafkaWardenBlind", broker=node) for node in nodes}
    yield {fired("KafkaClusterUnreachable"), *blind(), *jmx}
    for node in nodes:
        cluster.start(node)
    for node in cluster.broker_ids:
        cluster.wait_ready(node)
    cluster.wait_in_sync()
    wait_for(lambda: witness.status("/-/ready") == 200, what="it is ready")


def blind() -> set[Fired]:
    """The alert of data that are missing, not of one broker."""
    return {fired("KafkaWardenBlind")}


def names(page: Page) -> set[str]:
    """The metrics of a page, except those that come and go with clients."""
    return {name for name in page.names() if not name.startswith(LAZY)}


def no_numbers(page: Page) -> bool:
    """Whether a page has nothing about brokers, topics and partitions: what is not known is absent, and not 0."""
    known = page.names() - {"cluster_reachable"}
    return not any(name.startswith(("broker_", "cluster_", "partition", "replica", "under_")) for name in known)


def _only(page: Page, broker: int) -> bool:
    """Whether every source of one broker is down, and no other."""
    return page.down() == {(source, str(broker)) for source in OWN}


def without(broker: int) -> set[Fired]:
    """The alerts of a broker that does not answer and is outside every ISR."""
    return {
        fired("KafkaBrokerUnreachable", broker=broker),
        fired("KafkaWardenBlind", broker=broker),
    }
