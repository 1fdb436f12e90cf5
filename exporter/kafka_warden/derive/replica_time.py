"""Lag as time: how old the oldest missing record is, and for how long a follower has not been caught up.

docs/spec/lag.md#seconds. Leader ends are (T, K), an array or T columns: T polls, oldest first, for K followers;
`times` are the monotonic seconds of each answer. An end is `UNKNOWN` without an answer, or in another leader
epoch.

Log ends are kept for a minute, thinned to bound their number at any poll interval: at 10 s a poll these are seven pairs
of columns of the partitions and three of the replicas.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, StateColumn
from kafka_warden.derive.columns import append
from kafka_warden.derive.lag import Lag, out_of_sync_by_time
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import UNKNOWN, Bools, BrokerConfig, Floats, Longs


@dataclass(frozen=True, slots=True)
class LagSeconds:
    """Lag in seconds (K,), NaN where unknown."""

    values: Floats
    at_least: Bools
    """The record is older than the window: its true age is at least the value."""


def lag_seconds(follower_end: Longs, times: Collection[Floats], ends: Collection[Longs], now: float) -> LagSeconds:
    """Now less the moment at which the leader's end passed the follower's, interpolated. (K,).

    0 where the follower has reached the leader's last known end.
    """
    first_at = last_at = last_end = passed_at = np.full(len(follower_end), np.nan)
    for at, end in zip(times, ends, strict=True):
        known = end != UNKNOWN
        crosses = known & (last_end <= follower_end) & (end > follower_end)
        share = (follower_end - last_end) / np.where(crosses, end - last_end, 1.0)
        passed_at = np.where(crosses, last_at + share * (at - last_at), passed_at)
        first_at = np.where(known & np.isnan(first_at), at, first_at)
        last_at, last_end = np.where(known, at, last_at), np.where(known, end, last_end)
    seen, caught_up = (follower_end != UNKNOWN) & ~np.isnan(first_at), last_end <= follower_end
    at_least = seen & ~caught_up & np.isnan(passed_at)
    age = np.where(caught_up, 0.0, np.maximum(now - np.where(at_least, first_at, passed_at), 0.0))
    return LagSeconds(np.where(seen, age, np.nan), at_least)


def standing_still(passed_at: Floats, clock: float, age: LagSeconds, moved: Bools) -> tuple[Floats, Floats]:
    """Let the lag of followers that stand still grow with the time: `(state, seconds)`, (K,), NaN where unknown.

    `passed_at` is the moment, at the latest, at which the leader passed the follower's end, NaN if unknown.
    While the end has not `moved` that moment stays the same, even when it is older than the window, or when the window
    was thinned and would now place it up to a grain too early.
    """
    kept = np.where(moved, np.nan, passed_at)
    older = age.at_least & (clock - kept > age.values)
    known_before = ~age.at_least & (age.values > 0) & ~np.isnan(kept)
    seconds = np.where(older | known_before, clock - kept, age.values)
    late = np.where(seconds > 0, clock - seconds, np.nan)
    return np.where(np.isnan(seconds), kept, late), seconds


def end_at(times: Collection[Floats], ends: Collection[Longs], when: Floats) -> Floats:
    """The leader's end at an earlier moment (K,), interpolated; the last known end later than the window.

    NaN before the window, and where no end is known.
    """
    end = np.full(len(when), np.nan)
    before_at, before_end = end.copy(), end.copy()
    for at, reached in zip(times, ends, strict=True):
        known = reached != UNKNOWN
        within = known & (before_at <= when) & (when < at)
        span = np.where(within, at - before_at, 1.0)
        share = np.where(within, when - before_at, 0.0) / span
        between = before_end + share * (reached - before_end)
        end = np.where(known & (at <= when), reached, np.where(within, between, end))
        before_at, before_end = np.where(known, at, before_at), np.where(known, reached, before_end)
    return end


def end_to_reach(times: Collection[Floats], ends: Collection[Longs], asked_at: Floats, slack: float) -> Floats:
    """The end that a follower must have to be caught up (K,): what its leader had `slack` seconds before `asked_at`.

    `slack` is `replica.fetch.wait.max.ms` plus the sampling gap. Where the window does not reach back so far, the
    earliest end in it is used; NaN where no end is known. docs/spec/lag.md#time-behind.
    """
    first = np.full(len(asked_at), np.nan)
    for reached in ends:
        first = np.where(np.isnan(first) & (reached != UNKNOWN), reached, first)
    then = end_at(times, ends, asked_at - slack)
    return np.where(np.isnan(then), first, np.floor(then))


def behind(last_caught_up: Floats, clock: float, caught: Bools) -> tuple[Floats, Floats]:
    """Seconds since each follower was last caught up: `(state, seconds)`, (K,); 0 while it is.

    `replica.lag.time.max.ms` limits this time. A follower that is always 20 s behind has a lag of 20 s, but `behind`
    grows. NaN in the state is a follower seen for the first time: its clock starts now.
    """
    starts = caught | np.isnan(last_caught_up)
    last = np.where(starts, clock, np.fmin(last_caught_up, clock))
    return last, clock - last


HORIZON: Final = 60.0
"""Seconds of the monotonic clock that it reaches back: five quota windows."""

LEADER_GRAIN: Final = HORIZON / 12
"""Seconds between two kept polls of the leaders, older than the last `DENSE`: values in between are interpolated."""

DENSE: Final = 3
"""Polls before the latest that are kept however close they are: these show which followers caught up or came back."""

FOLLOWER_GRAINS: Final = 4
"""Kept polls of the followers in a quota window, older than the last `DENSE`."""


@dataclass(frozen=True, slots=True)
class LeaderEnds:
    """Log ends of the leaders in one poll. P partitions."""

    clock: float
    at: Annotated[Floats, StateColumn(Axis.PARTITION, 0.0)]
    """(P,) monotonic seconds of each answer."""
    end: Annotated[Longs, StateColumn(Axis.PARTITION, UNKNOWN)]
    """(P,) `UNKNOWN` without an answer, or from a leader of an older epoch."""


@dataclass(frozen=True, slots=True)
class FollowerEnds:
    """Log ends of the replicas in one poll. R replicas."""

    clock: float
    end: Annotated[Longs, StateColumn(Axis.REPLICA, UNKNOWN)]
    """(R,) last known end."""
    messages: Annotated[Longs, StateColumn(Axis.REPLICA, UNKNOWN)]
    """(R,) lag."""


def append_leaders(history: tuple[LeaderEnds, ...], now: LeaderEnds, elected: Bools) -> tuple[LeaderEnds, ...]:
    """Add the ends of this poll; ends from before an election (P,) are not comparable and become `UNKNOWN`."""
    if elected.any():
        history = tuple(replace(seen, end=np.where(elected, UNKNOWN, seen.end)) for seen in history)
    return append(history, now, HORIZON, LEADER_GRAIN, DENSE)


def append_followers(history: tuple[FollowerEnds, ...], now: FollowerEnds, window: float) -> tuple[FollowerEnds, ...]:
    """Add the ends of this poll, and keep what a look back by a quota window in seconds needs."""
    return append(history, now, window, window / FOLLOWER_GRAINS, DENSE)


def look_back(history: tuple[FollowerEnds, ...], seconds: float) -> FollowerEnds | None:
    """Return the latest poll that lies at least so many seconds before the last one; `None` if none does."""
    clock = history[-1].clock if history else 0.0
    return next((seen for seen in reversed(history) if clock - seen.clock >= seconds), None)


@dataclass(frozen=True, slots=True)
class Times:
    """R replicas; seconds, NaN is unknown."""

    lag_seconds: Annotated[Floats, "age of the oldest missing record", "s"]
    """(R,) at least; of the followers in `shown` only."""
    behind_seconds: Annotated[Floats, "time since last caught up", "s"]
    """(R,)"""
    caught_up: Annotated[Bools, "caught up in this poll"]
    """(R,)"""
    late: Annotated[Bools, "behind for longer than `replica.lag.time.max.ms`"]
    """(R,) False where that is not known."""
    shown: Annotated[Bools, "has series: `lagging` or `late`"]
    """(R,)"""
    caught_up_at: Annotated[Floats, "when it was last caught up", "monotonic s"]
    """(R,) or first seen: the state of the fold."""
    passed_at: Annotated[Floats, "when its leader passed its log end", "monotonic s"]
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
    reached = end_to_reach([seen.at for seen in leaders], [seen.end for seen in leaders], when, wait)
    # A comparison with NaN (no end of the leader is known) is False.
    caught = (lag.messages != UNKNOWN) & (lag.end >= reached[replicas.partition])
    # Kafka also counts followers in the ISR as caught up when a leader is elected (Replica.resetReplicaState).
    excused = elected[replicas.partition] & replicas.in_isr
    last, since = behind(caught_up_at, clock, caught | excused)
    # A leader that does not answer may have gained nothing: then no follower is certainly late.
    since = np.where(lag.messages == UNKNOWN, np.nan, since)
    limit = _limits(indexed)[indexed.led_by[replicas.partition]]
    late = lag.following & out_of_sync_by_time(since, limit)
    shown = lag.shown | late
    rows = np.flatnonzero(shown)
    passed, seconds = _lag_seconds(indexed, lag, leaders, rows, lag.end[rows] != known_end[rows], passed_at)
    return Times(seconds, since, caught, late, shown, last, passed)


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
    age = lag_seconds(lag.end[rows], at, [seen.end[partition] for seen in leaders], clock)
    state, seconds = standing_still(passed_at[rows], clock, age, moved)
    # Without the leader's answer the lag is a lower bound. A bound of 0 has no meaning. An end above the new leader's
    # will be truncated: then nothing is known.
    bound = (indexed.leader_end[partition] == UNKNOWN) & (seconds > 0)
    unknown = ((lag.messages[rows] == UNKNOWN) & ~bound) | (age.at_least & (seconds == 0))
    seconds = np.where(unknown, np.nan, seconds)
    column, states = np.full(len(lag.end), np.nan), np.full(len(lag.end), np.nan)
    column[rows], states[rows] = seconds, state
    return states, column
