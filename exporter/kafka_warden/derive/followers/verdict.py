"""Times and states of replicas, and their state from poll to poll (docs/spec/replicas.md#states)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Axis, Column
from kafka_warden.derive.followers.lag import Lag
from kafka_warden.derive.followers.offset_window import (
    FollowerEnds,
    LeaderEnds,
    append_followers,
    append_leaders,
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
    """State from poll to poll. R replicas."""

    caught_up_at: Annotated[Floats, Column(Axis.REPLICA, np.nan, "caught_up_at", time=True)]
    """(R,) monotonic time of the last poll in which the replica was seen caught up; NaN before it is seen."""
    passed_at: Annotated[Floats, Column(Axis.REPLICA, np.nan, "passed_at", time=True)]
    """(R,) monotonic time at which the leader passed the replica's end, at the latest; NaN where it has not."""
    restarted: Annotated[Bools, Column(Axis.REPLICA, 0, "restarted")]
    """(R,) its log started from scratch during its present absence from the ISR."""
    evaluated_since: Annotated[Floats, Column(Axis.REPLICA, -np.inf)]
    """(R,) monotonic time since which it could have caught up, NaN while it cannot, -inf before the first poll."""
    samples: Annotated[Codes, Column(Axis.REPLICA, 0, "samples")]
    """(R,) polls with an end, counted up to `ENOUGH_SAMPLES`."""
    shown: Annotated[Codes, Column(Axis.REPLICA, UNKNOWN, "shown", names=STATES)]
    """(R,) index into `STATES` of the state that is shown, `UNKNOWN` before the first poll."""
    candidate: Annotated[Codes, Column(Axis.REPLICA, UNKNOWN, "candidate", names=STATES)]
    """(R,) the state of the previous poll, likewise."""
    leaders: tuple[LeaderEnds, ...] = ()
    followers: tuple[FollowerEnds, ...] = ()


@dataclass(frozen=True, slots=True)
class Replicas:
    """B brokers, R replicas, S states."""

    times: Times
    state: Annotated[Codes, "state in `/metrics`"]
    """(R,) as an index into `STATES`."""
    out_of_sync: Annotated[Longs, "followers outside the ISR by state; zeros are left out"]
    """(B, S) followers outside the ISR by hosting broker and shown state."""


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
        times.caught_up_at,
        times.passed_at,
        restarted,
        since,
        samples,
        shown.astype(np.int8),
        candidate,
        leaders,
        followers,
    )
    return kept, Replicas(times, kept.shown, count_out_of_sync(indexed, lag, kept.shown))


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
