"""The table of throttle problems, read from one poll (judgement.md 4). `throttle_problems.py` has the clocks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exporter.derive.frame import Frame
from exporter.derive.sides import Load, SideKey
from exporter.derive.throttle_lists import Named
from exporter.derive.throttle_needs import Needs
from exporter.derive.throttles import SIDES, Throttles
from exporter.formulas import replica_state, throttle
from exporter.formulas import throttle_problems as formulas
from exporter.formulas.ops import ARRAYS
from exporter.formulas.throttle_problems import Problem
from exporter.model import UNKNOWN, UNLIMITED, Bools, BrokerConfig, Floats, Ints, Parameters, Side

ProblemKey = tuple[int, Side, Problem]
"""Broker id, side and problem."""

THROTTLED_RATES = {Side.LEADER: "leader_replication_byte_rate", Side.FOLLOWER: "follower_replication_byte_rate"}


def broker_of_row(frame: Frame, side: Side) -> Ints:
    """(R,) index of the broker whose limit of that side holds a replica back, `UNKNOWN` without a leader."""
    return frame.host if side is Side.FOLLOWER else frame.led_by[frame.snapshot.replicas.partition]


def limit_of_rows(frame: Frame, needs: Needs, side: Side, rows: np.ndarray) -> Floats:
    """(K,) limits that hold K replicas back on that side, NaN where none is known."""
    index = broker_of_row(frame, side)[rows]
    return np.where(index == UNKNOWN, np.nan, needs.limits[side][index])


@dataclass(frozen=True, slots=True)
class Checks:
    """All that one poll tells; `judge` reads the table of problems from it. R replicas, B brokers."""

    frame: Frame
    throttles: Throttles
    needs: Needs
    named: Mapping[Side, Named]
    in_sync: Mapping[Side, Bools]
    sides: Mapping[SideKey, Load]
    parameters: Parameters

    def judge(self) -> dict[ProblemKey, bool | None]:
        """Tell what holds; `None` is what cannot be told, what is not mentioned does not hold."""
        found = self._below_inbound()
        columns: list[tuple[Side, Problem, Bools]] = []
        for side in SIDES:
            columns += [
                (side, Problem.BLOCKED, self._blocked(side)),
                (side, Problem.HOLDS_ORIGINAL, self._holds_original(side)),
                (side, Problem.UNEVEN, self._uneven(side)),
                (side, Problem.LOPSIDED, self._lopsided(side)),
                (side, Problem.FETCH_SIZE, self._fetch_size(side)),
                (side, Problem.IDLE_RATE, self._idle_rate(side)),
            ]
            found |= self._left_behind(side)
        columns += [
            (Side.LOG_DIRS, Problem.BLOCKED, self._log_dirs_blocked()),
            (Side.LOG_DIRS, Problem.IDLE_RATE, self._log_dirs_idle()),
        ]
        for side, problem, column in columns:
            found |= {(broker, side, problem): True for broker in self.frame.brokers[column].tolist()}
        return found | self._named_in_vain()

    def _at(self, rows: Bools, side: Side) -> Bools:
        """(B,) brokers whose limit of that side is asked for by any of these replicas (R,)."""
        index = broker_of_row(self.frame, side)[rows]
        hit: Bools = np.bincount(index[index != UNKNOWN], minlength=len(self.frame.brokers)) > 0
        return hit

    def _blocked(self, side: Side) -> Bools:
        rows = self.needs.held[side] & self.needs.behind
        if side is Side.LEADER:
            # A leader holds back only those that are not in sync.
            rows &= ~self.frame.snapshot.replicas.in_isr
        return formulas.blocked(self.needs.limits[side], self._at(rows, side))

    def _log_dirs_blocked(self) -> Bools:
        copying = np.isin(self.frame.brokers, [moving.broker for moving in self.frame.snapshot.future_replicas])
        return formulas.blocked(self.needs.limits[Side.LOG_DIRS], copying)

    def _below_inbound(self) -> dict[ProblemKey, bool | None]:
        return {
            (broker, side, Problem.BELOW_INBOUND): formulas.below_inbound(limit, load.verdict, load.may_lose)
            for (broker, side), load in self.sides.items()
            if load.limited is not False and (limit := self.throttles.limit(broker, side)) is not None
        }

    def _holds_original(self, side: Side) -> Bools:
        replicas = self.frame.snapshot.replicas
        out = self.in_sync[side] & self.needs.behind & ~replicas.in_isr & ~replicas.adding
        # A replica that does not answer is not held back, it is not there.
        rows = np.flatnonzero(out & ~replicas.offline & (replicas.end != UNKNOWN))
        index, rates = broker_of_row(self.frame, side)[rows], self._rates(side)
        binds = replica_state.throttle_binds(self.needs.held[side][rows], rates[index], self.needs.limits[side][index])
        held = np.zeros(len(replicas), bool)
        held[rows] = binds
        return self._at(held, side)

    def _rates(self, side: Side) -> Floats:
        beans = self.frame.snapshot.broker_beans
        return np.array(
            [
                math.nan if (told := beans.get(broker)) is None else told.values.get(THROTTLED_RATES[side], math.nan)
                for broker in self.frame.brokers.tolist()
            ],
            dtype=np.float64,
        )

    def _uneven(self, side: Side) -> Bools:
        partition = self.frame.snapshot.replicas.partition
        rows = np.flatnonzero(self.needs.moving[partition])
        listed = np.zeros(len(self.needs.moving), bool)
        listed[partition[rows[self.throttles.listed[side][rows]]]] = True
        differ = formulas.differing(
            partition[rows], self.needs.limits[side][self.frame.host[rows]], listed[partition[rows]]
        )
        uneven = np.bincount(self.frame.host[rows[differ]], minlength=len(self.frame.brokers)) > 0
        return uneven | self._leader_moved(listed) if side is Side.LEADER else uneven

    def _leader_moved(self, listed: Bools) -> Bools:
        """(B,) leaders of moving partitions (P,) whose list names other replicas of theirs, but not them."""
        partitions = self.frame.snapshot.partitions
        moves = np.flatnonzero(self.needs.moving & (partitions.leader_row != UNKNOWN))
        on_list = self.throttles.listed[Side.LEADER][partitions.leader_row[moves]]
        moved = moves[formulas.leader_not_named(on_list, listed[moves])]
        hit: Bools = np.bincount(self.frame.led_by[moved], minlength=len(self.frame.brokers)) > 0
        return hit

    def _lopsided(self, side: Side) -> Bools:
        named = self.named[side]
        return self._half_throttled(side) | formulas.list_without_rate(
            self.needs.limits[side], named.one_by_one, named.by_wildcard
        )

    def _half_throttled(self, side: Side) -> Bools:
        """(B,) brokers that let a move through which the other side holds back, or which no list names at all."""
        replicas = self.frame.snapshot.replicas
        led = self.frame.led_by[replicas.partition] != UNKNOWN
        rows = np.flatnonzero(replicas.adding & ~replicas.in_isr & ~self.frame.is_leader & led)
        other = Side.LEADER if side is Side.FOLLOWER else Side.FOLLOWER
        ours, theirs = (self.needs.held[each][rows] for each in (side, other))
        limit, other_limit = (limit_of_rows(self.frame, self.needs, each, rows) for each in (side, other))
        free = formulas.one_sided(ours, limit, theirs, other_limit)
        if side is Side.LEADER:
            # Where the list names other leaders, the leader moved: that is uneven.
            free &= ~self._other_leaders(rows)
        if self.throttles.lists_known and any(self.throttles.lists.values()):
            free |= formulas.unlisted(ours | theirs, limit)
        half = np.zeros(len(replicas), bool)
        half[rows] = free
        return self._at(half, side)

    def _other_leaders(self, rows: np.ndarray) -> Bools:
        partition = self.frame.snapshot.replicas.partition
        named = np.zeros(len(self.needs.moving), bool)
        named[partition[self.throttles.listed[Side.LEADER]]] = True
        others: Bools = named[partition[rows]] & ~self.needs.held[Side.LEADER][rows]
        return others

    def _named_in_vain(self) -> dict[ProblemKey, bool | None]:
        """Tell of lists that name brokers without the replica, but for what moves left, or are about to use.

        A list may name the replicas of a whole plan, of which some moves are over and others have not begun: while
        anything moves, only entries of the moving partitions themselves count.
        """
        snapshot = self.frame.snapshot
        moving = {
            (int(snapshot.partitions.topic[row]), int(snapshot.partitions.number[row]))
            for row in np.flatnonzero(snapshot.partitions.reassigning).tolist()
        }
        if not snapshot.reassignments_known:
            return {}
        return {
            (broker, side, Problem.LOPSIDED): True
            for side in SIDES
            for index, entries in self.named[side].unexplained.items()
            for number, broker in entries
            if not moving or (index, number) in moving
        }

    def _left_behind(self, side: Side) -> dict[ProblemKey, bool | None]:
        snapshot = self.frame.snapshot
        limit = self.needs.limits[side]
        left = formulas.left_behind(limit, self.named[side].any, self._needed(side))
        if snapshot.future_replicas:
            return {}
        certain = snapshot.reassignments_known and self.throttles.lists_known
        told = {directory.broker for directory in snapshot.log_dirs}
        return {
            (broker, side, Problem.LEFT_BEHIND): True if certain and broker in told else None
            for broker in self.frame.brokers[left].tolist()
        }

    def _needed(self, side: Side) -> Bools:
        """(B,) brokers whose throttle is needed: they take part, or a topic listed there does, or their very rate does.

        A tool gives all brokers of its moves one rate and takes none away before the last move is over.
        """
        snapshot, needs = self.frame.snapshot, self.needs
        topics = np.unique(snapshot.partitions.topic[needs.active])
        topic_of = snapshot.partitions.topic[snapshot.replicas.partition]
        listed = self.throttles.listed[side] & np.isin(topic_of, topics)
        hosts = np.bincount(self.frame.host[listed], minlength=len(self.frame.brokers)) > 0
        absent = self.named[side].absent
        elsewhere = {broker for index in topics.tolist() for _, broker in absent.get(index, ())}
        limit = needs.limits[side]
        needed: Bools = needs.taking_part | hosts | np.isin(self.frame.brokers, list(elsewhere))
        return needed | np.isin(limit, limit[needs.taking_part & np.isfinite(limit)])

    def _fetch_size(self, side: Side) -> Bools:
        configs = [self.frame.snapshot.broker_configs.get(broker) for broker in self.frame.brokers.tolist()]
        known = [config or BrokerConfig() for config in configs]
        own = np.array([float(config.replica_fetch_response_max_bytes) for config in known])
        # What a leader sends is as large as its followers ask for.
        asked = max((float(c.replica_fetch_response_max_bytes) for c in configs if c is not None), default=0.0)
        fetch = np.full(len(own), asked) if side is Side.LEADER else own
        window = np.array([config.quota_window_num * config.quota_window_size for config in known])
        configured = self.parameters.network_bytes_per_second
        network = UNLIMITED if configured is None else configured
        brokers = sum(not broker.gone for broker in self.frame.snapshot.brokers.values())
        limit = self.needs.limits[side]
        largest = throttle.largest_fetch(
            ARRAYS, limit, np.full(len(limit), float(max(brokers, 1))), window, np.full(len(limit), network)
        )
        return formulas.fetch_too_large(limit, self.named[side].any, fetch, largest)

    def _idle_rate(self, side: Side) -> Bools:
        in_use = not self.throttles.lists_known or any(self.throttles.lists.values())
        return formulas.idle_rate(self.needs.limits[side], in_use)

    def _log_dirs_idle(self) -> Bools:
        """(B,) a limit for moves between log directories while nothing moves: it has no list to be named by."""
        snapshot = self.frame.snapshot
        in_use = bool(snapshot.future_replicas) or bool(snapshot.partitions.reassigning.any())
        told = np.isin(self.frame.brokers, [directory.broker for directory in snapshot.log_dirs])
        return told & formulas.idle_rate(self.needs.limits[Side.LOG_DIRS], in_use or not snapshot.reassignments_known)
