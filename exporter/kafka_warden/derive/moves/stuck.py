"""Which moves are stuck, and why: facts of one snapshot, and clocks from poll to poll."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from kafka_warden.arrays import as_finite, sum_known
from kafka_warden.derive.flows.changes import Change, MoveKey
from kafka_warden.derive.flows.copy_rates import Measured
from kafka_warden.derive.flows.etas import flow_eta
from kafka_warden.derive.flows.flow import Flow
from kafka_warden.derive.flows.keys import FlowKey
from kafka_warden.derive.moves.log_dir_space import Disks
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.formulas import law, stuck
from kafka_warden.formulas.folds import Minimum, Stall, stall
from kafka_warden.model import NO_LISTENER, UNKNOWN, Bools, BrokerConfig, Parameters, Side, Source

AGREEING_POLLS = 2
"""Polls in a row with the same fact before it is shown."""

AUX_STATE_ERRORS = "build_remote_log_aux_state_errors_total"


@dataclass(frozen=True, slots=True)
class StuckInputs:
    """Inputs of the verdict of one poll."""

    indexed: IndexedSnapshot
    flows: Mapping[FlowKey, Flow]
    throttles: Throttles
    remaining: Mapping[int, float | None]
    """Row of each replica that a move waits for to the bytes that it lacks."""
    stalls: Mapping[int, Stall | None]
    groups: Mapping[FlowKey, list[int]]
    """The same rows by flow."""
    changes: Mapping[FlowKey, Change]
    measured: Mapping[FlowKey, Measured]
    keys: Mapping[int, MoveKey]
    """Row to the key of the move, which outlives the row."""
    parameters: Parameters
    _etas: dict[FlowKey, float | None] = field(default_factory=dict)

    def settled(self, key: FlowKey) -> bool:
        """Return whether the last change of limit, list, leader or ISR is long enough ago to believe a slope."""
        since = self.indexed.snapshot.clock - self.changes[key].at if key in self.changes else math.inf
        return stuck.is_settled(since, self.parameters.poll_interval, self.window(key))

    def window(self, key: FlowKey) -> law.Window:
        """Return the quota window of the flow, the default one while it is unknown."""
        return self.flows[key].window if key in self.flows else law.DEFAULT_WINDOW

    def verdict(self, key: FlowKey) -> law.Verdict:
        """Return whether the flow converges."""
        flow = self.flows.get(key)
        if flow is None:
            return law.Verdict.UNKNOWN
        rate, seconds = self.measured[key].recent or (None, 0.0)
        return law.verdict(flow.headroom, flow.burst, flow.least_in, rate, seconds, flow.window)

    def never(self, key: FlowKey, remaining: float | None) -> bool | None:
        """Return whether the throttle keeps a replica from ever catching up; `None` when unknown."""
        if remaining == 0:
            return False
        verdict = self.verdict(key)
        if verdict is law.Verdict.NEVER:
            flow = self.flows[key]
            blocked = flow.headroom is not None and flow.headroom <= 0
            return blocked or (flow.settled and flow.may_lose is True) or None
        return None if verdict is law.Verdict.UNKNOWN else False

    def gross(self, key: FlowKey) -> float | None:
        """Measured bytes per second that a flow copies, at least; `None` before there is a rate to believe."""
        flow, steady = self.flows.get(key), self.measured[key].steady
        return None if flow is None or steady is None else steady.rate + (flow.bytes_in or 0.0)

    def flow_eta(self, key: FlowKey) -> float | None:
        """Seconds until a whole flow has caught up; `None` when unknown, for example before anything was copied."""
        if key not in self._etas:
            flow = self.flows[key]
            total = sum_known([self.remaining.get(row) for row in flow.rows.tolist()])
            eta = flow_eta(flow, total, self.measured[key].steady)
            self._etas[key] = None if eta is None else as_finite(eta)
        return self._etas[key]


@dataclass(frozen=True, slots=True)
class Together:
    """The moves of a flow that were summed, and their least remaining bytes."""

    moves: frozenset[MoveKey]
    minimum: Minimum | None
    """The least sum of what remains."""
    errors: float | None
    """Aux state errors of the target at that time, `None` while unknown."""


class Stuck(NamedTuple):
    """The verdict on a move."""

    cause: stuck.Cause
    since: float
    """Monotonic seconds: since then it is stuck, for causes that this alert reports."""


@dataclass(frozen=True, slots=True)
class StuckMemory:
    """State from poll to poll."""

    flows: Mapping[FlowKey, Together] = field(default_factory=dict)
    facts: Mapping[MoveKey, tuple[stuck.Cause | None, int]] = field(default_factory=dict)
    """Move to the first fact that holds, and in how many polls in a row it was the same."""
    shown: Mapping[MoveKey, Stuck] = field(default_factory=dict)
    """Moves that are stuck."""

    def blinded(self, key: MoveKey) -> bool:
        """Return whether a fact holds that hides the ETA of a move."""
        return key in self.facts and self.facts[key][0] in stuck.BLINDING


def evaluate_stuck(inputs: StuckInputs, memory: StuckMemory) -> StuckMemory:
    """Find the moves that are stuck, and why."""
    flows, facts = {}, {}
    found: dict[MoveKey, stuck.Cause] = {}
    waiting, disks = _waiting(inputs), Disks(inputs.indexed, inputs.keys, inputs.remaining)
    for key, rows in inputs.groups.items():
        of_flow = _facts(inputs, key)
        flows[key], stalled = _together(inputs, rows, memory.flows.get(key), of_flow.aux_state_errors)
        of_flow = replace(of_flow, aux_state_errors=_gained(of_flow.aux_state_errors, flows[key].errors))
        for row in rows:
            move = inputs.keys[row]
            of_replica = _facts_of(inputs, key, row, of_flow, disks, complete=not waiting[row])
            fact, (before, polls) = stuck.fact(of_replica), memory.facts.get(move, (None, 0))
            polls = polls + 1 if before is fact else 1
            facts[move] = fact, polls
            # A replica in sync only waits for the others of its partition.
            done = inputs.indexed.snapshot.replicas.in_isr[row] and waiting[row]
            if not done and _stands_still(inputs, key, row, stalled, len(rows)):
                cause = _kept(memory.shown.get(move), stuck.cause(of_replica), of_flow.verdict)
                if not _may_be_burst(inputs, key, row, flows[key].minimum, cause):
                    found[move] = cause
            elif fact is not None and polls >= AGREEING_POLLS:
                found[move] = fact
    clock = inputs.indexed.snapshot.clock
    return StuckMemory(flows, facts, {move: _since(memory.shown.get(move), of, clock) for move, of in found.items()})


def _since(before: Stuck | None, cause: stuck.Cause, clock: float) -> Stuck:
    return Stuck(cause, clock if before is None or cause in stuck.EXPLAINED else before.since)


def _together(
    inputs: StuckInputs, rows: list[int], before: Together | None, errors: float
) -> tuple[Together, Stall | None]:
    summed = frozenset(inputs.keys[row] for row in rows)
    known = before if before is not None and before.moves == summed else Together(summed, None, None)
    minimum, stalled = stall(
        known.minimum, inputs.indexed.snapshot.clock, sum_known([inputs.remaining[row] for row in rows])
    )
    advanced = stalled is not None and stalled.samples == 0
    counted = errors if advanced or known.errors is None else known.errors
    return Together(summed, minimum, None if math.isnan(counted) else counted), stalled


def _gained(errors: float, before: float | None) -> float:
    """Errors since then; a count that fell restarted with its broker, and an unknown one counts as 0."""
    if math.isnan(errors) or before is None:
        return 0.0
    return errors - before if errors >= before else errors


def _waiting(inputs: StuckInputs) -> Bools:
    """(R,) whether an adding replica of the same partition is still missing from the ISR."""
    replicas, partitions = inputs.indexed.snapshot.replicas, len(inputs.indexed.snapshot.partitions)
    missing = np.bincount(replicas.partition[replicas.adding & ~replicas.in_isr], minlength=partitions) > 0
    waiting: Bools = missing[replicas.partition]
    return waiting


def _kept(before: Stuck | None, cause: stuck.Cause, verdict: law.Verdict) -> stuck.Cause:
    """Keep the throttle as the cause while it is unknown: one poll after a restart no inbound rate is known."""
    was_throttle = before is not None and before.cause is stuck.Cause.THROTTLE_BELOW_INBOUND
    unsure = cause is stuck.Cause.NO_PROGRESS and verdict is law.Verdict.UNKNOWN
    return stuck.Cause.THROTTLE_BELOW_INBOUND if was_throttle and unsure else cause


def _stands_still(inputs: StuckInputs, key: FlowKey, row: int, together: Stall | None, moving: int) -> bool:
    flow = inputs.flows.get(key)
    limit = stuck.stall_limit(inputs.parameters.poll_interval, inputs.window(key))
    fetch = inputs.indexed.snapshot.broker_configs.get(key.target, BrokerConfig()).replica_fetch_max_bytes
    headroom = flow.headroom if flow is not None else None
    gains = law.by_slope(*(inputs.measured[key].recent or (None, 0.0))) is law.Verdict.CONVERGES
    alone = stuck.single_stall_limit(limit, moving, float(fetch), headroom, inputs.gross(key))
    return stuck.is_stuck(together, inputs.stalls[row], limit, alone, settled=inputs.settled(key), gains=gains)


def _may_be_burst(inputs: StuckInputs, key: FlowKey, row: int, together: Minimum | None, cause: stuck.Cause) -> bool:
    clock, single, change = inputs.indexed.snapshot.clock, inputs.stalls[row], inputs.changes.get(key)
    if together is None or change is None:
        return False
    seconds = max(clock - together.at, 0.0 if single is None else single.seconds)
    settled_after = inputs.window(key).settling + inputs.parameters.poll_interval
    return stuck.may_be_burst(cause, seconds, together.at, change.at, settled_after)


def _facts(inputs: StuckInputs, key: FlowKey) -> stuck.MoveFacts:
    """Gather the facts that all moves of a flow share; aux state errors are the whole count."""
    target, leader = key.target, key.leader
    snapshot, flow = inputs.indexed.snapshot, inputs.flows.get(key)
    beans = snapshot.broker_beans.get(target)
    values = beans.values if beans is not None else {}
    return stuck.MoveFacts(
        target_answers=_answers(inputs, target),
        leader_exists=leader != UNKNOWN,
        leader_answers=leader in {UNKNOWN, NO_LISTENER} or _answers(inputs, leader),
        next_fetch_bytes=float(snapshot.broker_configs.get(target, BrokerConfig()).replica_fetch_max_bytes),
        failed_partitions=values.get("fetcher_failed_partitions_count", 0.0),
        dead_threads=values.get("fetcher_dead_thread_count", 0.0),
        aux_state_errors=values.get(AUX_STATE_ERRORS, math.nan),
        verdict=inputs.verdict(key),
        throttle_may_lose=flow is None or flow.may_lose is not False,
    )


def _facts_of(
    inputs: StuckInputs, key: FlowKey, row: int, of_flow: stuck.MoveFacts, disks: Disks, *, complete: bool
) -> stuck.MoveFacts:
    """Add the facts of one replica; `complete` when all adding replicas of its partition are in the ISR."""
    lagging = not inputs.indexed.snapshot.replicas.in_isr[row]
    return replace(
        of_flow,
        log_dir_online=not disks.lost(row, settled=inputs.settled(key)),
        usable_bytes=disks.usable(row),
        remaining_bytes=disks.arriving(row),
        leader_limit=_binding(inputs, key, Side.LEADER, lagging=lagging),
        follower_limit=_binding(inputs, key, Side.FOLLOWER, lagging=lagging),
        adding_in_isr=complete,
    )


def _answers(inputs: StuckInputs, broker: int) -> bool:
    known = inputs.indexed.snapshot.brokers.get(broker)
    status = inputs.indexed.snapshot.status.get((Source.OFFSETS, str(broker)))
    return known is not None and not known.gone and not known.fenced and (status is None or status.up)


def _binding(inputs: StuckInputs, key: FlowKey, side: Side, *, lagging: bool) -> float:
    limit = inputs.throttles.limit(key.broker(side), side) if lagging and key.listed(side) else None
    return math.inf if limit is None else limit
