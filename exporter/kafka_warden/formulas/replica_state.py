"""The state of a follower: the first match of the table in docs/spec/replicas.md#states wins.

K rows, one per follower. States travel as indices into `STATES`, small enough for every replica.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kafka_warden.arrays import UNKNOWN, Bools, Floats, Ints, Longs

Codes = NDArray[np.int8]

ENOUGH_SAMPLES: Final = 3
"""Least polls for a verdict."""


class ReplicaState(StrEnum):
    """Values of the label `state` of `replica_state`, in the order of the table."""

    OFFLINE = "offline"
    LEADER_UNAVAILABLE = "leader_unavailable"
    UNKNOWN = "unknown"
    IN_SYNC = "in_sync"
    MOVING = "moving"
    BOOTSTRAPPING = "bootstrapping"
    THROTTLED = "throttled"
    STUCK = "stuck"
    SLOW = "slow"
    RECOVERING = "recovering"


STATES: Final = tuple(ReplicaState)


def members_of_isr(chosen: Bools, partition: Ints, broker: Ints, in_isr: Bools) -> frozenset[int]:
    """Return the brokers in the ISR of chosen (P,) partitions: they are up, since the controller drops dead ones."""
    return frozenset(broker[in_isr & chosen[partition]].tolist())


@dataclass(frozen=True, slots=True)
class FollowerFacts:
    """Facts that decide the state of K followers. Bools unless noted; unknown is False."""

    broker_available: Bools
    """Unfenced, in metadata, and the log dir is online."""
    leader_available: Bools
    """There is a leader, and it answers."""
    answers: Bools
    """The follower's broker answers us."""
    samples: Longs
    """Polls in which this follower was seen."""
    in_isr: Bools
    behind: Bools
    """Behind for longer than the leader's `replica.lag.time.max.ms`: `lag.out_of_sync_by_time`."""
    adding: Bools
    move_removes: Bools
    """Its partition's reassignment also removes a replica."""
    restarted: Bools
    """`restarted_log` during this absence from the ISR; persisted over restarts of the sidecar."""
    throttled: Bools
    """`throttle.binds` for its broker or its leader, and listed on that side."""
    advancing: Bools
    """Its end grew over the quota window."""
    leader_ahead: Bools
    shrinking: Bools
    """Its lag in messages shrank over the quota window."""


def restarted_log(
    before: Bools, in_isr: Bools, end: Longs, end_before: Longs, leader_start: Longs, leader_end: Longs
) -> Bools:
    """Whether a replica started from scratch during its present absence from the ISR. (K,), the next state of a fold.

    Its end fell, or it was first seen (`end_before` is `UNKNOWN`) at or below its leader's start.
    It ends with the absence. An end above that of a new leader is truncated to it, which is no new log.
    """
    known = end != UNKNOWN
    truncated = (leader_end != UNKNOWN) & (end_before > leader_end)
    fell = known & (end_before != UNKNOWN) & (end < end_before) & ~truncated
    first_at_start = known & (end_before == UNKNOWN) & (leader_start != UNKNOWN) & (end <= leader_start)
    restarted: Bools = ~in_isr & (before | fell | first_at_start)
    return restarted


def state(facts: FollowerFacts) -> Codes:
    """The state of each follower in this poll, as indices into `STATES`. (K,). First match wins."""
    out = ~facts.in_isr
    rules: tuple[tuple[Bools, ReplicaState], ...] = (
        (~facts.broker_available, ReplicaState.OFFLINE),
        (~facts.leader_available, ReplicaState.LEADER_UNAVAILABLE),
        (~facts.answers & facts.in_isr, ReplicaState.UNKNOWN),
        (facts.samples < ENOUGH_SAMPLES, ReplicaState.UNKNOWN),
        (facts.in_isr & ~facts.behind, ReplicaState.IN_SYNC),
        (facts.adding & facts.move_removes, ReplicaState.MOVING),
        (facts.adding | (out & facts.restarted), ReplicaState.BOOTSTRAPPING),
        (out & facts.throttled, ReplicaState.THROTTLED),
        (~facts.advancing & facts.leader_ahead, ReplicaState.STUCK),
        (facts.advancing & ~facts.shrinking, ReplicaState.SLOW),
    )
    codes = [STATES.index(code) for _, code in rules]
    chosen = np.select([rule for rule, _ in rules], codes, default=STATES.index(ReplicaState.RECOVERING))
    return chosen.astype(np.int8)


def evaluated_since(before: Floats, clock: float, able: Bools, woken: Bools) -> Floats:
    """Since when the progress of a follower counts: the next state of a fold, (K,); NaN while it cannot fetch.

    When a follower returns, gets a leader again, or is `woken` from standing still, only its progress since then
    counts: over the whole window its lag may have grown although it shrinks now.
    """
    since = np.where(np.isnan(before) | woken, clock, before)
    return np.where(able, since, np.nan)


def debounce(shown: Codes, candidate: Codes, seen: Codes) -> tuple[Codes, Codes]:
    """`folds.debounce` for K rows: `(shown, candidate)`, the next state. A new row has `UNKNOWN` in both."""
    settled = (shown == UNKNOWN) | (seen == candidate)
    return np.where(settled, seen, shown), seen
