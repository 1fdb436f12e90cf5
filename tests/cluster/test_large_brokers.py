"""Brokers with so many replicas that the last requests are sent again after a change: real replies to them."""

from contextlib import closing
from functools import partial

import pytest

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.model import UNKNOWN
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.sources.offsets import RowIndex
from sandbox import Cluster, ClusterSettings
from sandbox.waiting import wait_for
from tests.building import known

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

SETTINGS = ClusterSettings(brokers=2, tiered=False)
MANY = 2400
"""Partitions: each broker leads half of them, and follows the other half."""

Ends = dict[tuple[str, int, int], int]


def poller_of(cluster: Cluster) -> Poller:
    return Poller(PollerSettings(), translate({"bootstrap.servers": cluster.bootstrap}, {}), None)


def ends(poller: Poller) -> Ends:
    """Poll; return the end of each replica by topic, partition and broker."""
    snapshot = poller.poll()
    assert snapshot is not None
    assert all(status.up for status in snapshot.status.values())
    partitions, replicas = snapshot.partitions, snapshot.replicas
    rows = zip(replicas.partition.tolist(), replicas.broker.tolist(), replicas.end.tolist(), strict=True)
    return {
        (snapshot.topics[partitions.topic[row]], int(partitions.number[row]), broker): end for row, broker, end in rows
    }


def questions(poller: Poller) -> dict[int, RowIndex]:
    """What each broker is asked about the replicas that it leads."""
    return known(poller._state.answers.rows).led


def new_ends(cluster: Cluster) -> Ends:
    """What a new process reads, once every replica has an end."""
    with closing(poller_of(cluster)) as poller:
        found: Ends = {}

        def complete() -> bool:
            found.update(ends(poller))
            return UNKNOWN not in found.values()

        wait_for(complete, what="all ends are known")
        return found


def test_last_requests_that_are_sent_again_give_what_new_ones_do(own: Cluster) -> None:
    """Topics and partitions come, go and come again, and leaders change: the first poll after it has every end."""
    admin = own.admin
    admin.create_topic("many", assignment={number: [1 + number % 2, 2 - number % 2] for number in range(MANY)})
    own.load.produce("many", records=2000, partitions=range(20))

    def create(name: str, partitions: int, records: int) -> None:
        admin.create_topic(name, partitions=partitions, replication_factor=2)
        own.load.produce(name, records=records, partitions=range(partitions))

    def elect() -> None:
        admin.reassign({("many", 0): [2, 1], ("many", 1): [1, 2]})
        admin.wait_for_moves()
        admin.elect_preferred([("many", 0), ("many", 1)])

    changes = [
        partial(create, "a", 3, 30),
        partial(elect),
        partial(admin.delete_topic, "a"),
        partial(create, "a", 2, 7),
        partial(admin.create_partitions, "a", 4),
        partial(admin.delete_topic, "a"),
    ]
    with closing(poller_of(own)) as poller:
        wait_for(lambda: ends(poller) == new_ends(own), what="the first ends are read")
        seen, again = [], set[int]()
        for change in changes:
            change()
            expected = new_ends(own)
            seen.append(ends(poller))
            assert seen[-1] == expected
            again |= {broker for broker, index in questions(poller).items() if index.parts or index.gone}
    assert again == {1, 2}
    assert [len(each) // 2 - MANY for each in seen] == [3, 3, 0, 2, 4, 0]
