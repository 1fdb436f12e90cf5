"""The state of a follower: the first match of the table in docs/spec/replicas.md#states wins.

K rows, one per follower. States travel as indices into `STATES`, small enough for every replica.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from kafka_warden.arrays import Axis, StateColumn
from kafka_warden.derive.inbound import LeaderLogs
from kafka_warden.derive.lag import Lag, sums
from kafka_warden.derive.replica_time import (
    FollowerEnds,
    LeaderEnds,
    Times,
    append_followers,
    append_leaders,
    derive_times,
    look_back,
)
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import Throttles, binding_limits, limit_column, throttled_rates
from kafka_warden.model import UNKNOWN, Bools, BrokerConfig, Floats, Longs, Side, Source

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
OUT_OF_SYNC: Final = [STATES.index(state) for state in STATES if state is not ReplicaState.MOVING]
"""States that count as out of sync: a replica that a move adds has not been in sync yet."""


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


def truncated_to(before: Longs, elected: Bools, end_before: Longs, leader_end: Longs) -> Longs:
    """The least end that truncation at the last election leaves to K replicas, `UNKNOWN` without one. (K,).

    A follower is truncated to the end that its leader had when it was `elected`. Later the leader writes on. That end
    is at least `end_before`, the leader's in the poll before, and at most `leader_end`, its present one.
    """
    least = np.where(end_before == UNKNOWN, leader_end, end_before)
    least = np.where(leader_end == UNKNOWN, least, np.minimum(least, leader_end))
    return np.where(elected, least, before)


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
    """A shown state changes only after two polls that agree: `(shown, candidate)`, the next state, (K,).

    A new row has `UNKNOWN` in both, and shows its first state at once. docs/spec/README.md#ages.
    """
    settled = (shown == UNKNOWN) | (seen == candidate)
    return np.where(settled, seen, shown), seen


@dataclass(frozen=True, slots=True)
class StateInputs:
    """Inputs of the states. P partitions, R replicas."""

    indexed: IndexedSnapshot
    lag: Lag
    times: Times
    throttles: Throttles
    per_offset: Floats
    """(P,) bytes of one offset of the leader's log, NaN where unknown."""
    followers: tuple[FollowerEnds, ...]
    """Ends of the replicas, this poll included, over at least a quota window once so much was seen."""
    window: float
    """Seconds of a quota window."""
    restarted: Bools
    """(R,)"""
    samples: Codes
    """(R,) polls with an end of the replica."""
    evaluated_since: Floats
    """(R,) monotonic time since which it could have caught up, NaN while it cannot."""


def evaluate_states(inputs: StateInputs) -> Codes:
    """Return (R,) the state of each replica in this poll, as indices into `STATES`. A leader is in sync with itself.

    Most replicas are in the ISR and caught up; only the others go through the table.
    """
    indexed, replicas = inputs.indexed, inputs.indexed.snapshot.replicas
    reachable = available_brokers(indexed)[indexed.host] & _answering(indexed)[indexed.host] & ~replicas.offline
    healthy = replicas.in_isr & inputs.times.caught_up & (replicas.end != UNKNOWN) & reachable
    young = inputs.samples < ENOUGH_SAMPLES
    states = np.where(young, STATES.index(ReplicaState.UNKNOWN), STATES.index(ReplicaState.IN_SYNC)).astype(np.int8)
    rows = np.flatnonzero(inputs.lag.following & ~healthy)
    states[rows] = state(_facts(inputs, rows))
    return states


def _out_of_sync(indexed: IndexedSnapshot, lag: Lag, shown: Codes) -> Longs:
    """Count (B, S) the followers outside the ISR by hosting broker and shown state, adding replicas included.

    The sum over states is what kafka-topics lists under Replicas and not under Isr, nothing else.
    Late followers that are still in the ISR have a state; they count once they are dropped.
    """
    rows = lag.following & ~indexed.snapshot.replicas.in_isr
    cells = indexed.host[rows].astype(np.int64) * len(STATES) + shown[rows]
    return np.bincount(cells, minlength=len(indexed.brokers) * len(STATES)).reshape(len(indexed.brokers), len(STATES))


