"""What is wrong with a throttle: the table of problems, row by row, and the three polls for which one must hold.

docs/spec/throttles.md#problems; KIP-73 Q&A 4 and 5. Predicates are element by element over columns: K rows of replicas,
or B brokers on one side. Limits are bytes per second, `+inf` where none is set and NaN where it is not known: an
unknown limit never makes a problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, Column
from kafka_warden.derive import throttle
from kafka_warden.derive.etas import Load, SideKey
from kafka_warden.derive.lag import Lag
from kafka_warden.derive.law import Verdict
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import Throttles, binding_limits, limit_column, throttled_rates
from kafka_warden.derive.throttle_lists import ListsMemory, Named, derive_named
from kafka_warden.model import SIDES, UNKNOWN, UNLIMITED, Bools, BrokerConfig, Floats, Ints, Origin, Parameters, Side

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


@dataclass(frozen=True, slots=True)
class Needs:
    """P partitions, R replicas, B brokers."""

    limits: dict[Side, Floats]
    """(B,) NaN is unknown, `+inf` unlimited."""
    behind: Bools
    """(R,) followers that are below the end of their leader one poll ago."""
    moving: Bools
    """(P,) a replica is being added."""
    active: Bools
    """(P,) under reassignment, or with a listed follower outside the ISR."""
    taking_part: Bools
    """(B,) host a replica of an active partition."""


def derive_needs(indexed: IndexedSnapshot, lag: Lag, throttles: Throttles) -> Needs:
    """Return what needs a throttle at present."""
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    follower = ~indexed.is_leader
    # An old replica of a move is named by the leader's list only: while it is out, the move is not over.
    listed = throttles.held[Side.LEADER] | throttles.held[Side.FOLLOWER] | throttles.listed[Side.LEADER]
    catching_up = listed & follower & ~replicas.in_isr
    active = partitions.reassigning.copy()
    active[replicas.partition[catching_up]] = True
    moving = np.zeros(len(partitions), bool)
    moving[replicas.partition[replicas.adding]] = True
    return Needs(
        limits={side: limit_column(indexed, throttles.limits, side) for side in (*SIDES, Side.LOG_DIRS)},
        behind=lag.shown & (lag.messages > 0),
        moving=moving,
        active=active,
        taking_part=indexed.hosted(active[replicas.partition]) > 0,
    )


ProblemKey = tuple[int, Side, Problem]
"""Broker id, side and problem."""


@dataclass(frozen=True, slots=True)
class Facts:
    """R replicas, B brokers."""

    indexed: IndexedSnapshot
    throttles: Throttles
    needs: Needs
    named: Mapping[Side, Named]
    in_sync: Mapping[Side, Bools]
    sides: Mapping[SideKey, Load]
    parameters: Parameters


def broker_of_row(indexed: IndexedSnapshot, side: Side) -> Ints:
    """(R,) index of the broker whose limit of that side holds a replica back, `UNKNOWN` without a leader."""
    return indexed.host if side is Side.FOLLOWER else indexed.led_by[indexed.snapshot.replicas.partition]


def limit_of_rows(indexed: IndexedSnapshot, needs: Needs, side: Side, rows: np.ndarray) -> Floats:
    """(K,) limits that hold K replicas back on that side, NaN where none is known."""
    index = broker_of_row(indexed, side)[rows]
    return np.where(index == UNKNOWN, np.nan, needs.limits[side][index])


def brokers_of(facts: Facts, rows: Bools, side: Side) -> Bools:
    """(B,) brokers whose limit of that side is asked for by any of these replicas (R,)."""
    index = broker_of_row(facts.indexed, side)[rows]
    hit: Bools = np.bincount(index[index != UNKNOWN], minlength=len(facts.indexed.brokers)) > 0
    return hit


def _blocked(facts: Facts, side: Side) -> Bools:
    """(B,) limits of 0 that hold back a follower which is behind."""
    rows = facts.throttles.held[side] & facts.needs.behind
    if side is Side.LEADER:
        # A leader holds back only followers that are not in sync.
        rows &= ~facts.indexed.snapshot.replicas.in_isr
    return blocked(facts.needs.limits[side], brokers_of(facts, rows, side))


def _log_dirs_blocked(facts: Facts) -> Bools:
    """(B,) the same of limits for moves between log directories."""
    copying = np.isin(facts.indexed.brokers, [moving.broker for moving in facts.indexed.snapshot.future_replicas])
    return blocked(facts.needs.limits[Side.LOG_DIRS], copying)


def _below_inbound(facts: Facts) -> dict[ProblemKey, bool | None]:
    """Find brokers and sides whose inbound rate exceeds what their limit lets through."""
    return {
        (broker, side, Problem.BELOW_INBOUND): below_inbound(limit, load.verdict, load.may_lose)
        for (broker, side), load in facts.sides.items()
        if load.limited is not False and (limit := facts.throttles.limit(broker, side)) is not None
    }


def _holds_original(facts: Facts, side: Side) -> dict[ProblemKey, bool | None]:
    """Find brokers whose limit keeps a replica out of the ISR that was in it and does not move.

    Unknown at a rate below the limit. A window of few large responses forgets them at once: the rate falls for some
    seconds, and meanwhile the limit of the other side holds the replica back.
    """
    replicas = facts.indexed.snapshot.replicas
    out = facts.in_sync[side] & facts.needs.behind & ~replicas.in_isr & ~replicas.adding
    # A replica that does not answer is down, not held back.
    out &= ~replicas.offline & (replicas.end != UNKNOWN)
    limits, brokers = facts.needs.limits[side], facts.indexed.brokers
    binding = binding_limits(facts.indexed, limits, throttled_rates(facts.indexed, side))
    held_back = brokers_of(facts, out, side)
    return {
        (broker, side, Problem.HOLDS_ORIGINAL): binds or None
        for broker, binds in zip(brokers[held_back].tolist(), binding[held_back].tolist(), strict=True)
    }


def _fetch_size(facts: Facts, side: Side) -> Bools:
    """(B,) limits that one fetch response may exceed (KIP-73: fetch size, window and network)."""
    configs = [facts.indexed.snapshot.broker_configs.get(broker) for broker in facts.indexed.brokers.tolist()]
    known = [config or BrokerConfig() for config in configs]
    own = np.array([float(config.replica_fetch_response_max_bytes) for config in known])
    # A leader sends responses as large as its followers ask for.
    asked = max((float(c.replica_fetch_response_max_bytes) for c in configs if c is not None), default=0.0)
    fetch = np.full(len(own), asked) if side is Side.LEADER else own
    window = np.array([config.quota_window_num * config.quota_window_size for config in known])
    configured = facts.parameters.network_bytes_per_second
    network = UNLIMITED if configured is None else configured
    brokers = sum(not broker.gone for broker in facts.indexed.snapshot.brokers.values())
    limit = facts.needs.limits[side]
    largest = throttle.largest_fetch(limit, max(brokers, 1), window, network)
    return fetch_too_large(limit, facts.named[side].any, fetch, largest)


def _idle_rate(facts: Facts, side: Side) -> Bools:
    """(B,) limits that are set while no list of any topic names a replica; in a move that is `lopsided`."""
    in_use = not facts.throttles.lists_known or any(facts.throttles.lists.values())
    return idle_rate(facts.needs.limits[side], in_use) & ~facts.needs.taking_part


def _log_dirs_idle(facts: Facts) -> Bools:
    """(B,) a limit for moves between log directories while nothing moves: there is no list for them."""
    snapshot = facts.indexed.snapshot
    in_use = bool(snapshot.future_replicas) or bool(snapshot.partitions.reassigning.any())
    answering = np.isin(facts.indexed.brokers, [directory.broker for directory in snapshot.log_dirs])
    return answering & idle_rate(facts.needs.limits[Side.LOG_DIRS], in_use or not snapshot.reassignments_known)


def _uneven(facts: Facts, side: Side) -> Bools:
    """(B,) brokers of a move whose limits differ; and leaders elected after the lists were written."""
    partition = facts.indexed.snapshot.replicas.partition
    rows = np.flatnonzero(facts.needs.moving[partition])
    listed = np.zeros(len(facts.needs.moving), bool)
    listed[partition[rows[facts.throttles.listed[side][rows]]]] = True
    differ = differing(partition[rows], facts.needs.limits[side][facts.indexed.host[rows]], listed[partition[rows]])
    uneven_limits = facts.indexed.hosted(rows[differ]) > 0
    return uneven_limits | _leader_moved(facts, listed) if side is Side.LEADER else uneven_limits


def _leader_moved(facts: Facts, listed: Bools) -> Bools:
    """(B,) leaders of moving partitions (P,) whose list names other replicas, but not the leader."""
    partitions = facts.indexed.snapshot.partitions
    moves = np.flatnonzero(facts.needs.moving & (partitions.leader_row != UNKNOWN))
    on_list = facts.throttles.listed[Side.LEADER][partitions.leader_row[moves]]
    moved = moves[leader_not_named(on_list, listed[moves])]
    hit: Bools = facts.indexed.led(moved) > 0
    return hit


def _lopsided(facts: Facts, side: Side) -> Bools:
    """(B,) brokers that throttle one side of a move and not the other, or are named and have no limit."""
    named = facts.named[side]
    return _half_throttled(facts, side) | list_without_rate(
        facts.needs.limits[side], named.one_by_one, named.by_wildcard
    )


def _half_throttled(facts: Facts, side: Side) -> Bools:
    """(B,) brokers that do not hold a move back while the other side does, or while no list names it."""
    replicas = facts.indexed.snapshot.replicas
    led = facts.indexed.led_by[replicas.partition] != UNKNOWN
    rows = np.flatnonzero(replicas.adding & ~replicas.in_isr & ~facts.indexed.is_leader & led)
    other = Side.LEADER if side is Side.FOLLOWER else Side.FOLLOWER
    ours, theirs = (facts.throttles.held[each][rows] for each in (side, other))
    limit, other_limit = (limit_of_rows(facts.indexed, facts.needs, each, rows) for each in (side, other))
    free = one_sided(ours, limit, theirs, other_limit)
    if side is Side.LEADER:
        # Where the list names other replicas, the leader changed: that is uneven.
        free &= ~_other_leaders(facts, rows)
    if facts.throttles.lists_known:
        free |= unlisted(ours | theirs, limit)
    half = np.zeros(len(replicas), bool)
    half[rows] = free
    return brokers_of(facts, half, side)


def _other_leaders(facts: Facts, rows: np.ndarray) -> Bools:
    partition = facts.indexed.snapshot.replicas.partition
    named = np.zeros(len(facts.needs.moving), bool)
    named[partition[facts.throttles.listed[Side.LEADER]]] = True
    others: Bools = named[partition[rows]] & ~facts.throttles.held[Side.LEADER][rows]
    return others


def _named_in_vain(facts: Facts) -> dict[ProblemKey, bool | None]:
    """Find lists that name brokers without the replica, except entries that moves left or are about to use.

    A list may name the replicas of a whole plan, of which some moves are over and others have not begun: while
    anything moves, only entries of the moving partitions themselves count.
    """
    snapshot = facts.indexed.snapshot
    moving = {
        (int(snapshot.partitions.topic[row]), int(snapshot.partitions.number[row]))
        for row in np.flatnonzero(snapshot.partitions.reassigning).tolist()
    }
    if not snapshot.reassignments_known:
        return {}
    return {
        (broker, side, Problem.LOPSIDED): True
        for side in SIDES
        for index, entries in facts.named[side].unexplained.items()
        for number, broker in entries
        if not moving or (index, number) in moving
    }


def _left_behind(facts: Facts, side: Side) -> dict[ProblemKey, bool | None]:
    """Find limits and lists that are not needed any more; None while ongoing moves are unknown."""
    snapshot = facts.indexed.snapshot
    limit = facts.needs.limits[side]
    left = left_behind(limit, facts.named[side].any, _needed(facts, side) | _permanent(facts, side))
    if snapshot.future_replicas:
        return {}
    certain = snapshot.reassignments_known and facts.throttles.lists_known
    answering = {directory.broker for directory in snapshot.log_dirs}
    return {
        (broker, side, Problem.LEFT_BEHIND): True if certain and broker in answering else None
        for broker in facts.indexed.brokers[left].tolist()
    }


def _permanent(facts: Facts, side: Side) -> Bools:
    """(B,) brokers with the cluster's default rate and a list `*`: no tool sets that, so it is meant to stay."""
    limits = (facts.throttles.limits.get((broker, side)) for broker in facts.indexed.brokers.tolist())
    default = np.array([limit is not None and limit.origin is Origin.CLUSTER_DEFAULT for limit in limits], bool)
    return default & facts.named[side].by_wildcard


