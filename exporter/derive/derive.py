"""From a snapshot to everything that is judged of it: (snapshot, memory) -> (memory, Derived)."""

from dataclasses import dataclass

import numpy as np

from exporter.derive.adding import blank as no_weights
from exporter.derive.ages import Ages, derive_ages, never
from exporter.derive.cluster import Cluster, derive_cluster
from exporter.derive.flows import derive_flows, derive_inbound
from exporter.derive.frame import Frame, frame
from exporter.derive.lag import Lag, derive_lag
from exporter.derive.logs import LogCounts, LogsMemory, derive_logs
from exporter.derive.memory import Memory, remembered
from exporter.derive.moves import Move, MovesMemory, derive_moves
from exporter.derive.mutations import ClientMutations, derive_mutations
from exporter.derive.replicas import Replicas, derive_replicas, empty_memory
from exporter.derive.throttles import Throttles, at_rates, derive_throttles
from exporter.derive.throttling import Throttling, ThrottlingMemory, derive_throttling
from exporter.derive.tiered import Tiered, TieredMemory, derive_tiered
from exporter.derive.totals import Totals, bound_by_sides, derive_totals
from exporter.formulas import bytes_in as bytes_in_formulas
from exporter.formulas import mean_rate
from exporter.formulas.bytes_in import LeaderLogs
from exporter.formulas.mean_rate import MeanRate
from exporter.model import UNKNOWN, Bools, Floats, Parameters, Snapshot


@dataclass(frozen=True, slots=True)
class Derived:
    """Everything that is judged of one snapshot."""

    frame: Frame
    lag: Lag
    bytes_in: Floats
    """(P,) bytes per second appended to each partition, NaN where unknown."""
    cluster: Cluster
    ages: Ages
    replicas: Replicas
    throttles: Throttles
    throttling: Throttling
    moves: tuple[Move, ...]
    totals: Totals
    mutations: tuple[ClientMutations, ...]
    clamped: int
    """Negative lags set to 0 since the sidecar started."""
    tiered: Tiered
    log_counts: dict[int, LogCounts]
    """By broker; those whose log dirs are not answered are missing."""


def derive(snapshot: Snapshot, memory: Memory | None, parameters: Parameters) -> tuple[Memory, Derived]:
    """Judge a snapshot by itself and by what is remembered of those before it."""
    seen = frame(snapshot)
    logs = _leader_logs(seen)
    before = remembered(memory, seen)
    compacted = _compacted(seen)
    rates_memory, bytes_in = bytes_in_formulas.step(before.bytes_in if before else None, logs, compacted)
    known_end = before.known_end if before else np.full(len(seen.host), UNKNOWN, np.int64)
    previous = before.bytes_in.previous if before else None
    elected = _elected(previous, logs) if previous else np.zeros(len(seen.led_by), bool)
    lag = derive_lag(
        seen,
        known_end,
        previous.end if previous else np.full(len(seen.led_by), UNKNOWN, np.int64),
        rates_memory.per_offset,
        elected,
        compacted,
        before.weights if before else no_weights(len(seen.host)),
    )
    cluster = derive_cluster(seen)
    ages = derive_ages(
        seen,
        cluster.under_replicated,
        before.out_since if before else never(len(seen.host)),
        before.under_since if before else never(len(seen.led_by)),
    )
    throttles = derive_throttles(seen, bytes_in, parameters.network_bytes_per_second)
    replicas_memory, replicas = derive_replicas(
        seen,
        lag,
        logs,
        throttles,
        rates_memory.per_offset,
        elected,
        known_end,
        before.replicas if before else empty_memory(len(seen.host)),
    )
    mean_memory, mean = mean_rate.step(before.mean_in if before else MeanRate(), seen.snapshot.clock, bytes_in)
    inbound = derive_inbound(mean, bytes_in, mean_rate.spanned(mean_memory))
    lasting = at_rates(seen, throttles, inbound.least)
    flows = derive_flows(seen, lag, lasting, inbound)
    moves_memory = before.moves if before else MovesMemory()
    moves: tuple[Move, ...] = ()
    if seen.snapshot.reassignments_known:
        moves_memory, moves = derive_moves(seen, lag, flows, lasting, inbound.mean, moves_memory, parameters)
    throttling_memory, throttling = derive_throttling(
        seen,
        lag,
        lasting,
        flows,
        inbound.mean,
        moves_memory,
        before.throttling if before else ThrottlingMemory(),
        parameters,
    )
    moves = bound_by_sides(moves, throttling)
    clamped = lag.clamped + (before.clamped if before else 0)
    tiered_memory, tiered = derive_tiered(seen, rates_memory.per_offset, before.tiered if before else TieredMemory())
    gaps_memory, gaps = derive_logs(seen.snapshot, before.log_gaps if before else LogsMemory())
    kept = Memory(
        keys=seen.keys,
        bytes_in=rates_memory,
        mean_in=mean_memory,
        known_end=lag.end,
        weights=lag.weights,
        out_since=ages.out_since,
        under_since=ages.under_since,
        replicas=replicas_memory,
        moves=moves_memory,
        clamped=clamped,
        throttling=throttling_memory,
        tiered=tiered_memory,
        log_gaps=gaps_memory,
    )
    return kept, Derived(
        frame=seen,
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
    )


def _elected(before: LeaderLogs, now: LeaderLogs) -> Bools:
    """Tell (P,) which partitions have another leader than in the previous poll; one that was not there had none."""
    elected: Bools = ~bytes_in_formulas.same_leader(before, now) & (before.epoch != UNKNOWN)
    return elected


def _leader_logs(seen: Frame) -> LeaderLogs:
    """Gather what is known of every partition's leader."""
    partitions, replicas = seen.snapshot.partitions, seen.snapshot.replicas
    led = partitions.leader_row != UNKNOWN
    size, sized_at = np.full(len(led), UNKNOWN, np.int64), np.zeros(len(led))
    size[led] = replicas.size[partitions.leader_row[led]]
    sized_at[led] = replicas.sized_at[partitions.leader_row[led]]
    told_at = np.array([seen.snapshot.offsets_at.get(broker, 0.0) for broker in seen.brokers.tolist()])
    return LeaderLogs(
        leader=partitions.leader,
        epoch=partitions.leader_epoch,
        start=partitions.start,
        end=seen.leader_end,
        ended_at=np.where(led, told_at[seen.led_by], 0.0) if len(told_at) else np.zeros(len(led)),
        size=size,
        sized_at=sized_at,
    )


def _compacted(seen: Frame) -> Bools:
    configs = seen.snapshot.topic_configs
    by_topic = np.array([(c := configs.get(name)) is not None and c.compacted for name in seen.snapshot.topics], bool)
    partitions = seen.snapshot.partitions
    return by_topic[partitions.topic] if len(by_topic) else np.zeros(len(partitions), bool)
