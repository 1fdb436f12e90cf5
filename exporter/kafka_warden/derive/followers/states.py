"""The shown state of every follower, and how many are out of sync by state (docs/spec/replicas.md#states)."""

from dataclasses import dataclass

import numpy as np

from kafka_warden.derive.followers.lag import Lag
from kafka_warden.derive.followers.offset_window import FollowerEnds, look_back
from kafka_warden.derive.followers.times import Times
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles, binding_limits, limit_column, throttled_rates
from kafka_warden.formulas import lag as lag_formulas
from kafka_warden.formulas import replica_state as formulas
from kafka_warden.formulas.replica_state import ENOUGH_SAMPLES, STATES, Codes, FollowerFacts, ReplicaState
from kafka_warden.model import UNKNOWN, Bools, Floats, Longs, Side, Source


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
    states[rows] = formulas.state(_facts(inputs, rows))
    return states


def count_out_of_sync(indexed: IndexedSnapshot, lag: Lag, shown: Codes) -> Longs:
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
    return np.array([broker is not None and not broker.fenced and not broker.gone for broker in brokers], bool)


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
    measured = inputs.throttles.floor[side] + lag_formulas.sums(broker, rate, brokers).values
    return np.where(np.isnan(reported), measured, reported)