def _needed(facts: Facts, side: Side) -> Bools:
    """(B,) brokers whose throttle is needed: they, a topic listed there, or a broker with the same rate take part.

    A tool sets one rate on all brokers of its moves, and removes none before the last move is over.
    """
    snapshot, needs = facts.indexed.snapshot, facts.needs
    topics = np.unique(snapshot.partitions.topic[needs.active])
    topic_of = snapshot.partitions.topic[snapshot.replicas.partition]
    listed = facts.throttles.listed[side] & np.isin(topic_of, topics)
    hosts = facts.indexed.hosted(listed) > 0
    absent = facts.named[side].absent
    elsewhere = {broker for index in topics.tolist() for _, broker in absent.get(index, ())}
    limit = needs.limits[side]
    needed: Bools = needs.taking_part | hosts | np.isin(facts.indexed.brokers, list(elsewhere))
    return needed | np.isin(limit, limit[needs.taking_part & np.isfinite(limit)])


@dataclass(frozen=True, slots=True)
class ProblemsMemory:
    """What is remembered from poll to poll."""

    in_sync: Annotated[Mapping[Side, Bools], Column(Axis.REPLICA, 0, "was_in_sync")]
    """(R,) replicas that were in the ISR since they are throttled on that side."""
    held: Mapping[ProblemKey, Held] = field(default_factory=dict)
    lists: ListsMemory = field(default_factory=ListsMemory)


