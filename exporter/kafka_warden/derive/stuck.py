"""When a move is stuck, and the first cause that explains it. docs/spec/moves.md#stuck.

Evaluated first on the sum of remaining bytes of all moves between a pair of brokers, target and source, under the same
limits: one replica among many waits long for its turn, and that is healthy.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from kafka_warden.arrays import as_known, sum_known
from kafka_warden.derive import law
from kafka_warden.derive.columns import Saved
from kafka_warden.derive.copy_rates import FLOWS, MOVES, Change, Measured, Minimum, MoveKey, Stall, stall
from kafka_warden.derive.law import DEFAULT_WINDOW, Flow, FlowKey, Window
from kafka_warden.derive.log_dir_moves import Disks
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import NO_LISTENER, UNKNOWN, BrokerConfig, Parameters, Source

POLLS: Final = 3
"""No new minimum over three polls ..."""

WINDOWS: Final = 2
"""... and two quota windows: a lowered limit stops everything for most of one."""

TURNS: Final = 5
"""Turns that a replica misses before it is stuck while its broker advances; the longest healthy wait seen is 69 s."""


class Cause(StrEnum):
    """Why a move is stuck; values of the label `cause`, in order of precedence."""

    TARGET_DOWN = "target_down"
    LEADER_UNRESPONSIVE = "leader_unresponsive"
    NO_LEADER = "no_leader"
    LOG_DIR_OFFLINE = "log_dir_offline"
    LOG_DIR_FULL = "log_dir_full"
    TARGET_DISK_TOO_SMALL = "target_disk_too_small"
    FETCHER_FAILED = "fetcher_failed"
    AUX_STATE_ERROR = "aux_state_error"
    THROTTLE_BLOCKED = "throttle_blocked"
    THROTTLE_BELOW_INBOUND = "throttle_below_inbound"
    COPIED_NOT_COMPLETED = "copied_not_completed"
    NO_PROGRESS = "no_progress"


FACTS: Final = frozenset(
    {Cause.TARGET_DOWN, Cause.LEADER_UNRESPONSIVE, Cause.NO_LEADER, Cause.LOG_DIR_OFFLINE, Cause.THROTTLE_BLOCKED}
)
"""Causes that are shown after two polls that agree, without waiting for a lack of progress."""

EXPLAINED: Final = frozenset({Cause.LEADER_UNRESPONSIVE, Cause.NO_LEADER})
"""Causes that another alert reports: KafkaReassignmentStuck leaves such moves out."""

LASTING: Final = frozenset(
    {
        Cause.THROTTLE_BLOCKED,
        Cause.THROTTLE_BELOW_INBOUND,
        Cause.LOG_DIR_FULL,
        Cause.LOG_DIR_OFFLINE,
        Cause.TARGET_DISK_TOO_SMALL,
    }
)
"""Causes that do not end by themselves: KafkaReassignmentStuck does not wait for such moves to last."""

BURST: Final = 180.0
"""Seconds for which producers may write more than the throttle lets through: a burst of two minutes, and until the mean
inbound rate shows its end."""

STUCK_WAIT: Final = 255.0
"""Seconds for which a move with another cause has to be stuck before the alert counts it, `stuck_wait` of
rules/thresholds.yml."""

BLINDING: Final = FACTS - {Cause.THROTTLE_BLOCKED}
"""While one of these facts holds, no ETA is shown."""


@dataclass(frozen=True, slots=True)
class MoveFacts:
    """Facts about a move that does not advance. An unknown fact keeps its default."""

    target_answers: bool = True
    """The broker of the replica is unfenced, in metadata, and answers."""
    leader_exists: bool = True
    leader_answers: bool = True
    log_dir_online: bool = True
    """The one that holds the replica is."""
    usable_bytes: float | None = None
    """Free in the replica's log dir, in the one with most space while unknown, None before Kafka 3.3."""
    next_fetch_bytes: float = 0.0
    """`replica.fetch.max.bytes`: with less room than that the volume is full."""
    remaining_bytes: float = 0.0
    """Of all moves to that log dir."""
    failed_partitions: float = 0.0
    """ReplicaFetcherManager FailedPartitionsCount of the target."""
    dead_threads: float = 0.0
    aux_state_errors: float = 0.0
    """BuildRemoteLogAuxStateErrorsPerSec count gained by the target since the last new minimum."""
    throttle_blocked: bool = False
    """It is not in sync, and a limit of 0 holds it back."""
    flow_never_ends: bool | None = None
    """`law.never_ends`."""
    throttle_may_lose: bool = True
    """`law.may_lose`: the throttle can be the reason for that."""
    adding_in_isr: bool = False
    """All adding replicas of the partition, if any, are in the ISR, and it is still listed as reassigning."""


