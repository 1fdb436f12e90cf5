"""From a snapshot to all derived values: (snapshot, memory) -> (memory, Derived).

The memory is the state from poll to poll, in the rows of the latest snapshot.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Axis, Keys, StateColumn
from kafka_warden.derive.cluster import (
    Ages,
    Candidates,
    Cluster,
    Topics,
    TopicsMemory,
    derive_ages,
    derive_candidates,
    derive_cluster,
    derive_topics,
)
from kafka_warden.derive.columns import Rows, blank, match, realign
from kafka_warden.derive.copy_rates import hold_as_before
from kafka_warden.derive.inbound import (
    BytesIn,
    Sums,
    compacted,
    elected,
    leader_logs,
    messages_in_rate,
    step,
    step_mean,
)
from kafka_warden.derive.lag import Lag, RemainingEstimate, derive_lag
from kafka_warden.derive.law import Inbound, derive_flows
from kafka_warden.derive.limits import LogCounts, LogsMemory, derive_logs
from kafka_warden.derive.move_totals import Totals, derive_totals
from kafka_warden.derive.moves import Move, MovesMemory, derive_moves, follow_moves
from kafka_warden.derive.mutation import ClientMutations, derive_mutations
from kafka_warden.derive.replica_state import Replicas, ReplicasMemory, derive_replicas
from kafka_warden.derive.snapshot_index import IndexedSnapshot, index_snapshot
from kafka_warden.derive.throttle import Throttles, derive_throttles
from kafka_warden.derive.throttle_use import Throttling, ThrottlingMemory, derive_throttling
from kafka_warden.derive.tiered import Tiered, TieredMemory, derive_tiered
from kafka_warden.model import UNKNOWN, Floats, Longs, Parameters, Snapshot


@dataclass(frozen=True, slots=True)
class Memory:
    """In the rows of the last snapshot. P partitions, R replicas; times are monotonic seconds."""

    keys: Keys
    bytes_in: BytesIn
    known_end: Annotated[Longs, StateColumn(Axis.REPLICA, UNKNOWN, "end")]
    """(R,) last known log ends."""
    estimate: RemainingEstimate
    """(R,) for adding replicas."""
    out_since: Annotated[Floats, StateColumn(Axis.REPLICA, np.nan, "out_since", time=True)]
    """(R,) since when the replica has been missing from the ISR, NaN where it is not."""
    under_since: Annotated[Floats, StateColumn(Axis.PARTITION, np.nan, "under_since", time=True)]
    """(P,) since when the partition has been under-replicated."""
    replicas: ReplicasMemory
    topics: TopicsMemory
    throttling: ThrottlingMemory
    tiered: TieredMemory
    mean_in: tuple[Sums, ...] = ()
    moves: MovesMemory = field(default_factory=MovesMemory)
    log_gaps: LogsMemory = field(default_factory=dict)
    clamped: int = 0
    """Negative lags set to 0 since the sidecar started."""


def take(memory: Memory, keys: Keys, rows: Rows) -> Memory:
    """Bring a memory to the rows of `keys`."""
    moved: Memory = realign(replace(memory, keys=keys), rows)
    return moved


def remembered(memory: Memory | None, keys: Keys) -> Memory:
    """Bring the memory to the rows of a snapshot, or start one."""
    if memory is None:
        return blank(Memory, keys, keys=keys)
    return memory if memory.keys.same(keys) else take(memory, keys, match(memory.keys, keys))


@dataclass(frozen=True, slots=True)
class Derived:
    """All derived values of one snapshot."""

    indexed: IndexedSnapshot
    lag: Lag
    bytes_in: Annotated[Floats, "growth of the leader's log", "bytes/s"]
    """(P,) NaN where unknown."""
    cluster: Cluster
    ages: Ages
    replicas: Replicas
    throttles: Throttles
    throttling: Throttling
    moves: tuple[Move, ...]
    totals: Totals
    mutations: tuple[ClientMutations, ...]
    clamped: Annotated[int, "negative differences set to 0 in this run"]
    tiered: Tiered
    log_counts: dict[int, LogCounts]
    """By broker; brokers without an answer of log dirs are missing."""
    topics: Topics
    candidates: Candidates


def derive(snapshot: Snapshot, memory: Memory | None, parameters: Parameters) -> tuple[Memory, Derived]:
    """Derive everything from a snapshot and the state of earlier ones."""
    seen = index_snapshot(snapshot)
    before = remembered(memory, snapshot.keys)
    logs, cleaned = leader_logs(seen), compacted(seen)
    new_leader = elected(before.bytes_in.previous, logs)
    rates_memory, bytes_in = step(before.bytes_in, logs, cleaned)
    per_offset = rates_memory.per_offset
    lag = derive_lag(
        seen, before.known_end, before.bytes_in.previous.end, per_offset, new_leader, cleaned, before.estimate
    )
    cluster = derive_cluster(seen)
    ages = derive_ages(seen, cluster.under_replicated, before.out_since, before.under_since)
    mean_memory, mean = step_mean(before.mean_in, seen.snapshot.clock, bytes_in)
    # The rate that lasts: a burst passes, and a load ends.
    lasting, spanned = np.fmin(mean, bytes_in), mean_memory[-1].seconds - mean_memory[0].seconds
    inbound = Inbound(mean, lasting, spanned)
    throttles = derive_throttles(seen, bytes_in, inbound.least, parameters.network_bytes_per_second)
    throttles = hold_as_before(seen, throttles, before.moves.changes)
    replicas_memory, replicas = derive_replicas(
        seen, lag, logs, throttles, per_offset, new_leader, before.known_end, before.replicas
    )
    flows = derive_flows(seen, lag, throttles, inbound)
    moves_memory, progress = follow_moves(seen, lag, flows, throttles, mean, before.moves, parameters)
    throttling_memory, throttling = derive_throttling(
        seen, lag, throttles, flows, mean, moves_memory, before.throttling, parameters
    )
    moves = derive_moves(lag, mean, moves_memory, progress, throttling.side_etas) if progress is not None else ()
    clamped = lag.clamped + before.clamped
    tiered_memory, tiered = derive_tiered(seen, per_offset, before.tiered)
    gaps_memory, gaps = derive_logs(seen.snapshot, before.log_gaps)
    messages_in = messages_in_rate(before.bytes_in.previous, logs)
    topics_memory, topics = derive_topics(seen, cluster, messages_in, before.topics)
    kept = Memory(
        keys=snapshot.keys,
        bytes_in=rates_memory,
        mean_in=mean_memory,
        known_end=lag.end,
        estimate=lag.estimate,
        out_since=ages.out_since,
        under_since=ages.under_since,
        replicas=replicas_memory,
        moves=moves_memory,
        clamped=clamped,
        throttling=throttling_memory,
        tiered=tiered_memory,
        log_gaps=gaps_memory,
        topics=topics_memory,
    )
    return kept, Derived(
        indexed=seen,
        lag=lag,
        bytes_in=bytes_in,
        cluster=cluster,
        ages=ages,
        replicas=replicas,
        throttles=throttles,
        throttling=throttling,
        moves=moves,
        totals=derive_totals(seen, moves, throttles, throttling, bytes_in),
        mutations=derive_mutations(seen.snapshot),
        clamped=clamped,
        tiered=tiered,
        log_counts=gaps,
        topics=topics,
        candidates=derive_candidates(seen),
    )
