"""Lag in seconds, time behind, and the verdict by time (docs/spec/lag.md#time-behind)."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.derive.followers.lag import Lag
from kafka_warden.derive.followers.offset_window import LeaderEnds
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas import lag as lag_formulas
from kafka_warden.formulas import replica_time as formulas
from kafka_warden.model import UNKNOWN, Bools, BrokerConfig, Floats, Longs


@dataclass(frozen=True, slots=True)
class Times:
    """R replicas; seconds, NaN is unknown."""

    lag_seconds: Annotated[Floats, "age of the oldest missing record", "s"]
    """(R,) at least; of the followers in `shown` only."""
    behind_seconds: Annotated[Floats, "time since it was last caught up", "s"]
    """(R,)"""
    caught_up: Annotated[Bools, "it is caught up in this poll"]
    """(R,)"""
    late: Annotated[Bools, "it is behind for longer than `replica.lag.time.max.ms` of its leader"]
    """(R,) False where that is not known."""
    shown: Annotated[Bools, "it has its own series in `/metrics`: `lagging` or `late`"]
    """(R,)"""
    caught_up_at: Annotated[Floats, "time at which it was last caught up", "monotonic s"]
    """(R,) or first seen: the state of the fold."""
    passed_at: Annotated[Floats, "time at which its leader passed its log end", "monotonic s"]
    """(R,) at the latest: the state of the fold."""


def derive_times(
    indexed: IndexedSnapshot,
    lag: Lag,
    leaders: tuple[LeaderEnds, ...],
    elected: Bools,
    known_end: Longs,
    caught_up_at: Floats,
    passed_at: Floats,
) -> Times:
    """Compute the times of every follower.

    `leaders` are the last minute's ends, this poll included. `known_end`, `caught_up_at` and `passed_at` (R,) are as of
    the previous poll, NaN for a new replica; `elected` (P,) marks another leader or epoch since then.
    """
    clock, replicas = indexed.snapshot.clock, indexed.snapshot.replicas
    # Followers are asked first, at the poll's own time: the sampling gap lies between that and the leader's answer.
    when, configs = np.full(len(indexed.led_by), clock), indexed.snapshot.broker_configs.values() or (BrokerConfig(),)
    wait = max(config.replica_fetch_wait_max for config in configs)
    reached = formulas.end_to_reach([seen.at for seen in leaders], [seen.end for seen in leaders], when, wait)
    # A comparison with NaN (no end of the leader is known) is False.
    caught = (lag.messages != UNKNOWN) & (lag.end >= reached[replicas.partition])
    # Kafka also counts followers in the ISR as caught up when a leader is elected (Replica.resetReplicaState).
    excused = elected[replicas.partition] & replicas.in_isr
    last, behind = formulas.behind(caught_up_at, clock, caught | excused)
    # A leader that does not answer may have gained nothing: then no follower is certainly late.
    behind = np.where(lag.messages == UNKNOWN, np.nan, behind)
    limit = _limits(indexed)[indexed.led_by[replicas.partition]]
    late = lag.following & lag_formulas.out_of_sync_by_time(behind, limit)
    shown = lag.shown | late
    rows = np.flatnonzero(shown)
    passed, seconds = _lag_seconds(indexed, lag, leaders, rows, lag.end[rows] != known_end[rows], passed_at)
    return Times(seconds, behind, caught, late, shown, last, passed)


def _limits(indexed: IndexedSnapshot) -> Floats:
    """(B + 1,) replica.lag.time.max of each broker, NaN where it was never read; the last one means no broker."""
    configs = indexed.snapshot.broker_configs
    known = [
        configs[broker].replica_lag_time_max if broker in configs else math.nan for broker in indexed.brokers.tolist()
    ]
    return np.array([*known, math.nan])


def _lag_seconds(
    indexed: IndexedSnapshot,
    lag: Lag,
    leaders: tuple[LeaderEnds, ...],
    rows: np.ndarray,
    moved: Bools,
    passed_at: Floats,
) -> tuple[Floats, Floats]:
    clock, partition = indexed.snapshot.clock, indexed.snapshot.replicas.partition[rows]
    at = [seen.at[partition] for seen in leaders]
    age = formulas.lag_seconds(lag.end[rows], at, [seen.end[partition] for seen in leaders], clock)
    state, seconds = formulas.standing_still(passed_at[rows], clock, age, moved)
    # Without the leader's answer the lag is a lower bound. A bound of 0 has no meaning. An end above the new leader's
    # will be truncated: then nothing is known.
    bound = (indexed.leader_end[partition] == UNKNOWN) & (seconds > 0)
    unknown = ((lag.messages[rows] == UNKNOWN) & ~bound) | (age.at_least & (seconds == 0))
    seconds = np.where(unknown, np.nan, seconds)
    column, states = np.full(len(lag.end), np.nan), np.full(len(lag.end), np.nan)
    column[rows], states[rows] = seconds, state
    return states, column
