"""What is wrong with a throttle: the table of problems, row by row, and the three polls for which one must hold.

docs/spec/throttles.md#problems. Predicates are element by element over columns: K rows of replicas,
or B brokers on one side. Limits are bytes per second, `+inf` where none is set and NaN where it is not known: an
unknown limit never makes a problem.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, StateColumn
from kafka_warden.derive import throttle
from kafka_warden.derive.columns import Saved
from kafka_warden.derive.etas import Load
from kafka_warden.derive.lag import Lag
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import SideKey, Throttles, binding_limits, limit_column, throttled_rates
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

    since: Annotated[float, Saved("since", time=True)]
    polls: Annotated[int, Saved("polls")] = 1
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


def below_inbound(limit: float, never_ends: bool | None, may_lose: bool | None) -> bool | None:
    """Whether a limit never lets its replicas catch up; None when unknown. docs/spec/throttle-law.md#never.

    A limit of 0 is `blocked` and not this. `may_lose` is `law.may_lose`: a flow that does not gain although the law
    says so has another cause.
    """
    if never_ends is None:
        return None
    return may_lose if limit > 0 and never_ends else False


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


def one_sided(ours_listed: Bools, our_limit: Floats, other_listed: Bools, other_limit: Floats) -> Bools:
    """Which of K moves are held back on the other side and not on ours: `lopsided`. (K,).

    A side holds a replica back when a list names it there and its broker has a rate.
    """
    held_there = other_listed & np.isfinite(other_limit)
    free_here = ~np.isnan(our_limit) & ~(ours_listed & np.isfinite(our_limit))
    return held_there & free_here


def list_without_rate(limit: Floats, named: Bools, wildcard: Bools) -> Bools:
    """Which of B brokers a list names that have no rate, so that nothing is held back: `lopsided`. (B,).

    `named` (B,) one by one. `wildcard` (B,) by `*`, which names brokers that take no part in any move as well: that
    counts only while no broker has a rate on that side.
    """
    unset = np.isinf(limit)
    return unset & (named | (wildcard & bool(unset.all())))


ProblemKey = tuple[int, Side, Problem]
"""Broker id, side and problem."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the problems of one poll follow from. P partitions, R replicas, B brokers."""

    indexed: IndexedSnapshot
    throttles: Throttles
    sides: Mapping[SideKey, Load]
    parameters: Parameters
    named: Mapping[Side, Named]
    limits: Mapping[Side, Floats]
    """(B,) NaN is unknown, `+inf` unlimited."""
    behind: Bools
    """(R,) followers that are below the end of their leader one poll ago."""
    unsure: Bools
    """(R,) followers of which that is not known, as the leader does not answer."""
    moving: Bools
    """(P,) a replica is being added."""
    active: Bools
    """(P,) under reassignment, or with a listed follower outside the ISR."""
    taking_part: Bools
    """(B,) host a replica of an active partition."""

    def brokers_of_rows(self, side: Side) -> Ints:
        """(R,) index of the broker whose limit of that side holds a replica back, `UNKNOWN` without a leader."""
        indexed = self.indexed
        return indexed.host if side is Side.FOLLOWER else indexed.led_by[indexed.snapshot.replicas.partition]

    def limit_of_rows(self, side: Side, rows: np.ndarray) -> Floats:
        """(K,) limits that hold K replicas back on that side, NaN where none is known."""
        index = self.brokers_of_rows(side)[rows]
        return np.where(index == UNKNOWN, np.nan, self.limits[side][index])

    def brokers_of(self, rows: Bools, side: Side) -> Bools:
        """(B,) brokers whose limit of that side is asked for by any of these replicas (R,)."""
        index = self.brokers_of_rows(side)[rows]
        hit: Bools = np.bincount(index[index != UNKNOWN], minlength=len(self.indexed.brokers)) > 0
        return hit

    def brokers_behind(self, rows: Bools, side: Side) -> tuple[Bools, Bools]:
        """(B,) of `brokers_of` for those of the replicas that are behind, and for those that may be."""
        return self.brokers_of(rows & self.behind, side), self.brokers_of(rows & self.unsure, side)

    def found(self, side: Side, problem: Problem, certain: Bools, unknown: Bools) -> dict[ProblemKey, bool | None]:
        """Return a problem of the brokers (B,) where it is certain, and of those where it is unknown: None."""
        brokers = self.indexed.brokers
        return {
            (broker, side, problem): value
            for value, column in ((None, unknown), (True, certain))
            for broker in brokers[column].tolist()
        }


