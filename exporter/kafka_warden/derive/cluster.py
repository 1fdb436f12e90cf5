"""Brokers, partitions and topics: states and counts, and for how long replicas are out of sync.

docs/spec/replicas.md#under-replicated, docs/spec/replicas.md#min-isr, docs/spec/replicas.md#out-of-sync.

Also, which replicas may lead the partitions without a leader, once their brokers run (KIP-966).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Axis, StateColumn
from kafka_warden.derive.lag import as_parts
from kafka_warden.derive.limits import counted_rows
from kafka_warden.derive.replica_state import Codes
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import (
    IN_ELR,
    LAST_KNOWN_ELR,
    NO_LISTENER,
    UNKNOWN,
    Bools,
    BrokerState,
    Floats,
    Ints,
    Longs,
    Snapshot,
    Source,
)
from kafka_warden.releases import effective, is_capped, min_insync_replicas


@dataclass(frozen=True, slots=True)
class Cluster:
    """B brokers, P partitions."""

    states: Annotated[dict[int, BrokerState], "state in `/metrics`"]
    replicas: Annotated[Longs, "replicas, adding ones included"]
    """(B,)"""
    leaders: Annotated[Longs, "partitions led"]
    """(B,)"""
    counted: Annotated[Longs, "count against the limit"]
    """(B,)"""
    partitions: Annotated[int, "count against the limit"]
    under_replicated: Annotated[Bools, "a replica is missing from the ISR"]
    """(P,) moves neither cause nor mask it."""
    under_replicated_known: Annotated[bool, "under-replicated partitions are known"]
    """False while reassignments are unknown: a missing replica may be an adding one."""
    under_min_isr: Annotated[Bools, "ISR below `min.insync.replicas`; false while unknown"]
    """(P,)"""
    at_min_isr: Annotated[Bools, "ISR equal to `min.insync.replicas`, and a replica missing"]
    min_isr_known: Annotated[bool, "every `min.insync.replicas` is known"]
    min_isr_unknown: int
    """Partitions of the other topics."""
    offline: Annotated[Bools, "without a leader"]
    hidden: Bools
    """(P,) led by a broker without the listener that the metadata was asked over: the leader is not known."""
    adding: Annotated[Longs, "replicas being added"]
    """(B,)"""
    removing: Annotated[Longs, "replicas being removed"]


def derive_cluster(indexed: IndexedSnapshot) -> Cluster:
    """Count one snapshot."""
    snapshot = indexed.snapshot
    replicas, partitions = snapshot.replicas, snapshot.partitions
    counts = counted_rows(snapshot.topics, partitions.topic)
    in_isr = indexed.of_partitions(replicas.in_isr)
    assigned = indexed.of_partitions(np.ones(len(replicas), bool))
    smallest = _min_isr(indexed, assigned)
    configured = np.array([topic in snapshot.topic_configs for topic in snapshot.topics], bool)
    under: Bools = indexed.of_partitions(~replicas.in_isr & ~replicas.adding) > 0
    return Cluster(
        states={broker: _state(snapshot, broker, indexed.hidden) for broker in snapshot.brokers},
        replicas=indexed.hosted(np.ones(len(replicas), bool)),
        leaders=indexed.hosted(indexed.is_leader),
        counted=indexed.hosted(counts[replicas.partition]),
        partitions=int(counts.sum()),
        under_replicated=under,
        under_replicated_known=snapshot.reassignments_known or not under.any(),
        under_min_isr=(partitions.leader != UNKNOWN) & (in_isr < smallest),
        at_min_isr=(partitions.leader != UNKNOWN) & (in_isr == smallest) & under,
        min_isr_known=bool(configured.all()),
        min_isr_unknown=0 if configured.all() else int((~configured)[partitions.topic].sum()),
        offline=partitions.leader == UNKNOWN,
        hidden=partitions.leader == NO_LISTENER,
        adding=indexed.hosted(replicas.adding),
        removing=indexed.hosted(replicas.removing),
    )


def _min_isr(indexed: IndexedSnapshot, assigned: Longs) -> Longs:
    """Return what the leader of each partition needs (P,); 1 where min.insync.replicas is unknown."""
    snapshot, partitions = indexed.snapshot, indexed.snapshot.partitions
    by_topic = min_insync_replicas(snapshot.topics, snapshot.topic_configs)
    # In an upgrade each leader follows the rule of its own release. Index -1: partitions without a leader.
    releases = [*map(snapshot.kafka_version_of, indexed.brokers.tolist()), None]
    capped = np.array([is_capped(release) for release in releases])
    return effective(by_topic[partitions.topic], assigned, capped[indexed.led_by])


def _state(snapshot: Snapshot, broker: int, hidden: Collection[int]) -> BrokerState:
    known = snapshot.brokers[broker]
    if known.gone:
        return BrokerState.NO_LISTENER if broker in hidden else BrokerState.GONE
    if known.fenced:
        return BrokerState.FENCED
    status = snapshot.status.get((Source.OFFSETS, str(broker)))
    if status is None or not status.up:
        return BrokerState.UNANSWERING
    beans = snapshot.broker_beans.get(broker)
    if beans is None or beans.at < snapshot.clock or beans.every or "process_start_time" not in beans.values:
        return BrokerState.ACTIVE  # rules of an agent may leave the bean out
    # A shutdown hook of Kafka (kafka-jmx-shutdown-hook) unregisters this bean as soon as the process gets SIGTERM.
    return BrokerState.ACTIVE if "broker_state" in beans.values else BrokerState.SHUTTING_DOWN


def since(start: Floats, clock: float, holds: Bools) -> tuple[Floats, Floats]:
    """For how long a condition has held without a break: `(start, seconds)`, (R,), NaN where it does not hold.

    `clock` is in monotonic seconds; one that goes backwards gives an age of 0. docs/spec/README.md#ages.
    """
    begun = np.where(holds, np.where(np.isnan(start), clock, np.minimum(start, clock)), np.nan)
    return begun, clock - begun


@dataclass(frozen=True, slots=True)
class Ages:
    """Start of each condition in monotonic seconds, and its age; NaN where it does not hold."""

    out_since: Annotated[Floats, "when it left the ISR", "monotonic s"]
    """(R,)"""
    out_seconds: Annotated[Floats, "time out of the ISR", "s"]
    under_since: Annotated[Floats, "start of the under-replication", "monotonic s"]
    """(P,)"""
    under_seconds: Annotated[Floats, "time of it", "s"]


def derive_ages(indexed: IndexedSnapshot, under_replicated: Bools, out_since: Floats, under_since: Floats) -> Ages:
    """Advance the clocks. The clock of an adding replica starts after its move.

    While reassignments are unknown no clock starts: a missing replica may be an adding one.
    """
    replicas, clock = indexed.snapshot.replicas, indexed.snapshot.clock
    missing = ~replicas.in_isr & ~replicas.adding
    if not indexed.snapshot.reassignments_known:
        missing, under_replicated = missing & ~np.isnan(out_since), under_replicated & ~np.isnan(under_since)
    out = since(out_since, clock, missing)
    under = since(under_since, clock, under_replicated)
    return Ages(*out, *under)


class Candidacy(StrEnum):
    """Why a replica may lead. Without ELR the ISR keeps its last members; with it, that is empty."""

    ISR = "isr"
    ELR = "elr"
    LAST_KNOWN_ELR = "last_known_elr"
    """It led last. Kafka elects it when the ELR is empty; it may lack committed records then."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Replicas of partitions without a leader. B brokers."""

    rows: Mapping[Candidacy, Longs]
    """Rows of the `ReplicaTable`."""
    partitions: Longs | None
    """(B,) partitions without a leader whose ISR or ELR has the broker. `None` while that of one is unknown."""


