"""The leader's log of every partition, and whether the leader changed."""

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas import bytes_in
from kafka_warden.formulas.bytes_in import LeaderLogs
from kafka_warden.model import UNKNOWN, Bools


def elected(before: LeaderLogs, now: LeaderLogs) -> Bools:
    """Return (P,) which partitions have another leader than in the previous poll; False for new partitions."""
    changed: Bools = ~bytes_in.same_leader(before, now) & (before.epoch != UNKNOWN)
    return changed


def leader_logs(seen: IndexedSnapshot) -> LeaderLogs:
    """Return the leaders' logs."""
    partitions, replicas = seen.snapshot.partitions, seen.snapshot.replicas
    led = partitions.leader_row != UNKNOWN
    size, sized_at = np.full(len(led), UNKNOWN, np.int64), np.zeros(len(led))
    size[led] = replicas.size[partitions.leader_row[led]]
    sized_at[led] = replicas.sized_at[partitions.leader_row[led]]
    answered_at = np.array([seen.snapshot.offsets_at.get(broker, 0.0) for broker in seen.brokers.tolist()])
    return LeaderLogs(
        leader=partitions.leader,
        epoch=partitions.leader_epoch,
        start=partitions.start,
        end=seen.leader_end,
        ended_at=np.where(led, answered_at[seen.led_by], 0.0) if len(answered_at) else np.zeros(len(led)),
        size=size,
        sized_at=sized_at,
    )


def compacted(seen: IndexedSnapshot) -> Bools:
    """Return (P,) which partitions belong to compacted topics."""
    configs = seen.snapshot.topic_configs
    by_topic = np.array([(c := configs.get(name)) is not None and c.compacted for name in seen.snapshot.topics], bool)
    partitions = seen.snapshot.partitions
    return by_topic[partitions.topic] if len(by_topic) else np.zeros(len(partitions), bool)