def stall_limit(poll_interval: float, window: Window = DEFAULT_WINDOW) -> float:
    """Seconds without a new minimum of a pair of brokers before it is stuck: three polls and two quota windows."""
    return max(POLLS * poll_interval, WINDOWS * window.seconds)


def single_stall_limit(
    pair_limit: float, moves: int, fetch_max_bytes: float, headroom: float | None, gross: float | None
) -> float | None:
    """The same for one replica while its broker advances: the larger of that and five turns of all moves, in seconds.

    5 x moves on the broker x replica.fetch.max.bytes / c: 100 moves at 1 MB/s with 1 MiB get a turn every 105 s each.
    c is the smaller of headroom and measured gross rate: a link or a disk may be slower than any limit.
    None (never stuck alone) while one of them is unknown or 0.
    """
    if headroom is None or gross is None or min(headroom, gross) <= 0:
        return None
    return max(pair_limit, TURNS * moves * fetch_max_bytes / min(headroom, gross))


def is_stuck(
    pair: Stall | None,
    single: Stall | None,
    pair_limit: float,
    single_limit: float | None,
    *,
    settled: bool = True,
    gains: bool = False,
) -> bool:
    """Whether a replica is stuck: its pair of brokers is, or it alone is. Unknown (None) is not stuck.

    `settled` is false for 12 s and a poll after a change of limit, list, leader or ISR: a lowered limit stops all.
    `gains`: the pair copies more than comes in, as measured. It makes up for a burst: none of its replicas is stuck.
    """
    together, alone = (
        stall is not None and limit is not None and stall.samples >= POLLS and stall.seconds >= limit
        for stall, limit in ((pair, pair_limit), (single, single_limit))
    )
    return settled and (not gains if together else alone)


def may_be_burst(cause: Cause, seconds: float, advanced_at: float, changed_at: float, settled_after: float) -> bool:
    """Return whether a move that made no progress for so long may only wait for the end of a burst.

    It did advance under the present limits, which no producer exceeded then. A throttle under which it never did is too
    low. Monotonic seconds: of the last new minimum, and of the last change. `settled_after`: as of `MoveProgress`.
    """
    return cause is Cause.THROTTLE_BELOW_INBOUND and seconds < BURST and advanced_at > changed_at + settled_after


def has_lasted(cause: Cause, seconds: float) -> bool:
    """Return whether the alert counts a move that is stuck for so long, apart from the `for` of the alert.

    Prometheus knows that of each move with series of its own. Moves without are counted here.
    """
    return cause in LASTING | EXPLAINED or seconds >= STUCK_WAIT


def holding(facts: MoveFacts) -> list[Cause]:
    """All causes that hold, in the order of docs/spec/moves.md#causes; `no_progress` when none is known."""
    usable = math.inf if facts.usable_bytes is None else facts.usable_bytes
    rules = (
        (not facts.target_answers, Cause.TARGET_DOWN),
        (facts.leader_exists and not facts.leader_answers, Cause.LEADER_UNRESPONSIVE),
        (not facts.leader_exists, Cause.NO_LEADER),
        (not facts.log_dir_online, Cause.LOG_DIR_OFFLINE),
        (usable < max(facts.next_fetch_bytes, 1.0), Cause.LOG_DIR_FULL),
        (usable < facts.remaining_bytes, Cause.TARGET_DISK_TOO_SMALL),
        (facts.failed_partitions > 0 or facts.dead_threads > 0, Cause.FETCHER_FAILED),
        (facts.aux_state_errors > 0, Cause.AUX_STATE_ERROR),
        (facts.throttle_blocked, Cause.THROTTLE_BLOCKED),
        (facts.flow_never_ends and facts.throttle_may_lose, Cause.THROTTLE_BELOW_INBOUND),
        (facts.adding_in_isr, Cause.COPIED_NOT_COMPLETED),
    )
    return [found for holds, found in rules if holds] or [Cause.NO_PROGRESS]