def _facts(inputs: StateInputs, rows: Longs) -> FollowerFacts:
    indexed, replicas = inputs.indexed, inputs.indexed.snapshot.replicas
    partition, host = replicas.partition[rows], indexed.host[rows]
    led = indexed.led_by[partition] != UNKNOWN
    in_isr, adding, behind = replicas.in_isr[rows], replicas.adding[rows], inputs.times.late[rows]
    caught_up = inputs.times.caught_up[rows]
    restarted, throttled = inputs.restarted[rows], _throttled(inputs)[rows]
    then = look_back(inputs.followers, inputs.window)
    conclusive, advancing, ahead, shrinking = _progress(inputs, then, rows)
    # Only the last rows of the table look back; they need a window of earlier polls.
    without = (in_isr & ~behind) | adding | caught_up | (~in_isr & (restarted | throttled))
    return FollowerFacts(
        broker_available=available_brokers(indexed)[host] & ~replicas.offline[rows],
        leader_available=led & (indexed.leader_end[partition] != UNKNOWN),
        answers=_answering(indexed)[host] | (replicas.end[rows] != UNKNOWN),
        samples=np.where(conclusive | without, inputs.samples[rows].astype(np.int64), 0),
        in_isr=in_isr,
        behind=behind,
        adding=adding,
        move_removes=np.isin(partition, replicas.partition[replicas.removing]),
        restarted=restarted,
        throttled=throttled,
        advancing=advancing,
        leader_ahead=ahead & ~caught_up,
        shrinking=shrinking | caught_up,
    )


def _progress(inputs: StateInputs, then: FollowerEnds | None, rows: Longs) -> tuple[Bools, Bools, Bools, Bools]:
    """Return for followers (K,) whether a look back is conclusive, and since then: advancing, lagging, shrinking.

    Lags are compared in messages: a new reading of bytes per offset would look like progress, or like a lack of it.
    """
    if then is None:
        return (np.zeros(len(rows), bool),) * 4
    lag, (end, messages, whole) = inputs.lag, _before(inputs, then, rows)
    left = lag.messages[rows]
    known = (end != UNKNOWN) & (messages != UNKNOWN) & (left != UNKNOWN)
    advancing = known & (lag.end[rows] > end)
    shrinking = known & (left < messages)
    # A follower that lacked nothing a window ago may lack only records of this second: it does not stand still.
    just_now = ~advancing & (left > 0) & (messages == 0)
    # Less than a window can only show that the lag shrinks.
    conclusive = known & ~just_now & (whole | shrinking)
    return conclusive, advancing, known & (messages > 0) & (left > 0), shrinking


def _before(inputs: StateInputs, then: FollowerEnds, rows: Longs) -> tuple[Longs, Longs, Bools]:
    """Return for followers (K,) end and lag one window ago, or at the start of a shorter one, and whether it is whole.

    A window starts when a follower was last caught up, at the earliest.
    """
    end, messages = then.end[rows], then.messages[rows]
    since = np.fmax(inputs.evaluated_since[rows], inputs.times.caught_up_at[rows])
    whole: Bools = ~(since > then.clock)
    if not whole.all():
        for seen in reversed(inputs.followers):
            younger = ~whole & (seen.clock >= since)
            end = np.where(younger, seen.end[rows], end)
            messages = np.where(younger, seen.messages[rows], messages)
    return end, messages, whole


def available_brokers(indexed: IndexedSnapshot) -> Bools:
    """(B,) brokers that are in metadata and not fenced."""
    brokers = (indexed.snapshot.brokers.get(broker) for broker in indexed.brokers.tolist())
    return np.array([broker is not None and broker.active for broker in brokers], bool)


def _answering(indexed: IndexedSnapshot) -> Bools:
    """(B,) brokers that answered when they were asked for log ends."""
    statuses = (indexed.snapshot.status.get((Source.OFFSETS, str(broker))) for broker in indexed.brokers.tolist())
    return np.array([status is not None and status.up for status in statuses], bool)


def _throttled(inputs: StateInputs) -> Bools:
    """(R,) listed replicas outside the ISR whose throttle binds, on their broker or their leader.

    A leader's list names its own replica, and holds back all of its followers.
    """
    indexed, replicas = inputs.indexed, inputs.indexed.snapshot.replicas
    throttled = np.zeros(len(replicas), bool)
    rows = np.flatnonzero(~replicas.in_isr & inputs.lag.following & (indexed.led_by[replicas.partition] != UNKNOWN))
    partition = replicas.partition[rows]
    sides = (
        (Side.FOLLOWER, inputs.throttles.held[Side.FOLLOWER][rows], indexed.host[rows]),
        (Side.LEADER, inputs.throttles.held[Side.LEADER][rows], indexed.led_by[partition]),
    )
    for side, listed, broker in sides:
        if listed.any():
            limit = limit_column(indexed, inputs.throttles.limits, side)
            binding = binding_limits(indexed, limit, _rates(inputs, side, rows[listed], broker[listed]))
            throttled[rows] |= listed & binding[broker]
    return throttled


