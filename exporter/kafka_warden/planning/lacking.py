"""Bytes that a replica must copy."""

from kafka_warden.formulas.tiered import first_copied
from kafka_warden.model import UNKNOWN, Longs, Snapshot, skips_tiered


def lacking_bytes(snapshot: Snapshot, row: int, broker: int, replica: int | None) -> float:
    """Return what a replica lacks of the log of its partition, 0 if the size of that is unknown.

    `row`: of the partition. `replica`: row of the replica, `None` for one that is new. An unknown size of it counts as
    0: then all of the log is copied, and the plan is not too short.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    leader = int(partitions.leader_row[row])
    if leader == UNKNOWN:
        return 0.0
    start, end, size = int(partitions.start[row]), int(replicas.end[leader]), float(replicas.size[leader])
    begin = _begin(snapshot, row, broker, replica)
    if begin is not None and start != UNKNOWN and end > start:
        return max(size * (end - min(begin, end)) / (end - start), 0.0)
    return max(size - (max(float(replicas.size[replica]), 0.0) if replica is not None else 0.0), 0.0)


def skips(snapshot: Snapshot, row: int, broker: int) -> bool:
    """Return whether a new replica begins behind what is in remote storage, with a part of the log only (KIP-1023)."""
    topic = snapshot.topics[int(snapshot.partitions.topic[row])]
    allowed = skips_tiered(snapshot.topic_configs.get(topic), snapshot.broker_configs.get(broker))
    return allowed and int(snapshot.partitions.start[row]) > 0 and int(snapshot.partitions.tiered[row]) >= 0


def _begin(snapshot: Snapshot, row: int, broker: int, replica: int | None) -> int | None:
    """Return the next offset that a replica copies; `None` if its log starts as the leader's does."""
    partitions, replicas = snapshot.partitions, snapshot.replicas
    if replica is not None and int(replicas.end[replica]) > 0:
        begun = int(replicas.start[replica])
        return None if begun in {UNKNOWN, int(partitions.start[row])} else int(replicas.end[replica])
    if not skips(snapshot, row, broker):
        return None
    one = slice(row, row + 1)
    first: Longs = first_copied(partitions.start[one], partitions.tiered[one])
    return int(first[0])