AGREEING_POLLS = 2
"""Polls in a row with the same fact before it is shown."""


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """The moves of one poll: what they lack, since when they stall, and the rates of their flows."""

    indexed: IndexedSnapshot
    flows: Mapping[FlowKey, Flow]
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

    def settled_after(self, key: FlowKey) -> float:
        """Return the seconds after a change in which a slope is not believed: 12 s and a poll."""
        return self.window(key).settling + self.parameters.poll_interval

    def settled(self, key: FlowKey) -> bool:
        """Return whether no limit, list, leader or ISR changed of late: docs/spec/throttle-law.md#after-a-change."""
        since = self.indexed.snapshot.clock - self.changes[key].at if key in self.changes else math.inf
        return since >= self.settled_after(key)

    def window(self, key: FlowKey) -> Window:
        """Return the quota window of the flow, the default one while it is unknown."""
        return self.flows[key].window if key in self.flows else DEFAULT_WINDOW

    def flow_never_ends(self, key: FlowKey) -> bool | None:
        """Return whether the flow never catches up; `None` when unknown."""
        flow = self.flows.get(key)
        return None if flow is None else flow.never_ends(self.measured[key].recent)

    def never(self, key: FlowKey, remaining: float | None) -> bool | None:
        """Return whether the throttle keeps a replica from ever catching up; `None` when unknown."""
        if remaining is None:
            return None
        if remaining == 0:
            return False
        if never := self.flow_never_ends(key):
            flow = self.flows[key]
            blocked = flow.headroom is not None and flow.headroom <= 0
            return blocked or (flow.settled and flow.may_lose is True) or None
        return never

    def gross(self, key: FlowKey) -> float | None:
        """Measured bytes per second that a flow copies, at least; `None` before there is a rate to believe."""
        flow, steady = self.flows.get(key), self.measured[key].steady
        return None if flow is None or steady is None else steady.rate + (flow.bytes_in or 0.0)


@dataclass(frozen=True, slots=True)
class Together:
    """State of one flow, since it has had the same moves."""

    minimum: Annotated[Minimum | None, Saved("least")] = None
    """The least sum of what remains."""
    errors: Annotated[float | None, Saved("errors")] = None
    """Aux state errors of the target at that time, `None` while unknown."""


class Fact(NamedTuple):
    """The first fact that holds for a move, and in how many polls in a row it was the same."""

    cause: Annotated[Cause | None, Saved("fact")] = None
    polls: Annotated[int, Saved("fact_polls")] = 0


class Stuck(NamedTuple):
    """The verdict on a move."""

    cause: Annotated[Cause, Saved("cause")]
    since: Annotated[float, Saved("stuck_at", time=True)]
    """Monotonic seconds: since then it is stuck, for causes that this alert reports."""


@dataclass(frozen=True, slots=True)
class StuckMemory:
    """State from poll to poll."""

    flows: Annotated[Mapping[FlowKey, Together], FLOWS] = field(default_factory=dict)
    facts: Annotated[Mapping[MoveKey, Fact], MOVES] = field(default_factory=dict)
    shown: Annotated[Mapping[MoveKey, Stuck], MOVES] = field(default_factory=dict)
    """Moves that are stuck."""


def evaluate_stuck(inputs: MoveProgress, memory: StuckMemory) -> StuckMemory:
    """Find the moves that are stuck, and why. `memory` has only flows that still have the same moves."""
    flows, facts = {}, {}
    found: dict[MoveKey, Cause] = {}
    replicas, clock = inputs.indexed.snapshot.replicas, inputs.indexed.snapshot.clock
    # An adding replica of the same partition is still missing from the ISR.
    waiting = (inputs.indexed.of_partitions(replicas.adding & ~replicas.in_isr) > 0)[replicas.partition]
    disks = Disks(inputs.indexed, inputs.keys, inputs.remaining)
    for key, rows in inputs.groups.items():
        of_flow = _facts(inputs, key)
        flows[key], stalled = _together(inputs, rows, memory.flows.get(key, Together()), of_flow.aux_state_errors)
        of_flow = replace(of_flow, aux_state_errors=_gained(of_flow.aux_state_errors, flows[key].errors))
        for row in rows:
            move = inputs.keys[row]
            of_replica = _facts_of(inputs, key, row, of_flow, disks, complete=not waiting[row])
            causes, (before, polls) = holding(of_replica), memory.facts.get(move, Fact())
            # A fact needs no waiting, whatever else holds: a small disk must not hide a target that is down.
            fact = next((cause for cause in causes if cause in FACTS), None)
            polls = polls + 1 if before is fact else 1
            facts[move] = Fact(fact, polls)
            # A replica in sync only waits for the others of its partition.
            done = replicas.in_isr[row] and waiting[row]
            if not done and _stands_still(inputs, key, row, stalled, len(rows)):
                cause = _kept(memory.shown.get(move), causes[0], of_flow.flow_never_ends)
                if not _may_be_burst(inputs, key, row, flows[key].minimum, cause):
                    found[move] = cause
            elif fact is not None and polls >= AGREEING_POLLS:
                found[move] = fact
    shown = {
        move: Stuck(cause, clock if cause in EXPLAINED or move not in memory.shown else memory.shown[move].since)
        for move, cause in found.items()
    }
    return StuckMemory(flows, facts, shown)