def derive_candidates(indexed: IndexedSnapshot) -> Candidates:
    """Look at one snapshot."""
    replicas = indexed.snapshot.replicas
    offline = indexed.snapshot.partitions.leader[replicas.partition] == UNKNOWN
    flags = np.where(offline & (replicas.eligible != UNKNOWN), replicas.eligible, 0)
    in_isr, in_elr = offline & replicas.in_isr, (flags & IN_ELR) > 0
    unknown = replicas.partition[offline & (replicas.eligible == UNKNOWN)]
    known = np.isin(unknown, replicas.partition[in_isr]).all()
    return Candidates(
        rows={
            Candidacy.ISR: np.flatnonzero(in_isr),
            Candidacy.ELR: np.flatnonzero(in_elr),
            Candidacy.LAST_KNOWN_ELR: np.flatnonzero(flags & LAST_KNOWN_ELR),
        },
        partitions=indexed.hosted(in_isr | in_elr) if known else None,
    )


OUT, IN, ADDING = range(3)
"""A replica outside the ISR, in the ISR, and being added by a reassignment."""


@dataclass(frozen=True, slots=True)
class TopicsMemory:
    """State from poll to poll. T topics, R replicas."""

    isr: Annotated[Codes, StateColumn(Axis.REPLICA, UNKNOWN)]
    """(R,) `OUT`, `IN` or `ADDING`; `UNKNOWN` for a replica that no earlier poll had."""
    shrinks: Annotated[Longs, StateColumn(Axis.TOPIC, 0)]
    """(T,) counts since the topic was first seen."""
    expands: Annotated[Longs, StateColumn(Axis.TOPIC, 0)]


