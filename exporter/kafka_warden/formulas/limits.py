"""Partition limits of KIP-578, which Kafka never built: room on brokers and in the cluster.

docs/spec/limits.md. Headroom is limit less count, negative when over (what exists goes on working), `+inf` without a
limit.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from kafka_warden.arrays import Bools, Ints, Value

INTERNAL: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata"}
)
"""Topics that Kafka makes for itself. Limits neither count nor reject them: KIP-578, Goals.

`is_internal` of Metadata is computed from the first three names (`Topic.isInternal`); the last one is tiered storage's.
"""


def is_counted(topic: str) -> bool:
    """Whether a topic's partitions count towards the limits."""
    return topic not in INTERNAL


def counted_rows(topics: Sequence[str], topic: Ints) -> Bools:
    """Which of P partitions count towards the limits. `topic` (P,) are indices into `topics`."""
    counted: Bools = np.array([is_counted(name) for name in topics], bool)[topic]
    return counted


def headroom(limit: float, count: Value) -> Value:
    """Partitions that still fit: limit - count, in replicas for a broker and in partitions for the cluster."""
    left: Value = limit - count
    return left


def creation_fits(broker_headroom: Sequence[float], cluster_headroom: float, partitions: int, factor: int) -> bool:
    """Whether a topic of so many partitions and replicas can be created, or so many partitions added.

    docs/spec/limits.md#creation: sum of min(headroom, P) >= P x RF, as no broker takes two replicas of one partition,
    and P <= cluster headroom. A broker that is over its limit has room for none. All or nothing, as KIP-578 rejects.
    """
    room = sum(min(max(left, 0.0), partitions) for left in broker_headroom)
    return room >= partitions * factor and partitions <= cluster_headroom


def reassignment_fits(broker_headroom: Mapping[int, float], adding: Mapping[int, int]) -> bool:
    """Whether each broker has room for the replicas that a reassignment adds; checks broker limits only."""
    return all(count <= broker_headroom.get(broker, math.inf) for broker, count in adding.items() if count > 0)


def placement(counts: Sequence[int], partitions: int, factor: int) -> tuple[tuple[int, ...], ...]:
    """Indices of the brokers of each partition, the emptiest first, each partition after the one before. KIP-578.

    `factor` is at most the number of brokers. What `creation_fits` fits so: "An illustrative (toy) example".
    """
    after, placed = list(counts), []
    for _ in range(partitions):
        replicas = tuple(sorted(range(len(after)), key=lambda index: after[index])[:factor])
        placed.append(replicas)
        for broker in replicas:
            after[broker] += 1
    return tuple(placed)
