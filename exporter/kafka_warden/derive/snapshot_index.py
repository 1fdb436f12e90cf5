"""A snapshot with index columns: brokers as indices, leaders of partitions."""

from dataclasses import dataclass

import numpy as np

from kafka_warden.model import NO_LISTENER, UNKNOWN, Bools, Floats, Ints, Longs, Snapshot, members_of_isr


@dataclass(frozen=True, slots=True)
class IndexedSnapshot:
    """A snapshot with its index columns. B brokers, P partitions, R replicas."""

    snapshot: Snapshot
    brokers: Ints
    """(B,) broker ids, ascending."""
    host: Ints
    """(R,) index of the broker that hosts the replica."""
    led_by: Ints
    """(P,) index of the leader, `UNKNOWN` where there is none."""
    is_leader: Bools
    """(R,)"""
    leader_end: Longs
    """(P,) log end of the leader, `UNKNOWN` without an answer."""
    hidden: frozenset[int]
    """Ids of brokers that are up, and lack the listener that the metadata was asked over."""

    def by_broker(self, column: Floats) -> dict[int, float]:
        """Return a column (B,) by broker id."""
        return dict(zip(self.brokers.tolist(), column.tolist(), strict=True))

    def hosted(self, rows: Bools | Ints | Longs) -> Longs:
        """Count some rows of the replicas by hosting broker (B,)."""
        return np.bincount(self.host[rows], minlength=len(self.brokers))

    def led(self, rows: Bools | Ints | Longs) -> Longs:
        """Count some rows of the partitions by leader (B,)."""
        leaders = self.led_by[rows]
        return np.bincount(leaders[leaders != UNKNOWN], minlength=len(self.brokers))

    def of_partitions(self, rows: Bools | Ints | Longs) -> Longs:
        """Count some rows of the replicas by partition (P,)."""
        return np.bincount(self.snapshot.replicas.partition[rows], minlength=len(self.led_by))

    def find_replica(self, topic: int, number: int, broker: int) -> int | None:
        """Find the row of a replica: tables are sorted by topic, partition number and partition row."""
        partitions, replicas = self.snapshot.partitions, self.snapshot.replicas
        # Numbers of another type would copy each of these columns at every call.
        first, last = np.searchsorted(partitions.topic, np.array([topic, topic + 1], partitions.topic.dtype))
        partition = int(first + np.searchsorted(partitions.number[first:last], number))
        if partition >= last or partitions.number[partition] != number:
            return None
        ends = np.array([partition, partition + 1], replicas.partition.dtype)
        first, last = np.searchsorted(replicas.partition, ends)
        found = np.flatnonzero(replicas.broker[first:last] == broker)
        return int(first + found[0]) if len(found) else None


def index_snapshot(snapshot: Snapshot) -> IndexedSnapshot:
    """Index a snapshot."""
    partitions, replicas = snapshot.partitions, snapshot.replicas
    brokers = np.unique(np.concatenate([np.fromiter(snapshot.brokers, np.int32), replicas.broker])).astype(np.int32)
    has_leader = partitions.leader_row != UNKNOWN
    is_leader = np.zeros(len(replicas), bool)
    is_leader[partitions.leader_row[has_leader]] = True
    leader_end = np.full(len(partitions), UNKNOWN, np.int64)
    leader_end[has_leader] = replicas.end[partitions.leader_row[has_leader]]
    host = np.searchsorted(brokers, replicas.broker).astype(np.int32)
    led_by = np.full(len(partitions), UNKNOWN, np.int32)
    led_by[has_leader] = host[partitions.leader_row[has_leader]]
    alive = members_of_isr(partitions.leader == NO_LISTENER, replicas.partition, replicas.broker, replicas.in_isr)
    hidden = alive - {broker.id for broker in snapshot.brokers.values() if not broker.gone}
    return IndexedSnapshot(snapshot, brokers, host, led_by, is_leader, leader_end, hidden)