def _blocked(facts: Facts, side: Side) -> dict[ProblemKey, bool | None]:
    """Find limits of 0 that hold back a follower which is behind."""
    held = facts.throttles.held[side]
    if side is Side.LEADER:
        # A leader holds back only followers that are not in sync.
        held = held & ~facts.indexed.snapshot.replicas.in_isr
    zero, (behind, unsure) = facts.limits[side] == 0, facts.brokers_behind(held, side)
    return facts.found(side, Problem.BLOCKED, zero & behind, zero & unsure)


def _below_inbound(facts: Facts) -> dict[ProblemKey, bool | None]:
    """Find brokers and sides whose inbound rate exceeds what their limit lets through."""
    return {
        (broker, side, Problem.BELOW_INBOUND): below_inbound(limit, load.never_ends(load.measured), load.may_lose)
        for (broker, side), load in facts.sides.items()
        if load.limited is not False and (limit := facts.throttles.limit(broker, side)) is not None
    }


def _holds_original(facts: Facts, side: Side, in_sync: Bools) -> dict[ProblemKey, bool | None]:
    """Find brokers whose limit keeps a replica out of the ISR that was in it and does not move.

    Unknown at a rate below the limit. A window of few large responses forgets them at once: the rate falls for some
    seconds, and meanwhile the limit of the other side holds the replica back.
    """
    replicas = facts.indexed.snapshot.replicas
    out = in_sync & facts.throttles.held[side] & ~replicas.in_isr & ~replicas.adding
    # A replica that does not answer is down, not held back.
    out &= ~replicas.offline & (replicas.end != UNKNOWN)
    binding = binding_limits(facts.indexed, facts.limits[side], throttled_rates(facts.indexed, side))
    behind, unsure = facts.brokers_behind(out, side)
    return facts.found(side, Problem.HOLDS_ORIGINAL, behind & binding, behind | unsure)


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
    limit = facts.limits[side]
    largest = throttle.largest_fetch(limit, max(brokers, 1), window, network)
    # A limit of 0 is blocked; one whose lists name nothing there lets everything through.
    too_large: Bools = facts.named[side].any & np.isfinite(limit) & (limit > 0) & (fetch > largest)
    return too_large


def _uneven(facts: Facts, side: Side) -> Bools:
    """(B,) brokers of a move whose limits differ; and leaders elected after the lists were written."""
    partition = facts.indexed.snapshot.replicas.partition
    rows = np.flatnonzero(facts.moving[partition])
    listed = np.zeros(len(facts.moving), bool)
    listed[partition[rows[facts.throttles.listed[side][rows]]]] = True
    differ = differing(partition[rows], facts.limits[side][facts.indexed.host[rows]], listed[partition[rows]])
    uneven: Bools = facts.indexed.hosted(rows[differ]) > 0
    if side is Side.FOLLOWER:
        return uneven
    moves = np.flatnonzero(facts.moving & listed & (facts.indexed.snapshot.partitions.leader_row != UNKNOWN))
    leader = facts.indexed.snapshot.partitions.leader_row[moves]
    not_named = moves[~facts.throttles.listed[Side.LEADER][leader]]
    return uneven | (facts.indexed.led(not_named) > 0)