@dataclass(frozen=True, slots=True)
class Topics:
    """T topics."""

    offline: Annotated[Longs, "partitions without a leader"]
    """(T,)"""
    under_min_isr: Annotated[Longs, "partitions with an ISR below `min.insync.replicas`; null while that is not known"]
    """(T,) `UNKNOWN` where min.insync.replicas is."""
    non_preferred_leader: Annotated[Longs, "partitions not led by their first replica"]
    """(T,) `UNKNOWN` where a leader is not known."""
    bytes: Annotated[Floats, "size of all its logs", "bytes"]
    """(T,) NaN while the size of one is unknown."""
    messages_in: Annotated[Floats, "offsets appended", "1/s"]
    """(T,) NaN while the rate of a partition is unknown."""
    isr_shrinks: Annotated[Longs, "replicas that left the ISR, since first seen"]
    """(T,)"""
    isr_expands: Annotated[Longs, "replicas that joined the ISR, since first seen"]
    """(T,)"""


def derive_topics(
    indexed: IndexedSnapshot, cluster: Cluster, messages_in: Floats, memory: TopicsMemory
) -> tuple[TopicsMemory, Topics]:
    """Derive the values by topic; `messages_in` (P,) is per second, NaN where unknown."""
    snapshot = indexed.snapshot
    partitions, replicas = snapshot.partitions, snapshot.replicas
    # Numbers of another type would copy the columns.
    first = np.searchsorted(partitions.topic, np.arange(len(snapshot.topics) + 1, dtype=partitions.topic.dtype))
    first_replica = np.searchsorted(replicas.partition, first.astype(replicas.partition.dtype))
    configured = np.array([name in snapshot.topic_configs for name in snapshot.topics], bool)
    under_min_isr = _count(snapshot, np.flatnonzero(cluster.under_min_isr))
    hidden = _count(snapshot, np.flatnonzero(partitions.leader == NO_LISTENER))
    kept = _isr_changes(snapshot, memory)
    return kept, Topics(
        offline=_count(snapshot, np.flatnonzero(cluster.offline)),
        under_min_isr=np.where(configured, under_min_isr, UNKNOWN),
        non_preferred_leader=np.where(hidden > 0, UNKNOWN, _count(snapshot, _non_preferred(snapshot))),
        bytes=_sums(as_parts(replicas.size), first_replica),
        messages_in=_sums(messages_in, first),
        isr_shrinks=kept.shrinks,
        isr_expands=kept.expands,
    )


def _isr_changes(snapshot: Snapshot, before: TopicsMemory) -> TopicsMemory:
    """Count replicas that were assigned in both polls, except while a reassignment adds them."""
    replicas = snapshot.replicas
    # While reassignments are unknown, none is marked as being added.
    adding = replicas.adding if snapshot.reassignments_known else before.isr == ADDING
    isr = np.where(adding, np.int8(ADDING), replicas.in_isr)
    left = replicas.partition[(before.isr == IN) & (isr == OUT)]
    joined = replicas.partition[(before.isr == OUT) & (isr == IN)]
    return TopicsMemory(isr, before.shrinks + _count(snapshot, left), before.expands + _count(snapshot, joined))


def _non_preferred(snapshot: Snapshot) -> Ints:
    """Return the rows of partitions whose leader is not their first replica."""
    # The row before that of a first replica is of another partition.
    rows = snapshot.partitions.leader_row[snapshot.partitions.leader_row > 0]
    led = snapshot.replicas.partition[rows]
    others: Ints = led[snapshot.replicas.partition[rows - 1] == led]
    return others


def _count(snapshot: Snapshot, partitions: Ints | Longs) -> Longs:
    """Count rows of partitions, which may be listed repeatedly, by topic (T,)."""
    return np.bincount(snapshot.partitions.topic[partitions], minlength=len(snapshot.topics))


def _sums(column: Floats, first: Longs) -> Floats:
    """Sum a column by topic (T,): `first` (T + 1,) is the first row of each. NaN without rows, and where one is.

    docs/spec/README.md#unknown-values.
    """
    sums = np.full(len(first) - 1, np.nan)
    filled = np.flatnonzero(first[1:] > first[:-1])
    sums[filled] = np.add.reduceat(column, first[filled])
    return sums
