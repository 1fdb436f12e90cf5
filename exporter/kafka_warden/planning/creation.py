"""Whether a new topic, or more partitions of one, fit: KIP-578's limits (docs/spec/limits.md#creation)."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from kafka_warden.derive import limits
from kafka_warden.errors import PlanError
from kafka_warden.formatting import in_count
from kafka_warden.model import Snapshot
from kafka_warden.planning.json_values import Key
from kafka_warden.planning.room import count_replicas
from kafka_warden.replies import cordoned_brokers

Rack = str | None
"""`None` for a broker without a rack: for Kafka all of these are one rack."""


def most_by_kafka(racks: Collection[Rack], up: int, partitions: int, factor: int) -> int:
    """Return the most replicas of a new topic that Kafka's placement can put on one broker, with any random start.

    `StripedReplicaPlacer`, one rack: each partition starts one broker after the previous one. After as many partitions
    as brokers are up, a round, the brokers are shuffled. So each broker gets `factor` replicas in a whole round, and up
    to `factor` in the rest. Several racks: Kafka distributes to racks first, so the only broker of a rack may get a
    replica of every partition.

    `racks`: of the registered brokers, fenced ones included, cordoned ones not. `up`: brokers that are not fenced, at
    least `factor`.
    """
    if len(set(racks)) != 1:
        return partitions
    rounds, rest = divmod(partitions, up)
    return rounds * factor + min(rest, factor)


MOST_CREATED: Final = 9999
MOST_ADDED: Final = 10_000
"""Partitions in one request: a controller writes up to 10,000 records for it, and one of them is that of the topic.
`QuorumController.MAX_RECORDS_PER_USER_OP`. On Kafka 3.9 and 4.1 it refused one more."""

_LONGEST_NAME: Final = 249
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""`org.apache.kafka.common.internals.Topic`."""


@dataclass(frozen=True, slots=True)
class Count:
    """Replicas of one broker that count against its limit."""

    before: Annotated[int, Key("partitions_before")]
    after: Annotated[int | None, Key("partitions_after", "it does not fit")]
    """With the assignment, or with the emptiest brokers filled first; `None` if the topic does not fit."""


@dataclass(frozen=True, slots=True)
class Creation:
    """The plan for a new topic, or for more partitions of one."""

    topic: str
    existing: tuple[tuple[int, ...], ...]
    """Broker ids of the partitions that exist; empty for a new topic."""
    partitions: int
    """To create."""
    factor: int
    brokers: Mapping[int, Count]
    """By id; only brokers that are up, and have a log directory that is not cordoned."""
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
    def total(self) -> int:
        """Partitions at the end."""
        return len(self.existing) + self.partitions

    @property
    def fits(self) -> bool:
        """Whether it can be created within all limits."""
        return not self.reasons


def plan_creation(
    snapshot: Snapshot, topic: str, total: int, factor: int | None, broker_limit: float, cluster_limit: float
) -> Creation:
    """Plan a topic with `total` partitions, or more partitions of one. A limit is `+inf` if none is configured.

    `factor` may be `None` for a topic that exists: its partitions have one.

    Raises:
        PlanError: Kafka refuses the name, or the number of partitions or replicas.
    """
    existing = _existing(snapshot, topic)
    factor = _factor(snapshot, topic, existing, factor)
    partitions = total - len(existing)
    if partitions <= 0:
        raise PlanError(
            f"{topic}: has {in_count(len(existing), 'partition')} already; Kafka only adds some, so give a larger"
            " number"
        )
    if partitions > (most := MOST_ADDED if existing else MOST_CREATED):
        raise PlanError(
            f"{topic}: Kafka refuses more than {most} new partitions in one request; plan {most} or fewer, and then"
            " the others"
        )
    cordoned = cordoned_brokers(snapshot.log_dirs)
    used = [broker for broker in snapshot.brokers.values() if not broker.gone and broker.id not in cordoned]
    up = sorted(broker.id for broker in used if not broker.fenced)
    hosted = count_replicas(snapshot)
    before = [hosted[broker] for broker in up]
    counted = limits.is_counted(topic)
    limit, cluster = (broker_limit, cluster_limit) if counted else (math.inf, math.inf)
    cluster_before = int(limits.counted_rows(snapshot.topics, snapshot.partitions.topic).sum())
    racks: Sequence[Rack] = [snapshot.brokers[broker].rack for broker in up]
    # Several racks, and enough to put each replica of a partition into another one.
    apart = len(set(racks)) >= max(factor, 2)
    # Without a rule for racks only brokers count.
    groups: Sequence[object] = racks if apart else up
    headroom = [limits.headroom(limit, float(count)) for count in before]
    reasons = _reasons(headroom, groups, limits.headroom(cluster, float(cluster_before)), partitions, factor, cordoned)
    most = most_by_kafka([broker.rack for broker in used], len(up), partitions, factor) if up else 0
    # Without a limit the headroom is infinite: use the highest possible count of the fullest broker as limit.
    room = headroom if math.isfinite(limit) else [float(max(before) + partitions - count) for count in before]
    placed = limits.placement(room, groups, partitions, factor) if not reasons else None
    added = Counter(index for replicas in placed or () for index in replicas)
    assign = placed is not None and most > min(headroom)
    return Creation(
        topic=topic,
        existing=existing,
        partitions=partitions,
        factor=factor,
        brokers={
            broker: Count(before[index], None if placed is None else before[index] + added[index])
            for index, broker in enumerate(up)
        },
        broker_limit=limit,
        cluster_before=cluster_before,
        cluster_limit=cluster,
        counted=counted,
        reasons=reasons,
        assignment=tuple(tuple(up[index] for index in replicas) for replicas in placed or ()) if assign else None,
        most_by_kafka=most,
        racks_apart=apart,
    )