def _half_throttled(facts: Facts, side: Side) -> Bools:
    """(B,) brokers that do not hold a move back while the other side does, or while no list names it."""
    replicas = facts.indexed.snapshot.replicas
    led = facts.indexed.led_by[replicas.partition] != UNKNOWN
    rows = np.flatnonzero(replicas.adding & ~replicas.in_isr & ~facts.indexed.is_leader & led)
    other = Side.LEADER if side is Side.FOLLOWER else Side.FOLLOWER
    ours, theirs = (facts.throttles.held[each][rows] for each in (side, other))
    limit, other_limit = (facts.limit_of_rows(each, rows) for each in (side, other))
    free = one_sided(ours, limit, theirs, other_limit)
    if side is Side.LEADER:
        # Where the list names other replicas, the leader changed: that is uneven.
        named = np.zeros(len(facts.moving), bool)
        named[replicas.partition[facts.throttles.listed[Side.LEADER]]] = True
        free &= ours | ~named[replicas.partition[rows]]
    if facts.throttles.lists_known:
        free |= ~(ours | theirs) & np.isfinite(limit)
    half = np.zeros(len(replicas), bool)
    half[rows] = free
    return facts.brokers_of(half, side)


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
    limit = facts.limits[side]
    named, limits = facts.named[side], facts.throttles.limits
    found = (limits.get((broker, side)) for broker in facts.indexed.brokers.tolist())
    # The cluster's default rate and a list `*`: no tool sets that, so it is meant to stay.
    default = np.array([each is not None and each.origin is Origin.CLUSTER_DEFAULT for each in found], bool)
    left = np.isfinite(limit) & named.any & ~_needed(facts, side) & ~(default & named.by_wildcard)
    if snapshot.future_replicas:
        return {}
    certain = snapshot.reassignments_known and facts.throttles.lists_known
    answering = {directory.broker for directory in snapshot.log_dirs}
    return {
        (broker, side, Problem.LEFT_BEHIND): True if certain and broker in answering else None
        for broker in facts.indexed.brokers[left].tolist()
    }


def _needed(facts: Facts, side: Side) -> Bools:
    """(B,) brokers whose throttle is needed: they, a topic listed there, or a broker with the same rate take part.

    A tool sets one rate on all brokers of its moves, and removes none before the last move is over.
    """
    snapshot = facts.indexed.snapshot
    topics = np.unique(snapshot.partitions.topic[facts.active])
    topic_of = snapshot.partitions.topic[snapshot.replicas.partition]
    listed = facts.throttles.listed[side] & np.isin(topic_of, topics)
    hosts = facts.indexed.hosted(listed) > 0
    absent = facts.named[side].absent
    elsewhere = {broker for index in topics.tolist() for _, broker in absent.get(index, ())}
    limit = facts.limits[side]
    needed: Bools = facts.taking_part | hosts | np.isin(facts.indexed.brokers, list(elsewhere))
    return needed | np.isin(limit, limit[facts.taking_part & np.isfinite(limit)])


@dataclass(frozen=True, slots=True)
class ProblemsMemory:
    """What is remembered from poll to poll."""

    in_sync: Annotated[Mapping[Side, Bools], StateColumn(Axis.REPLICA, 0, "was_in_sync")]
    """(R,) replicas that were in the ISR since they are throttled on that side."""
    held: Annotated[Mapping[ProblemKey, Held], Saved("throttle_problems", ("broker", "side", "problem"))]
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
    lists, named = derive_named(
        indexed, throttles.lists, throttles.listed, throttles.lists_known_by_topic, memory.lists
    )
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    # An old replica of a move is named by the leader's list only: while it is out, the move is not over.
    listed = throttles.held[Side.LEADER] | throttles.held[Side.FOLLOWER] | throttles.listed[Side.LEADER]
    active, moving = partitions.reassigning.copy(), np.zeros(len(partitions), bool)
    active[replicas.partition[listed & ~indexed.is_leader & ~replicas.in_isr]] = True
    moving[replicas.partition[replicas.adding]] = True
    facts = Facts(
        indexed=indexed,
        throttles=throttles,
        sides=sides,
        parameters=parameters,
        named=named,
        limits={side: limit_column(indexed, throttles.limits, side) for side in (*SIDES, Side.LOG_DIRS)},
        behind=lag.shown & (lag.messages > 0),
        unsure=lag.shown & (lag.messages == UNKNOWN),
        moving=moving,
        active=active,
        taking_part=indexed.hosted(active[replicas.partition]) > 0,
    )
    in_sync = {side: _in_sync(facts, side, memory.in_sync[side]) for side in SIDES}
    clock, holding = indexed.snapshot.clock, _evaluate(facts, in_sync)
    held = {
        key: state
        for key in memory.held.keys() | holding.keys()
        if (state := persist(memory.held.get(key), clock, holding.get(key, _absent(facts, key)))) is not None
    }
    grace = {Problem.LEFT_BEHIND: parameters.moves_grace}
    ages = ((key, raised(state, clock, grace.get(key[2], 0.0))) for key, state in sorted(held.items()))
    return ProblemsMemory(in_sync, held, lists), {key: age for key, age in ages if age is not None}


