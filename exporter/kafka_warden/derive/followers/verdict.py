"""Times and states of replicas, and their state from poll to poll (docs/spec/replicas.md#states)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.arrays import carry
from kafka_warden.derive.followers.lag import Lag
from kafka_warden.derive.followers.offset_window import (
    FollowerEnds,
    LeaderEnds,
    append_followers,
    append_leaders,
    realign_followers,
    realign_leaders,
)
from kafka_warden.derive.followers.states import StateInputs, available_brokers, count_out_of_sync, evaluate_states
from kafka_warden.derive.followers.times import Times, derive_times
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.formulas.bytes_in import LeaderLogs
from kafka_warden.formulas.replica_state import (
    ENOUGH_SAMPLES,
    STATES,
    Codes,
    ReplicaState,
    debounce,
    evaluated_since,
    restarted_log,
)
from kafka_warden.model import UNKNOWN, Bools, BrokerConfig, Floats, Longs


@dataclass(frozen=True, slots=True)
class ReplicasMemory:
    """What is remembered from poll to poll, in the rows of the snapshot that was seen last. R replicas.

    `caught_up_at`, `passed_at` (beside the last known end) and `restarted` are what a restart of the sidecar must not
    lose: a file may hold them by (topic id, topic, partition, broker), as `Keys` do, and `realign` takes them to the
    rows of the first snapshot. Histories, samples and states fill again within a quota window.
    """

    leaders: tuple[LeaderEnds, ...]
    followers: tuple[FollowerEnds, ...]
    caught_up_at: Floats
    """(R,) monotonic time of the last poll in which the replica was seen caught up; NaN before it is seen."""
    passed_at: Floats
    """(R,) monotonic time at which the leader passed the replica's end, at the latest; NaN where it has not."""
    restarted: Bools
    """(R,) its log started from scratch during its present absence from the ISR."""
    evaluated_since: Floats
    """(R,) monotonic time since which it could have caught up, NaN while it cannot, -inf before the first poll."""
    samples: Codes
    """(R,) polls with an end, counted up to `ENOUGH_SAMPLES`."""
    shown: Codes
    """(R,) index into `STATES` of the state that is shown, `UNKNOWN` before the first poll."""
    candidate: Codes
    """(R,) the state of the previous poll, likewise."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """B brokers, R replicas, S states."""

    times: Times
    state: Annotated[Codes, "state in `/metrics`"]
    """(R,) as an index into `STATES`."""
    out_of_sync: Annotated[Longs, "followers outside the ISR by state; zeros are left out"]
    """(B, S) followers outside the ISR by hosting broker and shown state."""


def empty_memory(rows: int) -> ReplicasMemory:
    """Return the memory of new replicas."""
    unknown, nothing = np.full(rows, np.nan), np.full(rows, UNKNOWN, np.int8)
    return ReplicasMemory(
        leaders=(),
        followers=(),
        caught_up_at=unknown,
        passed_at=unknown,
        restarted=np.zeros(rows, bool),
        evaluated_since=np.full(rows, -np.inf),
        samples=np.zeros(rows, np.int8),
        shown=nothing,
        candidate=nothing,
    )


def derive_replicas(
    indexed: IndexedSnapshot,
    lag: Lag,
    logs: LeaderLogs,
    throttles: Throttles,
    per_offset: Floats,
    elected: Bools,
    known_end: Longs,
    memory: ReplicasMemory,
) -> tuple[ReplicasMemory, Replicas]:
    """Derive times and state of every follower of the latest snapshot.

    `per_offset` (P,) is in bytes of the leader's log, NaN where unknown; `elected` (P,) marks another leader or epoch
    since the previous poll; `known_end` (R,) are the last known ends as of that poll.
    """
    clock, replicas = indexed.snapshot.clock, indexed.snapshot.replicas
    window = quota_window(indexed)
    leaders = append_leaders(memory.leaders, LeaderEnds(clock, logs.ended_at, logs.end), elected)
    followers = append_followers(memory.followers, FollowerEnds(clock, lag.end, lag.messages), window)
    times = derive_times(indexed, lag, leaders, elected, known_end, memory.caught_up_at, memory.passed_at)
    restarted = _restarted(indexed, known_end, memory.restarted)
    samples = np.minimum(memory.samples + (replicas.end != UNKNOWN), ENOUGH_SAMPLES)
    since = _evaluated_since(indexed, lag, known_end, memory)
    inputs = StateInputs(indexed, lag, times, throttles, per_offset, followers, window, restarted, samples, since)
    shown, candidate = debounce(memory.shown, memory.candidate, evaluate_states(inputs))
    kept = ReplicasMemory(
        leaders,
        followers,
        times.caught_up_at,
        times.passed_at,
        restarted,
        since,
        samples,
        shown.astype(np.int8),
        candidate,
    )
    return kept, Replicas(times, kept.shown, count_out_of_sync(indexed, lag, kept.shown))


def realign(memory: ReplicasMemory, partitions: Longs, replicas: Longs) -> ReplicasMemory:
    """Bring the memory to other rows: row i is the old row of that number, new where it is `UNKNOWN`."""
    return ReplicasMemory(
        leaders=realign_leaders(memory.leaders, partitions),
        followers=realign_followers(memory.followers, replicas),
        caught_up_at=carry(memory.caught_up_at, replicas, np.nan),
        passed_at=carry(memory.passed_at, replicas, np.nan),
        restarted=carry(memory.restarted, replicas, 0),
        evaluated_since=carry(memory.evaluated_since, replicas, -np.inf),
        samples=carry(memory.samples, replicas, 0),
        shown=carry(memory.shown, replicas, UNKNOWN),
        candidate=carry(memory.candidate, replicas, UNKNOWN),
    )


def quota_window(indexed: IndexedSnapshot) -> float:
    """Return the seconds of the longest replication quota window of all brokers."""
    configs = list(indexed.snapshot.broker_configs.values()) or [BrokerConfig()]
    return max(config.quota_window_num * config.quota_window_size for config in configs)


def _evaluated_since(indexed: IndexedSnapshot, lag: Lag, known_end: Longs, memory: ReplicasMemory) -> Floats:
    """Return (R,) since when the followers can fetch, or last moved on after standing still."""
    replicas = indexed.snapshot.replicas
    able = (
        available_brokers(indexed)[indexed.host] & ~replicas.offline & (indexed.led_by[replicas.partition] != UNKNOWN)
    )
    stuck = STATES.index(ReplicaState.STUCK)
    woken = (memory.shown == stuck) & (memory.candidate == stuck) & (lag.end > known_end)
    return evaluated_since(memory.evaluated_since, indexed.snapshot.clock, able, woken)


def _restarted(indexed: IndexedSnapshot, known_end: Longs, before: Bools) -> Bools:
    """Return (R,) whose log started from scratch; only possible outside the ISR."""
    replicas = indexed.snapshot.replicas
    rows = np.flatnonzero(~replicas.in_isr)
    partition = replicas.partition[rows]
    restarted = np.zeros(len(replicas), bool)
    restarted[rows] = restarted_log(
        before[rows],
        replicas.in_isr[rows],
        replicas.end[rows],
        known_end[rows],
        indexed.snapshot.partitions.start[partition],
        indexed.leader_end[partition],
    )
    return restarted
