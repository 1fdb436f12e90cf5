"""What is wrong with a throttle: the table of problems, row by row, and the three polls for which one must hold.

docs/spec/throttles.md#problems; KIP-73 Q&A 4 and 5. Predicates are element by element over columns: K rows of replicas,
or B brokers on one side. Limits are bytes per second, `+inf` where none is set and NaN where it is not known: an
unknown limit never makes a problem.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from kafka_warden.arrays import Bools, Floats, Ints
from kafka_warden.formulas.law import Verdict

POLLS: Final = 3
"""Polls in a row that raise a problem; as many polls that cannot decide it drop it."""


class Problem(StrEnum):
    """Values of the label `problem` of `replication_throttle_problem_seconds`."""

    BLOCKED = "blocked"
    BELOW_INBOUND = "below_inbound"
    UNEVEN = "uneven"
    LOPSIDED = "lopsided"
    LEFT_BEHIND = "left_behind"
    HOLDS_ORIGINAL = "holds_original"
    FETCH_SIZE = "fetch_size"
    IDLE_RATE = "idle_rate"


@dataclass(frozen=True, slots=True)
class Held:
    """State of one problem's clock: since when it holds, polls in which it held, polls in a row without a decision."""

    since: float
    polls: int = 1
    unknown: int = 0


def persist(state: Held | None, clock: float, holds: bool | None) -> Held | None:
    """The next state of a problem's clock.

    A poll that cannot decide (`holds` None) neither starts a problem nor counts. The third in a row ends it. `clock` is
    in monotonic seconds; a clock that goes backwards gives an age of 0.
    """
    if holds is None:
        unknown = None if state is None else replace(state, since=min(state.since, clock), unknown=state.unknown + 1)
        return unknown if unknown is not None and unknown.unknown < POLLS else None
    if not holds:
        return None
    return Held(clock) if state is None else Held(min(state.since, clock), state.polls + 1)


def raised(state: Held, clock: float, grace: float = 0.0) -> float | None:
    """Age of a problem in seconds since it began to hold; None before its third poll, and up to `grace` seconds."""
    age = clock - state.since
    return age if state.polls >= POLLS and age >= grace else None


def blocked(limit: Floats, behind: Bools) -> Bools:
    """Which of B brokers let nothing through while a listed replica is behind: limit 0. (B,)."""
    zero: Bools = limit == 0
    return zero & behind


def below_inbound(limit: float, verdict: Verdict, may_lose: bool | None) -> bool | None:
    """Whether a limit never lets its replicas catch up; None when unknown. docs/spec/throttle-law.md#never.

    A limit of 0 is `blocked` and not this. `may_lose` is `law.may_lose`: a flow that does not gain although the law
    says so has another cause.
    """
    if verdict is Verdict.UNKNOWN:
        return None
    return may_lose if limit > 0 and verdict is Verdict.NEVER else False


def differing(group: Ints, limit: Floats, counted: Bools) -> Bools:
    """Which of K rows are in a group whose set limits differ: `uneven`. KIP-73 Q&A 4. (K,).

    `group` (K,) is the moving partition, `limit` (K,) that of the row's broker, `counted` (K,) rows whose partition the
    lists of that side name. A limit that is not set or not known differs from none: `lopsided` names the former.
    """
    rows = counted & np.isfinite(limit)
    groups = int(group.max()) + 1 if len(group) else 0
    least, most = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(least, group[rows], limit[rows])
    np.maximum.at(most, group[rows], limit[rows])
    differ: Bools = rows & (least[group] < most[group])
    return differ


def leader_not_named(leader_listed: Bools, others_listed: Bools) -> Bools:
    """Which of K moves have a leader that its list does not name, while it names others of them: `uneven`. (K,)."""
    moved: Bools = others_listed & ~leader_listed
    return moved


def one_sided(ours_listed: Bools, our_limit: Floats, other_listed: Bools, other_limit: Floats) -> Bools:
    """Which of K moves are held back on the other side and not on ours: `lopsided`. (K,).

    A side holds a replica back when a list names it there and its broker has a rate.
    """
    held_there = other_listed & np.isfinite(other_limit)
    free_here = ~np.isnan(our_limit) & ~(ours_listed & np.isfinite(our_limit))
    return held_there & free_here


def unlisted(listed: Bools, limit: Floats) -> Bools:
    """Which of K moves no list names, on a broker with a rate: `lopsided`. (K,). `listed` on either side."""
    free: Bools = ~listed & np.isfinite(limit)
    return free


def list_without_rate(limit: Floats, named: Bools, wildcard: Bools) -> Bools:
    """Which of B brokers a list names that have no rate, so that nothing is held back: `lopsided`. (B,).

    `named` (B,) one by one. `wildcard` (B,) by `*`, which names brokers that take no part in any move as well: that
    counts only while no broker has a rate on that side.
    """
    unset = np.isinf(limit)
    unused = bool(unset.all())
    return unset & (named | (wildcard & unused))


def left_behind(limit: Floats, listed: Bools, needed: Bools) -> Bools:
    """Which of B brokers still have a rate and a list that nothing needs any more. (B,)."""
    left: Bools = np.isfinite(limit) & listed & ~needed
    return left


def held_in_sync(before: Bools, throttled: Bools, in_isr: Bools) -> Bools:
    """Which of R replicas were in the ISR since they are throttled: the next state of a fold. (R,)."""
    kept: Bools = throttled & (before | in_isr)
    return kept


def fetch_too_large(limit: Floats, listed: Bools, fetch: Floats, largest: Floats) -> Bools:
    """Which of B brokers have a limit that one round of responses exceeds: `fetch_size`. KIP-73 Q&A 5. (B,).

    `fetch` is `replica.fetch.response.max.bytes`, `largest` `throttle.largest_fetch`. A limit of 0 is `blocked`; one
    whose lists name nothing there lets everything through.
    """
    too_large: Bools = listed & np.isfinite(limit) & (limit > 0) & (fetch > largest)
    return too_large


def idle_rate(limit: Floats, in_use: bool) -> Bools:
    """Which of B brokers have a rate while no list anywhere names a replica: it throttles nothing."""
    idle: Bools = np.isfinite(limit) & (not in_use)
    return idle