def _in_sync(facts: Facts, side: Side, before: Bools) -> Bools:
    """(R,) replicas that were in the ISR since they are throttled: the next state of a fold."""
    replicas, partitions = facts.indexed.snapshot.replicas, facts.indexed.snapshot.partitions
    # A list that is not known ends nothing, either.
    kept = before & ~facts.throttles.lists_known_by_topic[partitions.topic][replicas.partition]
    rows = np.flatnonzero(facts.throttles.held[side])
    # A limit that cannot be read at present ends nothing.
    throttled = ~np.isposinf(facts.limit_of_rows(side, rows))
    kept[rows] = throttled & (before[rows] | replicas.in_isr[rows])
    return kept


def _absent(facts: Facts, key: ProblemKey) -> bool | None:
    """Return False for a problem that was not found to hold; `None` where the poll cannot decide."""
    broker, side, problem = key
    # These two compare the limits of several brokers.
    compared = problem in {Problem.UNEVEN, Problem.LOPSIDED} and bool(np.isnan(facts.limits[side]).any())
    lists_known = facts.throttles.lists_known or side is Side.LOG_DIRS
    known = facts.indexed.snapshot.reassignments_known and lists_known and not compared
    return False if known and facts.throttles.limit(broker, side) is not None else None


def _evaluate(facts: Facts, in_sync: Mapping[Side, Bools]) -> dict[ProblemKey, bool | None]:
    """Return the problems that hold; `None` is unknown, a missing one was not found."""
    found, snapshot = _below_inbound(facts), facts.indexed.snapshot
    columns: list[tuple[Side, Problem, Bools]] = []
    # In a move a rate without any list is lopsided.
    unused = facts.throttles.lists_known and snapshot.reassignments_known and not any(facts.throttles.lists.values())
    for side in SIDES:
        limit, named = facts.limits[side], facts.named[side]
        unlisted = list_without_rate(limit, named.one_by_one, named.by_wildcard)
        columns += [
            (side, Problem.UNEVEN, _uneven(facts, side)),
            (side, Problem.LOPSIDED, _half_throttled(facts, side) | unlisted),
            (side, Problem.FETCH_SIZE, _fetch_size(facts, side)),
            (side, Problem.IDLE_RATE, np.isfinite(limit) & ~facts.taking_part & unused),
        ]
        found |= _blocked(facts, side) | _left_behind(facts, side) | _holds_original(facts, side, in_sync[side])
    # There are no lists for moves between log directories.
    limit, moves = facts.limits[Side.LOG_DIRS], [moving.broker for moving in snapshot.future_replicas]
    answering = np.isin(facts.indexed.brokers, [directory.broker for directory in snapshot.log_dirs])
    nothing = not moves and not snapshot.partitions.reassigning.any() and snapshot.reassignments_known
    columns += [
        (Side.LOG_DIRS, Problem.BLOCKED, (limit == 0) & np.isin(facts.indexed.brokers, moves)),
        (Side.LOG_DIRS, Problem.IDLE_RATE, answering & np.isfinite(limit) & nothing),
    ]
    for side, problem, column in columns:
        found |= {(broker, side, problem): True for broker in facts.indexed.brokers[column].tolist()}
    return found | _named_in_vain(facts)
