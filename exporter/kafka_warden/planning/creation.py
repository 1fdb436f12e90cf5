"""Whether a new topic fits: KIP-578's limits, which Kafka itself ignores (judgement.md 8)."""

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
from kafka_warden.planning.room import count_replicas

_LONGEST_NAME: Final = 249
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""`org.apache.kafka.common.internals.Topic`."""


@dataclass(frozen=True, slots=True)
class Count:
    """Replicas of one broker that count against its limit."""

    before: int
    after: int | None
    """With the assignment, or with the emptiest brokers filled first; `None` if the topic does not fit."""
    headroom: float


@dataclass(frozen=True, slots=True)
class Creation:
    """The plan for a new topic."""

    topic: str
    partitions: int
    factor: int
    brokers: Mapping[int, Count]
    """By id; only brokers that are up."""
    broker_limit: float
    """`+inf` if none is configured."""
    cluster_before: int
    cluster_limit: float
    counted: bool
    """False for topics that limits do not count."""
    reasons: tuple[str, ...]
    """Why it does not fit; empty if it does."""
    assignment: tuple[tuple[int, ...], ...] | None
    """Broker ids by partition within the limits, if Kafka's placement may exceed them; else `None`."""
    most_by_kafka: int
    """Most replicas of it that Kafka's placement can put on one broker."""
    racks_apart: bool
    """Whether the replicas of a partition are in different racks."""

    @property
    def fits(self) -> bool:
        """Whether it can be created within all limits."""
        return not self.reasons


def plan_creation(
    snapshot: Snapshot, topic: str, partitions: int, factor: int, broker_limit: float, cluster_limit: float
) -> Creation:
    """Plan a new topic. A limit is `+inf` if none is configured.

    Raises:
        TopicError: the topic exists, or its name is not allowed.
    """
    _check_name(snapshot, topic)
    up = sorted(broker.id for broker in snapshot.brokers.values() if not (broker.gone or broker.fenced))
    hosted = count_replicas(snapshot)
    before = [hosted[broker] for broker in up]
    counted = limits.is_counted(topic)
    limit, cluster = (broker_limit, cluster_limit) if counted else (math.inf, math.inf)
    cluster_before = int(limits.counted_rows(snapshot.topics, snapshot.partitions.topic).sum())
    racks = [snapshot.brokers[broker].rack for broker in up]
    headroom = [limits.headroom(limit, float(count)) for count in before]
    reasons = _reasons(headroom, racks, limits.headroom(cluster, float(cluster_before)), partitions, factor)
    registered = [broker.rack for broker in snapshot.brokers.values() if not broker.gone]
    most = most_by_kafka(registered, len(up), partitions, factor) if up else 0
    placed = _placed(before, headroom, racks, partitions, factor) if not reasons else None
    added = Counter(index for replicas in placed or () for index in replicas)
    assign = placed is not None and most > min(headroom)
    return Creation(
        topic=topic,
        partitions=partitions,
        factor=factor,
        brokers={
            broker: Count(before[index], None if placed is None else before[index] + added[index], headroom[index])
            for index, broker in enumerate(up)
        },
        broker_limit=limit,
        cluster_before=cluster_before,
        cluster_limit=cluster,
        counted=counted,
        reasons=reasons,
        assignment=tuple(tuple(up[index] for index in replicas) for replicas in placed or ()) if assign else None,
        most_by_kafka=most,
        racks_apart=keeps_racks_apart(racks, factor),
    )


def _check_name(snapshot: Snapshot, topic: str) -> None:
    if topic in snapshot.topics:
        raise TopicError(f"{topic}: the cluster has this topic already; give the name of a new one")
    if not _NAME.fullmatch(topic) or topic in {".", ".."} or len(topic) > _LONGEST_NAME:
        raise TopicError(
            f"{topic}: not a valid topic name; use up to {_LONGEST_NAME} letters, digits, dots, underscores and hyphens"
        )
    colliding = [name for name in snapshot.topics if name.replace(".", "_") == topic.replace(".", "_")]
    if colliding:
        raise TopicError(f"{topic}: Kafka refuses it because of {colliding[0]}: metric names have underscores for dots")


def _reasons(
    headroom: Sequence[float], racks: Sequence[Rack], cluster_headroom: float, partitions: int, factor: int
) -> tuple[str, ...]:
    if factor > len(headroom):
        return (f"replication factor {factor} needs {factor} brokers, but only {len(headroom)} are up",)
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
            f"with the replicas of a partition in different racks, the racks have room for {_room(apart)} replicas,"
            f" not for {partitions * factor}"
        )
    return tuple(reasons)


def _room(left: float) -> str:
    return f"{max(left, 0):.0f}"


def _placed(
    before: Sequence[int], headroom: Sequence[float], racks: Sequence[Rack], partitions: int, factor: int
) -> tuple[tuple[int, ...], ...]:
    """Place the topic, the emptiest brokers first."""
    if not keeps_racks_apart(racks, factor):
        return limits.placement(before, partitions, factor)
    # Without a limit the headroom is infinite: use the highest possible count of the fullest broker as limit.
    if any(map(math.isinf, headroom)):
        headroom = [float(max(before) + partitions - count) for count in before]
    return place_by_rack(headroom, racks, partitions, factor)