def _together(inputs: MoveProgress, rows: list[int], before: Together, errors: float) -> tuple[Together, Stall | None]:
    left = sum_known([inputs.remaining[row] for row in rows])
    minimum, stalled = stall(before.minimum, inputs.indexed.snapshot.clock, left)
    advanced = stalled is not None and stalled.samples == 0
    counted = errors if advanced or before.errors is None else before.errors
    return Together(minimum, as_known(counted)), stalled


def _gained(errors: float, before: float | None) -> float:
    """Errors since then; a count that fell restarted with its broker, and an unknown one counts as 0."""
    if math.isnan(errors) or before is None:
        return 0.0
    return errors - before if errors >= before else errors


def _kept(before: Stuck | None, cause: Cause, never_ends: bool | None) -> Cause:
    """Keep the throttle as the cause while it is unknown: one poll after a restart no inbound rate is known."""
    was_throttle = before is not None and before.cause is Cause.THROTTLE_BELOW_INBOUND
    unsure = cause is Cause.NO_PROGRESS and never_ends is None
    return Cause.THROTTLE_BELOW_INBOUND if was_throttle and unsure else cause


def _stands_still(inputs: MoveProgress, key: FlowKey, row: int, together: Stall | None, moving: int) -> bool:
    flow = inputs.flows.get(key)
    limit = stall_limit(inputs.parameters.poll_interval, inputs.window(key))
    fetch = inputs.indexed.snapshot.broker_configs.get(key.target, BrokerConfig()).replica_fetch_max_bytes
    headroom = flow.headroom if flow is not None else None
    gains = law.gains_nothing(inputs.measured[key].recent) is False
    alone = single_stall_limit(limit, moving, float(fetch), headroom, inputs.gross(key))
    return is_stuck(together, inputs.stalls[row], limit, alone, settled=inputs.settled(key), gains=gains)


def _may_be_burst(inputs: MoveProgress, key: FlowKey, row: int, together: Minimum | None, cause: Cause) -> bool:
    clock, single, change = inputs.indexed.snapshot.clock, inputs.stalls[row], inputs.changes.get(key)
    if together is None or change is None:
        return False
    seconds = max(clock - together.at, 0.0 if single is None else single.seconds)
    return may_be_burst(cause, seconds, together.at, change.at, inputs.settled_after(key))


def _facts(inputs: MoveProgress, key: FlowKey) -> MoveFacts:
    """Gather the facts that all moves of a flow share; aux state errors are the whole count."""
    target, leader = key.target, key.leader
    snapshot, flow = inputs.indexed.snapshot, inputs.flows.get(key)
    beans = snapshot.broker_beans.get(target)
    values = beans.values if beans is not None else {}
    return MoveFacts(
        target_answers=_answers(inputs, target),
        leader_exists=leader != UNKNOWN,
        leader_answers=leader in {UNKNOWN, NO_LISTENER} or _answers(inputs, leader),
        next_fetch_bytes=float(snapshot.broker_configs.get(target, BrokerConfig()).replica_fetch_max_bytes),
        failed_partitions=values.get("fetcher_failed_partitions_count", 0.0),
        dead_threads=values.get("fetcher_dead_thread_count", 0.0),
        aux_state_errors=values.get("build_remote_log_aux_state_errors_total", math.nan),
        # While its headroom is not known, the throttle is neither the cause nor ruled out.
        flow_never_ends=None if flow is not None and flow.headroom is None else inputs.flow_never_ends(key),
        throttle_may_lose=flow is None or flow.may_lose is not False,
    )


def _facts_of(
    inputs: MoveProgress, key: FlowKey, row: int, of_flow: MoveFacts, disks: Disks, *, complete: bool
) -> MoveFacts:
    """Add the facts of one replica; `complete` when all adding replicas of its partition are in the ISR."""
    in_isr = inputs.indexed.snapshot.replicas.in_isr[row]
    return replace(
        of_flow,
        log_dir_online=not disks.lost(row, settled=inputs.settled(key)),
        usable_bytes=disks.usable(row),
        remaining_bytes=disks.arriving(row),
        throttle_blocked=not in_isr and 0 in inputs.changes[key].limits,
        adding_in_isr=complete,
    )


def _answers(inputs: MoveProgress, broker: int) -> bool:
    known = inputs.indexed.snapshot.brokers.get(broker)
    status = inputs.indexed.snapshot.status.get((Source.OFFSETS, str(broker)))
    return known is not None and known.active and (status is None or status.up)
