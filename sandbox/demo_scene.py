"""The events of the demo: topics under load; one moves well, the throttle of another one is too low."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from sandbox.cluster import Cluster
from sandbox.demo_table import Move

FILL_RECORD: Final = 16_000
"""Bytes of a record that fills a topic: large ones are written fast."""
UNLIMITED: Final = -1


@dataclass(frozen=True)
class Transfer:
    """A topic that moves from one broker to another while it is written to.

    They share no limit: the leader throttle and the follower throttle of a broker are separate.

    Attributes:
        topic: Its name.
        partitions: How many.
        source: Broker that leads all partitions before the move.
        target: Broker that leads them after it.
        stored: Bytes in partition 0 before the move.
        inbound: Bytes per second that are produced to all partitions.
        limit: Throttle in bytes per second.
        stays: Brokers whose replicas do not move.
        client: Client id of the producer.
        skew: By how much of `stored` each partition is larger than the one before.
        kept: `retention.bytes` of each partition: the load may run for hours.
    """

    topic: str
    partitions: int
    source: int
    target: int
    stored: int
    inbound: float
    limit: int
    stays: tuple[int, ...] = ()
    client: str = "sandbox"
    skew: float = 0.0
    kept: int = UNLIMITED

    @property
    def sizes(self) -> list[int]:
        """Bytes in each partition before the move."""
        return [round(self.stored * (1 + self.skew * partition)) for partition in range(self.partitions)]

    @property
    def moves(self) -> list[Move]:
        """Its replicas that move."""
        return [Move(self.topic, partition, self.source, self.target) for partition in range(self.partitions)]


HEALTHY = Transfer(
    topic="orders",
    partitions=6,
    source=1,
    target=2,
    stored=160_000_000,
    inbound=600_000.0,
    limit=8_000_000,
    stays=(3,),
    client="checkout",
    skew=0.15,
    kept=300_000_000,
)
# Above the inbound rate. But the copies to the replicas that stay use three quarters of it.
STUCK = Transfer(
    topic="payments.events",
    partitions=2,
    source=3,
    target=1,
    stored=200_000_000,
    inbound=1_500_000.0,
    limit=2_000_000,
    stays=(2,),
    client="billing",
    skew=0.25,
    kept=600_000_000,
)
TRANSFERS = (HEALTHY, STUCK)
AT_REST: Final = {"customers": 6, "inventory.stock": 12, "search.clicks": 12, "shipping.labels": 3}
"""Other topics of the cluster, with replicas on all brokers, and their partitions."""
AT_REST_BYTES: Final = 8_000_000
"""In each of their partitions."""
SEGMENT: Final = 16_777_216


def prepare(cluster: Cluster, transfers: Sequence[Transfer], load: ExitStack) -> None:
    """Create the topics, fill them, and produce to them until `load` closes."""
    for transfer in transfers:
        partitions = range(transfer.partitions)
        cluster.admin.create_topic(
            transfer.topic,
            assignment={partition: [transfer.source, *transfer.stays] for partition in partitions},
            config={"retention.bytes": transfer.kept, "segment.bytes": SEGMENT},
        )
        for partition, size in enumerate(transfer.sizes):
            cluster.load.produce(transfer.topic, bytes=size, record_size=FILL_RECORD, partitions=[partition])
    for transfer in transfers:
        produce = cluster.load.background
        partitions = range(transfer.partitions)
        load.enter_context(produce(transfer.topic, transfer.inbound, partitions=partitions, client_id=transfer.client))


def fill_others(cluster: Cluster) -> None:
    """Create the topics that neither move nor change."""
    for topic, count in AT_REST.items():
        cluster.admin.create_topic(topic, count, len(cluster.broker_ids))
        cluster.load.produce(topic, bytes=AT_REST_BYTES, record_size=FILL_RECORD, partitions=range(count))


def start(cluster: Cluster, transfer: Transfer) -> None:
    """Set the throttle on the two sides that take part, then start the moves."""
    partitions = range(transfer.partitions)
    cluster.admin.alter_topic_config(
        transfer.topic,
        {
            LEADER_REPLICAS: ",".join(f"{partition}:{transfer.source}" for partition in partitions),
            FOLLOWER_REPLICAS: ",".join(f"{partition}:{transfer.target}" for partition in partitions),
        },
    )
    set_limit(cluster, transfer, transfer.limit)
    after = [transfer.target, *transfer.stays]
    cluster.admin.reassign({(transfer.topic, partition): after for partition in partitions})


def set_limit(cluster: Cluster, transfer: Transfer, limit: int) -> None:
    """Set the leader limit of the source and the follower limit of the target, in bytes per second."""
    cluster.admin.alter_broker_config(transfer.source, {LEADER_RATE: limit})
    cluster.admin.alter_broker_config(transfer.target, {FOLLOWER_RATE: limit})
