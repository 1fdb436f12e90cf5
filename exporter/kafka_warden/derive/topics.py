"""Values by topic: partitions with a problem, size, message rate, and changes of the ISR without JMX."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Axis, Column
from kafka_warden.derive.cluster import Cluster
from kafka_warden.derive.lag import as_parts
from kafka_warden.derive.replica_state import Codes
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import NO_LISTENER, UNKNOWN, Floats, Ints, Longs, Snapshot

OUT, IN, ADDING = range(3)
"""A replica outside the ISR, in the ISR, and being added by a reassignment."""


@dataclass(frozen=True, slots=True)
class TopicsMemory:
    """State from poll to poll. T topics, R replicas."""

    isr: Annotated[Codes, Column(Axis.REPLICA, UNKNOWN)]
    """(R,) `OUT`, `IN` or `ADDING`; `UNKNOWN` for a replica that no earlier poll had."""
    shrinks: Annotated[Longs, Column(Axis.TOPIC, 0)]
    """(T,) counts since the topic was first seen."""
    expands: Annotated[Longs, Column(Axis.TOPIC, 0)]


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
    """Sum a column by topic (T,): `first` (T + 1,) is the first row of each. NaN without rows, and where one is."""
    sums = np.full(len(first) - 1, np.nan)
    filled = np.flatnonzero(first[1:] > first[:-1])
    sums[filled] = np.add.reduceat(column, first[filled])
    return sums