def _existing(snapshot: Snapshot, topic: str) -> tuple[tuple[int, ...], ...]:
    """Return the broker ids of each partition of a topic, adding ones included; nothing for a new topic."""
    if topic not in snapshot.topics:
        return ()
    partitions, replicas = snapshot.partitions, snapshot.replicas
    rows = np.flatnonzero(partitions.topic == snapshot.topics.index(topic))
    if not limits.is_counted(topic):
        raise PlanError(
            f"{topic}: the partitions of this internal topic cannot change: Kafka computes with their number"
        )
    if partitions.reassigning[rows].any():
        raise PlanError(f"{topic}: a move of it is in progress, whose new replicas Kafka would count; wait for its end")
    bounds = np.searchsorted(replicas.partition, [*rows, rows[-1] + 1])
    return tuple(tuple(brokers.tolist()) for brokers in np.split(replicas.broker, bounds)[1:-1])


def _factor(snapshot: Snapshot, topic: str, existing: Sequence[Sequence[int]], wanted: int | None) -> int:
    if not existing:
        _check_name(snapshot, topic)
        if wanted is None:
            raise PlanError(f"{topic}: the cluster has no such topic; a new one needs --replication-factor")
        return wanted
    factors = {len(replicas) for replicas in existing}
    if len(factors) > 1:
        raise PlanError(
            f"{topic}: its partitions have different numbers of replicas, and Kafka takes that of any of them"
        )
    (factor,) = factors
    if wanted not in {None, factor}:
        raise PlanError(
            f"{topic}: its partitions have {in_count(factor, 'replica')}, and new ones get as many; leave"
            " --replication-factor out"
        )
    return factor


def _check_name(snapshot: Snapshot, topic: str) -> None:
    if not _NAME.fullmatch(topic) or topic in {".", ".."} or len(topic) > _LONGEST_NAME:
        raise PlanError(
            f"{topic}: not a valid topic name; use up to {_LONGEST_NAME} letters, digits, dots, underscores and hyphens"
        )
    colliding = [name for name in snapshot.topics if name.replace(".", "_") == topic.replace(".", "_")]
    if colliding:
        raise PlanError(f"{topic}: Kafka refuses it because of {colliding[0]}: metric names have underscores for dots")


def _reasons(
    headroom: Sequence[float],
    groups: Sequence[object],
    cluster_headroom: float,
    partitions: int,
    factor: int,
    cordoned: Collection[int],
) -> tuple[str, ...]:
    if factor > len(headroom):
        others = f"; Kafka leaves out cordoned ones: {', '.join(map(str, sorted(cordoned)))}" if cordoned else ""
        return (f"replication factor {factor} needs {in_count(factor, 'broker')}; up: {len(headroom)}{others}",)
    reasons = []
    if partitions > cluster_headroom:
        reasons.append(f"the cluster has room for {_room(cluster_headroom)} partitions, not for {partitions}")
    wanted = partitions * factor
    if (room := limits.room(headroom, range(len(headroom)), partitions)) < wanted:
        reasons.append(f"the brokers have room for {_room(room)} replicas of {partitions} partitions, not for {wanted}")
    elif (room := limits.room(headroom, groups, partitions)) < wanted:
        reasons.append(
            "with the replicas of a partition in different racks, the racks have room for"
            f" {_room(room)} replicas, not for {wanted}"
        )
    return tuple(reasons)


def _room(left: float) -> str:
    return f"{max(left, 0):.0f}"
