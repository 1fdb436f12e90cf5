"""Whether a topic can be created: KIP-578's limits, which Kafka itself never looks at (judgement.md 8)."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.errors import TopicError
from kafka_warden.formulas import limits
from kafka_warden.model import Snapshot
from kafka_warden.planning.placement import Rack, keeps_racks_apart, most_by_kafka, place_by_rack, room_by_rack
from kafka_warden.planning.room import count_partitions, count_replicas

_LONGEST_NAME: Final = 249
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""`org.apache.kafka.common.internals.Topic`."""


@dataclass(frozen=True, slots=True)
class Count:
    """Replicas of one broker that count against its limit."""

    before: int
    after: int | None
    """As assigned, or with the emptiest brokers filled first; `None` where the topic does not fit."""
    headroom: float


@dataclass(frozen=True, slots=True)
class Creation:
    """A topic that is to be created."""

    topic: str
    partitions: int
    factor: int
    brokers: Mapping[int, Count]
    """By id, of those that are up."""
    broker_limit: float
    """`+inf` where none is configured."""
    cluster_before: int
    cluster_limit: float
    counted: bool
    """False for topics that no limit counts."""
    reasons: tuple[str, ...]
    """Why it does not fit; empty where it does."""
    assignment: tuple[tuple[int, ...], ...] | None
    """Broker ids by partition that keep the limits, where Kafka's own placement may not; else `None`."""
    most_by_kafka: int
    """Replicas of it that Kafka's own placement puts on one broker at most."""
    racks_apart: bool
    """Whether each replica of a partition has a rack of its own."""

    @property
    def fits(self) -> bool:
        """Whether it can be created within all limits."""
        return not self.reasons


def plan_creation(
    snapshot: Snapshot, topic: str, partitions: int, factor: int, broker_limit: float, cluster_limit: float
) -> Creation:
    """Judge a creation. Limits are `+inf` where none is configured.

    Raises:
        TopicError: there is such a topic, or there can be none of that name.
    """
    _check_name(snapshot, topic)
    up = sorted(broker.id for broker in snapshot.brokers.values() if not (broker.gone or broker.fenced))
    hosted = count_replicas(snapshot)
    before = [hosted[broker] for broker in up]
    counted = limits.is_counted(topic)
    limit, cluster = (broker_limit, cluster_limit) if counted else (math.inf, math.inf)
    cluster_before = count_partitions(snapshot)
    racks = [snapshot.brokers[broker].rack for broker in up]
    headroom = [limits.headroom(limit, float(count)) for count in before]
    reasons = _reasons(headroom, racks, limits.headroom(cluster, float(cluster_before)), partitions, factor)
    registered = [broker.rack for broker in snapshot.brokers.values() if not broker.gone]
    most = most_by_kafka(registered, len(up), partitions, factor) if up else 0
    placed = _placed(before, headroom, racks, partitions, factor) if not reasons else None
    after = _after(before, placed) if placed is not None else None
    wanted = placed is not None and most > min(headroom)
    return Creation(
        topic=topic,
        partitions=partitions,
        factor=factor,
        brokers={
            broker: Count(before[index], after[index] if after else None, headroom[index])
            for index, broker in enumerate(up)
        },
        broker_limit=limit,
        cluster_before=cluster_before,
        cluster_limit=cluster,
        counted=counted,
        reasons=reasons,
        assignment=tuple(tuple(up[index] for index in replicas) for replicas in placed or ()) if wanted else None,
        most_by_kafka=most,
        racks_apart=keeps_racks_apart(racks, factor),
    )


def _check_name(snapshot: Snapshot, topic: str) -> None:
    if topic in snapshot.topics:
        raise TopicError(f"{topic}: the cluster has this topic already; name one that is to be created")
    if not _NAME.fullmatch(topic) or topic in {".", ".."} or len(topic) > _LONGEST_NAME:
        raise TopicError(
            f"{topic}: no name for a topic; use up to {_LONGEST_NAME} letters, digits, dots, underscores and hyphens"
        )
    twins = [name for name in snapshot.topics if name.replace(".", "_") == topic.replace(".", "_")]
    if twins:
        raise TopicError(f"{topic}: Kafka refuses it beside {twins[0]}, as metrics write dots as underscores")


def _reasons(
    headroom: Sequence[float], racks: Sequence[Rack], cluster_headroom: float, partitions: int, factor: int
) -> tuple[str, ...]:
    if factor > len(headroom):
        return (f"replication factor {factor} needs {factor} brokers, and {len(headroom)} are up",)
    reasons = []
    if partitions > cluster_headroom:
        reasons.append(f"the cluster has room for {_room(cluster_headroom)} partitions, not for {partitions}")
    if not limits.creation_fits(headroom, math.inf, partitions, factor):
        room = sum(min(max(left, 0.0), partitions) for left in headroom)
        reasons.append(
            f"the brokers have room for {_room(room)} replicas of {partitions} partitions,"
            f" not for {partitions * factor}"
        )
    elif keeps_racks_apart(racks, factor) and room_by_rack(headroom, racks, partitions) < partitions * factor:
        apart = room_by_rack(headroom, racks, partitions)
        reasons.append(
            f"with each replica of a partition in a rack of its own the racks have room for {_room(apart)} replicas,"
            f" not for {partitions * factor}"
        )
    return tuple(reasons)


def _room(left: float) -> str:
    return f"{max(left, 0):.0f}"


def _placed(
    before: Sequence[int], headroom: Sequence[float], racks: Sequence[Rack], partitions: int, factor: int
) -> tuple[tuple[int, ...], ...]:
    """Place it by room, the emptiest brokers first."""
    if not keeps_racks_apart(racks, factor):
        return limits.placement(before, partitions, factor)
    # Without a limit headroom is endless, and what the fullest broker may come to stands for one.
    if any(map(math.isinf, headroom)):
        headroom = [float(max(before) + partitions - count) for count in before]
    return place_by_rack(headroom, racks, partitions, factor)


def _after(before: Sequence[int], placed: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Replicas per broker with the topic."""
    added = Counter(index for replicas in placed for index in replicas)
    return tuple(count + added[index] for index, count in enumerate(before))
