"""Whether a topic can be created: KIP-578's limits, which Kafka itself never looks at (judgement.md 8)."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from exporter.errors import TopicError
from exporter.formulas import limits
from exporter.model import Snapshot
from exporter.planning.room import count_partitions, count_replicas

_LONGEST_NAME: Final = 249
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""`org.apache.kafka.common.internals.Topic`."""


@dataclass(frozen=True, slots=True)
class Count:
    """Replicas of one broker that count against its limit."""

    before: int
    after: int | None
    """With the emptiest brokers filled first; `None` where the topic does not fit."""
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
    """Broker ids by partition that keep the limits, where Kafka's own even spread would not; else `None`."""

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
    reasons = _reasons(before, limit, limits.headroom(cluster, float(cluster_before)), partitions, factor)
    after = limits.counts_after_creation(before, limit, partitions, factor) if not reasons else None
    placed = _placed(up, before, limit, partitions, factor) if after is not None else None
    return Creation(
        topic=topic,
        partitions=partitions,
        factor=factor,
        brokers={
            broker: Count(before[index], after[index] if after else None, limits.headroom(limit, float(before[index])))
            for index, broker in enumerate(up)
        },
        broker_limit=limit,
        cluster_before=cluster_before,
        cluster_limit=cluster,
        counted=counted,
        reasons=reasons,
        assignment=placed,
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
    before: Sequence[int], limit: float, cluster_headroom: float, partitions: int, factor: int
) -> tuple[str, ...]:
    if factor > len(before):
        return (f"replication factor {factor} needs {factor} brokers, and {len(before)} are up",)
    headroom = [limits.headroom(limit, float(count)) for count in before]
    reasons = []
    if partitions > cluster_headroom:
        reasons.append(f"the cluster has room for {_room(cluster_headroom)} partitions, not for {partitions}")
    if not limits.creation_fits(headroom, math.inf, partitions, factor):
        room = sum(min(max(left, 0.0), partitions) for left in headroom)
        reasons.append(
            f"the brokers have room for {_room(room)} replicas of {partitions} partitions,"
            f" not for {partitions * factor}"
        )
    return tuple(reasons)


def _room(left: float) -> str:
    return f"{max(left, 0):.0f}"


def _placed(
    brokers: Sequence[int], before: Sequence[int], limit: float, partitions: int, factor: int
) -> tuple[tuple[int, ...], ...] | None:
    """Place it by room where an even spread, which is all that Kafka looks at, takes a broker over its limit."""
    even = math.ceil(partitions * factor / len(brokers))
    if all(count + even <= limit for count in before):
        return None
    placement = limits.placement(before, partitions, factor)
    return tuple(tuple(brokers[index] for index in replicas) for replicas in placement)