def derive_problems(
    indexed: IndexedSnapshot,
    lag: Lag,
    throttles: Throttles,
    sides: Mapping[SideKey, Load],
    memory: ProblemsMemory,
    parameters: Parameters,
) -> tuple[ProblemsMemory, dict[ProblemKey, float]]:
    """Return the memory, and the age in seconds of every problem that is raised, by broker and side."""
    needs = derive_needs(indexed, lag, throttles)
    lists, named = derive_named(indexed, throttles, memory.lists)
    in_sync = {side: _in_sync(indexed, throttles, needs, side, memory.in_sync[side]) for side in SIDES}
    facts = Facts(indexed, throttles, needs, named, in_sync, sides, parameters)
    clock, holding = indexed.snapshot.clock, _evaluate(facts)
    held = {
        key: state
        for key in memory.held.keys() | holding.keys()
        if (state := persist(memory.held.get(key), clock, holding.get(key, False))) is not None
    }
    grace = {Problem.LEFT_BEHIND: parameters.moves_grace}
    ages = ((key, raised(state, clock, grace.get(key[2], 0.0))) for key, state in sorted(held.items()))
    return ProblemsMemory(in_sync, held, lists), {key: age for key, age in ages if age is not None}


def _in_sync(indexed: IndexedSnapshot, throttles: Throttles, needs: Needs, side: Side, before: Bools) -> Bools:
    replicas = indexed.snapshot.replicas
    kept = np.zeros(len(replicas), bool)
    rows = np.flatnonzero(throttles.held[side])
    # A limit that cannot be read at present ends nothing.
    throttled = ~np.isposinf(limit_of_rows(indexed, needs, side, rows))
    kept[rows] = held_in_sync(before[rows], throttled, replicas.in_isr[rows])
    return kept


def _evaluate(facts: Facts) -> dict[ProblemKey, bool | None]:
    """Return the problems that hold; `None` is unknown, a missing one does not hold."""
    found = _below_inbound(facts)
    columns: list[tuple[Side, Problem, Bools]] = []
    for side in SIDES:
        columns += [
            (side, Problem.BLOCKED, _blocked(facts, side)),
            (side, Problem.UNEVEN, _uneven(facts, side)),
            (side, Problem.LOPSIDED, _lopsided(facts, side)),
            (side, Problem.FETCH_SIZE, _fetch_size(facts, side)),
            (side, Problem.IDLE_RATE, _idle_rate(facts, side)),
        ]
        found |= _left_behind(facts, side) | _holds_original(facts, side)
    columns += [
        (Side.LOG_DIRS, Problem.BLOCKED, _log_dirs_blocked(facts)),
        (Side.LOG_DIRS, Problem.IDLE_RATE, _log_dirs_idle(facts)),
    ]
    for side, problem, column in columns:
        found |= {(broker, side, problem): True for broker in facts.indexed.brokers[column].tolist()}
    return found | _named_in_vain(facts)
