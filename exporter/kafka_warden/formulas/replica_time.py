"""Lag as time: how old the oldest missing record is, and for how long a follower has not been caught up.

docs/spec/lag.md#seconds. Leader ends are (T, K), an array or T columns: T polls, oldest first, for K followers;
`times` are the monotonic seconds of each answer. An end is `UNKNOWN` without an answer, or in another leader
epoch.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kafka_warden.arrays import UNKNOWN, Bools, Floats, Longs


@dataclass(frozen=True, slots=True)
class LagSeconds:
    """Lag in seconds (K,), NaN where unknown."""

    values: Floats
    at_least: Bools
    """The record is older than the window: its true age is at least the value."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """State of a walk through the window, per follower."""

    first_at: Floats
    last_at: Floats
    last_end: Floats
    passed_at: Floats


def lag_seconds(follower_end: Longs, times: Collection[Floats], ends: Collection[Longs], now: float) -> LagSeconds:
    """Now less the moment at which the leader's end passed the follower's, interpolated. (K,).

    0 where the follower has reached the leader's last known end.
    """
    walk = _walk(follower_end, times, ends)
    known = (follower_end != UNKNOWN) & ~np.isnan(walk.first_at)
    caught_up = walk.last_end <= follower_end
    at_least = known & ~caught_up & np.isnan(walk.passed_at)
    moment = np.where(at_least, walk.first_at, walk.passed_at)
    age = np.where(caught_up, 0.0, np.maximum(now - moment, 0.0))
    return LagSeconds(np.where(known, age, np.nan), at_least)


def _walk(follower_end: Longs, times: Collection[Floats], ends: Collection[Longs]) -> _Passage:
    blank = np.full(len(follower_end), np.nan)
    walk = _Passage(blank, blank, blank, blank)
    for at, end in zip(times, ends, strict=True):
        walk = _advance(walk, follower_end, at, end)
    return walk


def _advance(walk: _Passage, follower_end: Longs, at: Floats, end: Longs) -> _Passage:
    known = end != UNKNOWN
    crosses = known & (walk.last_end <= follower_end) & (end > follower_end)
    gained = np.where(crosses, end - walk.last_end, 1.0)
    share = (follower_end - walk.last_end) / gained
    moment = walk.last_at + share * (at - walk.last_at)
    return _Passage(
        first_at=np.where(known & np.isnan(walk.first_at), at, walk.first_at),
        last_at=np.where(known, at, walk.last_at),
        last_end=np.where(known, end, walk.last_end),
        passed_at=np.where(crosses, moment, walk.passed_at),
    )


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