def _rates(inputs: StateInputs, side: Side, rows: Longs, broker: np.ndarray) -> Floats:
    """(B,) throttled rates of the beans; without JMX the floor plus the gain of these listed rows."""
    indexed, brokers = inputs.indexed, len(inputs.indexed.brokers)
    reported = throttled_rates(indexed, side)
    then = look_back(inputs.followers, inputs.window)
    if then is None:
        return reported
    gained = np.where(then.end[rows] == UNKNOWN, np.nan, np.maximum(inputs.lag.end[rows] - then.end[rows], 0))
    rate = gained * inputs.per_offset[indexed.snapshot.replicas.partition[rows]] / (indexed.snapshot.clock - then.clock)
    measured = inputs.throttles.floor[side] + sums(broker, rate, brokers).values
    return np.where(np.isnan(reported), measured, reported)


@dataclass(frozen=True, slots=True)
class ReplicasMemory:
    """State from poll to poll. R replicas."""

    caught_up_at: Annotated[Floats, StateColumn(Axis.REPLICA, np.nan, "caught_up_at", time=True)]
    """(R,) monotonic time of the last poll in which the replica was seen caught up; NaN before it is seen."""
    passed_at: Annotated[Floats, StateColumn(Axis.REPLICA, np.nan, "passed_at", time=True)]
    """(R,) monotonic time at which the leader passed the replica's end, at the latest; NaN where it has not."""
    restarted: Annotated[Bools, StateColumn(Axis.REPLICA, 0, "restarted")]
    """(R,) its log started from scratch during its present absence from the ISR."""
    truncated_to: Annotated[Longs, StateColumn(Axis.REPLICA, UNKNOWN, "truncated_to")]
    """(R,) least end after the truncation at an election, `UNKNOWN` once an end after it was seen."""
    evaluated_since: Annotated[Floats, StateColumn(Axis.REPLICA, -np.inf)]
    """(R,) monotonic time since which it could have caught up, NaN while it cannot, -inf before the first poll."""
    samples: Annotated[Codes, StateColumn(Axis.REPLICA, 0, "samples")]
    """(R,) polls with an end, counted up to `ENOUGH_SAMPLES`."""
    shown: Annotated[Codes, StateColumn(Axis.REPLICA, UNKNOWN, "shown", names=STATES)]
    """(R,) index into `STATES` of the state that is shown, `UNKNOWN` before the first poll."""
    candidate: Annotated[Codes, StateColumn(Axis.REPLICA, UNKNOWN, "candidate", names=STATES)]
    """(R,) the state of the previous poll, likewise."""
    leaders: tuple[LeaderEnds, ...] = ()
    followers: tuple[FollowerEnds, ...] = ()


@dataclass(frozen=True, slots=True)
class Replicas:
    """B brokers, R replicas, S states."""

    times: Times
    state: Annotated[Codes, "state in `/metrics`"]
    """(R,) as an index into `STATES`."""
    out_of_sync: Annotated[Longs, "followers outside the ISR by state"]
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
    configs = list(indexed.snapshot.broker_configs.values()) or [BrokerConfig()]
    window = max(config.quota_window_num * config.quota_window_size for config in configs)
    leaders = append_leaders(memory.leaders, LeaderEnds(clock, logs.ended_at, logs.end), elected)
    followers = append_followers(memory.followers, FollowerEnds(clock, lag.end, lag.messages), window)
    times = derive_times(indexed, lag, leaders, elected, known_end, memory.caught_up_at, memory.passed_at)
    starts, ends = indexed.snapshot.partitions.start[replicas.partition], indexed.leader_end[replicas.partition]
    leader_row = indexed.snapshot.partitions.leader_row[replicas.partition]
    new = elected[replicas.partition] & (leader_row != UNKNOWN)
    least = truncated_to(memory.truncated_to, new, known_end[leader_row], ends)
    # An answer of the poll of the election may be from before the truncation.
    seen = ~new & (replicas.end != UNKNOWN)
    end_before = np.where(least == UNKNOWN, known_end, np.minimum(known_end, least))
    restarted = restarted_log(memory.restarted, replicas.in_isr, replicas.end, end_before, starts, ends)
    samples = np.minimum(memory.samples + (replicas.end != UNKNOWN), ENOUGH_SAMPLES)
    stuck = STATES.index(ReplicaState.STUCK)
    able = available_brokers(indexed)[indexed.host] & ~replicas.offline
    able &= indexed.led_by[replicas.partition] != UNKNOWN
    woken = (memory.shown == stuck) & (memory.candidate == stuck) & (lag.end > known_end)
    since = evaluated_since(memory.evaluated_since, clock, able, woken)
    inputs = StateInputs(indexed, lag, times, throttles, per_offset, followers, window, restarted, samples, since)
    shown, candidate = debounce(memory.shown, memory.candidate, evaluate_states(inputs))
    kept = ReplicasMemory(
        times.caught_up_at,
        times.passed_at,
        restarted,
        np.where(seen, UNKNOWN, least),
        since,
        samples,
        shown.astype(np.int8),
        candidate,
        leaders,
        followers,
    )
    return kept, Replicas(times, kept.shown, _out_of_sync(indexed, lag, kept.shown))
