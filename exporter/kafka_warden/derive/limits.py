"""Partition limits of KIP-578, which Kafka never built: room on brokers and in the cluster.

docs/spec/limits.md#headroom. Headroom is limit less count, negative when over (what exists goes on working), `+inf`
without a limit.

Replicas without a log and logs without a replica: docs/spec/limits.md#missing-and-stray-logs. Metadata and log
directories are not read at one instant: a topic that was just created or deleted is in one and not yet in the other. So
only gaps in two answers in a row count, a minute apart (option poll.log_dirs).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Bools, Ints, Value
from kafka_warden.model import Snapshot
from kafka_warden.replies import LogGaps

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


def room(headroom: Sequence[float], racks: Sequence[object], partitions: int) -> float:
    """Return how many replicas of a topic fit, with at most one of each partition per rack.

    docs/spec/limits.md#creation. `headroom`, `racks`: by broker; brokers that are a rack each only host no partition
    twice. A broker that is over its limit has room for none.
    """
    return sum(min(_left(headroom, rack), partitions) for rack in _brokers(racks))


def placement(
    headroom: Sequence[float], racks: Sequence[object], partitions: int, factor: int
) -> tuple[tuple[int, ...], ...]:
    """Return the broker indices of each partition: the racks with most room, and in each the emptiest broker. KIP-578.

    It finds a placement whenever `room` is at least `partitions` times `factor`. `headroom`: finite, by broker.
    """
    left, placed = list(headroom), []
    groups = _brokers(racks)
    for _ in range(partitions):
        chosen = sorted(groups, key=lambda rack: -_left(left, rack))[:factor]
        replicas = tuple(max(rack, key=lambda broker: left[broker]) for rack in chosen)
        placed.append(replicas)
        for broker in replicas:
            left[broker] -= 1
    return tuple(placed)


def _brokers(racks: Sequence[object]) -> list[list[int]]:
    """Return the broker indices of each rack."""
    found: dict[object, list[int]] = {}
    for broker, rack in enumerate(racks):
        found.setdefault(rack, []).append(broker)
    return list(found.values())


def _left(headroom: Sequence[float], rack: Sequence[int]) -> float:
    return sum(max(headroom[broker], 0.0) for broker in rack)


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Of one broker; `None` is unknown."""

    without_log: Annotated[int | None, "replicas without a log"]
    stray: Annotated[int | None, "logs without a replica"]


@dataclass(frozen=True, slots=True)
class Seen:
    """The latest answer of one broker, and the counts from it and the one before."""

    gaps: LogGaps
    counts: LogCounts


LogsMemory = Mapping[int, Seen]
"""State from poll to poll, by broker."""


def derive_logs(snapshot: Snapshot, memory: LogsMemory) -> tuple[LogsMemory, dict[int, LogCounts]]:
    """Compare each broker's answer with the one before; brokers that do not answer are missing."""
    seen = {broker: _see(memory.get(broker), gaps) for broker, gaps in snapshot.log_gaps.items()}
    return seen, {broker: answer.counts for broker, answer in seen.items()}


def _see(before: Seen | None, gaps: LogGaps) -> Seen:
    if before is not None and before.gaps.at == gaps.at:
        return before
    previous = before.gaps if before is not None else None
    missing = _confirmed(previous.missing if previous is not None else None, gaps.missing)
    return Seen(gaps, LogCounts(missing, _confirmed(previous.stray if previous is not None else None, gaps.stray)))


def _confirmed(before: frozenset[tuple[object, ...]] | None, now: frozenset[tuple[object, ...]] | None) -> int | None:
    """Count entries of both answers; after the first answer only 0 is known."""
    if now is None:
        return None
    if not now:
        return 0
    return len(before & now) if before is not None else None
