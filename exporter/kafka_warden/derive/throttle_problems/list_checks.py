"""Problems of throttled lists, on either side (docs/spec/throttles.md#problems)."""

import numpy as np

from kafka_warden.derive.throttle_problems.facts import Facts, ProblemKey, brokers_of, limit_of_rows
from kafka_warden.formulas import throttle_problems as formulas
from kafka_warden.formulas.throttle_problems import Problem
from kafka_warden.model import SIDES, UNKNOWN, Bools, Origin, Side


def uneven(facts: Facts, side: Side) -> Bools:
    """(B,) brokers of a move whose limits differ; and leaders elected after the lists were written."""
    partition = facts.indexed.snapshot.replicas.partition
    rows = np.flatnonzero(facts.needs.moving[partition])
    listed = np.zeros(len(facts.needs.moving), bool)
    listed[partition[rows[facts.throttles.listed[side][rows]]]] = True
    differ = formulas.differing(
        partition[rows], facts.needs.limits[side][facts.indexed.host[rows]], listed[partition[rows]]
    )
    uneven = np.bincount(facts.indexed.host[rows[differ]], minlength=len(facts.indexed.brokers)) > 0
    return uneven | _leader_moved(facts, listed) if side is Side.LEADER else uneven


def _leader_moved(facts: Facts, listed: Bools) -> Bools:
    """(B,) leaders of moving partitions (P,) whose list names other replicas, but not the leader."""
    partitions = facts.indexed.snapshot.partitions
    moves = np.flatnonzero(facts.needs.moving & (partitions.leader_row != UNKNOWN))
    on_list = facts.throttles.listed[Side.LEADER][partitions.leader_row[moves]]
    moved = moves[formulas.leader_not_named(on_list, listed[moves])]
    hit: Bools = np.bincount(facts.indexed.led_by[moved], minlength=len(facts.indexed.brokers)) > 0
    return hit


def lopsided(facts: Facts, side: Side) -> Bools:
    """(B,) brokers that throttle one side of a move and not the other, or are named and have no limit."""
    named = facts.named[side]
    return _half_throttled(facts, side) | formulas.list_without_rate(
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
    free = formulas.one_sided(ours, limit, theirs, other_limit)
    if side is Side.LEADER:
        # Where the list names other replicas, the leader changed: that is uneven.
        free &= ~_other_leaders(facts, rows)
    if facts.throttles.lists_known:
        free |= formulas.unlisted(ours | theirs, limit)
    half = np.zeros(len(replicas), bool)
    half[rows] = free
    return brokers_of(facts, half, side)


def _other_leaders(facts: Facts, rows: np.ndarray) -> Bools:
    partition = facts.indexed.snapshot.replicas.partition
    named = np.zeros(len(facts.needs.moving), bool)
    named[partition[facts.throttles.listed[Side.LEADER]]] = True
    others: Bools = named[partition[rows]] & ~facts.throttles.held[Side.LEADER][rows]
    return others


def named_in_vain(facts: Facts) -> dict[ProblemKey, bool | None]:
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


def left_behind(facts: Facts, side: Side) -> dict[ProblemKey, bool | None]:
    """Find limits and lists that are not needed any more; None while ongoing moves are unknown."""
    snapshot = facts.indexed.snapshot
    limit = facts.needs.limits[side]
    left = formulas.left_behind(limit, facts.named[side].any, _needed(facts, side) | _permanent(facts, side))
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
    hosts = np.bincount(facts.indexed.host[listed], minlength=len(facts.indexed.brokers)) > 0
    absent = facts.named[side].absent
    elsewhere = {broker for index in topics.tolist() for _, broker in absent.get(index, ())}
    limit = needs.limits[side]
    needed: Bools = needs.taking_part | hosts | np.isin(facts.indexed.brokers, list(elsewhere))
    return needed | np.isin(limit, limit[needs.taking_part & np.isfinite(limit)])
