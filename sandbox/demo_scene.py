"""The events of the demo: two topics under load; one moves well, the throttle of the other one is too low."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from sandbox.cluster import Cluster
from sandbox.demo_table import Move


@dataclass(frozen=True)
class Transfer:
    """A topic that moves from one broker to another while it is written to. Bytes, bytes per second.

    They share no limit: the leader throttle and the follower throttle of a broker are separate.
    """

    topic: str
    partitions: int
    source: int
    target: int
    stored: int
    inbound: float
    limit: int

    @property
    def moves(self) -> list[Move]:
        """Its replicas that move."""
        return [Move(self.topic, partition, self.source, self.target) for partition in range(self.partitions)]


HEALTHY = Transfer("orders", 3, source=1, target=2, stored=25_000_000, inbound=300_000.0, limit=2_000_000)
# One partition passes at most its limit and a burst of 1 MiB per quota window (11 s): 0.3 MB/s, half of the
# inbound rate.
STUCK = Transfer("payments", 1, source=3, target=1, stored=40_000_000, inbound=600_000.0, limit=200_000)
TRANSFERS = (HEALTHY, STUCK)
# More than a run writes; with DEMO_KEEP=1 the load runs until Ctrl-C.
RETENTION = {"retention.bytes": 300_000_000, "segment.bytes": 16_777_216}
WAITS = 0.8
"""Share of a limit that a lagging replica really uses: waits in its fetcher cost up to a fifth."""


def prepare(cluster: Cluster, transfers: Sequence[Transfer], load: ExitStack) -> None:
    """Create the topics, fill them, and produce to them until `load` closes."""
    for transfer in transfers:
        partitions = range(transfer.partitions)
        cluster.admin.create_topic(
            transfer.topic, assignment={partition: [transfer.source] for partition in partitions}
        )
        cluster.load.produce(transfer.topic, bytes=transfer.stored, partitions=partitions)
    for transfer in transfers:
        partitions = range(transfer.partitions)
        load.enter_context(cluster.load.background(transfer.topic, transfer.inbound, partitions=partitions))


def start(cluster: Cluster, transfer: Transfer) -> None:
    """Set the throttle on the two sides that take part, then start the moves."""
    pairs = dict.fromkeys(range(transfer.partitions), (transfer.source, transfer.target))
    cluster.admin.alter_topic_config(
        transfer.topic,
        {
            LEADER_REPLICAS: ",".join(f"{partition}:{source}" for partition, (source, _) in pairs.items()),
            FOLLOWER_REPLICAS: ",".join(f"{partition}:{target}" for partition, (_, target) in pairs.items()),
        },
    )
    set_limit(cluster, transfer, transfer.limit)
    cluster.admin.reassign({(transfer.topic, partition): [target] for partition, (_, target) in pairs.items()})


def set_limit(cluster: Cluster, transfer: Transfer, limit: int) -> None:
    """Set the leader limit of the source and the follower limit of the target, in bytes per second."""
    cluster.admin.alter_broker_config(transfer.source, {LEADER_RATE: limit})
    cluster.admin.alter_broker_config(transfer.target, {FOLLOWER_RATE: limit})


def limit_for(inbound: float, remaining: float, seconds: float) -> int:
    """The limit that ends a move within so many seconds (alerts/runbooks/KafkaReassignmentStuck.md).

    Args:
        inbound: Bytes per second into what lags; no follower of it is in sync.
        remaining: Remaining bytes.
        seconds: In which they shall go.
    """
    return round((inbound + remaining / seconds) / WAITS)
