"""Which moves are stuck, and why: facts gathered from one snapshot, and the clocks that run from poll to poll."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from exporter.derive.changes import Change, MoveKey
from exporter.derive.flows import Flow, Pair, flow_net
from exporter.derive.frame import Frame
from exporter.derive.gains import Measured
from exporter.derive.throttles import Throttles
from exporter.formulas import law, moves, stuck
from exporter.formulas.folds import Minimum, Stall, stall
from exporter.formulas.ops import NUMBERS
from exporter.model import UNKNOWN, Bools, BrokerConfig, LogDir, Parameters, Side, Source

FACTS = frozenset(
    {
        stuck.Cause.TARGET_DOWN,
        stuck.Cause.LEADER_UNRESPONSIVE,
        stuck.Cause.NO_LEADER,
        stuck.Cause.LOG_DIR_OFFLINE,
        stuck.Cause.THROTTLE_BLOCKED,
    },
)
"""Causes that need no waiting for a lack of progress: two polls that agree are enough."""

AGREEING_POLLS = 2


@dataclass(frozen=True, slots=True)
class Scene:
    """All that judging needs of one poll."""

    frame: Frame
    flows: Mapping[Pair, Flow]
    throttles: Throttles
    remaining: Mapping[int, float | None]
    """Row of each adding replica to the bytes that it lacks."""
    stalls: Mapping[int, Stall | None]
    groups: Mapping[Pair, list[int]]
    """Rows of the adding replicas by pair of brokers."""
    changes: Mapping[Pair, Change]
    measured: Mapping[Pair, Measured]
    keys: Mapping[int, MoveKey]
    """Row of each adding replica to what it is, which outlives the row."""
    parameters: Parameters
    _etas: dict[Pair, float | None] = field(default_factory=dict)

    def settled(self, pair: Pair) -> bool:
        """Tell whether the last change of limit, list, leader or ISR is far enough back for a slope to be believed."""
        flow = self.flows.get(pair)
        window = flow.window if flow is not None else law.DEFAULT_WINDOW
        since = self.frame.snapshot.clock - self.changes[pair].at if pair in self.changes else math.inf
        return stuck.is_settled(since, self.parameters.poll_interval, window)

    def verdict(self, pair: Pair) -> law.Verdict:
        """Tell whether a flow ever ends."""
        flow = self.flows.get(pair)
        if flow is None:
            return law.Verdict.UNKNOWN
        rate, seconds = self.measured.get(pair, Measured()).recent or (None, 0.0)
        return law.verdict(flow.headroom, flow.burst, flow.bytes_in, rate, seconds, flow.window)

    def never(self, pair: Pair, remaining: float | None) -> bool | None:
        """Tell whether a replica never catches up; `None` when that cannot be said."""
        if remaining == 0:
            return False
        verdict = self.verdict(pair)
        return None if verdict is law.Verdict.UNKNOWN else verdict is law.Verdict.NEVER

    def flow_eta(self, pair: Pair) -> float | None:
        """Seconds until a whole flow has caught up, `None` when that cannot be said."""
        if pair not in self._etas:
            self._etas[pair] = self._flow_eta(pair)
        return self._etas[pair]

    def _flow_eta(self, pair: Pair) -> float | None:
        flow = self.flows[pair]
        parts = [self.remaining.get(row) for row in flow.rows.tolist()]
        total = sum(part for part in parts if part is not None)
        if None in parts:
            return None
        net = flow_net(flow, self.measured.get(pair, Measured()).steady)
        return None if net is None else moves.eta(NUMBERS, total, net)


@dataclass(frozen=True, slots=True)
class StuckMemory:
    """What is remembered from poll to poll."""

    pairs: Mapping[Pair, tuple[frozenset[MoveKey], Minimum | None]] = field(default_factory=dict)
    """Pair of brokers to the moves that were summed, and the least sum so far."""
    facts: Mapping[MoveKey, tuple[stuck.Cause, int]] = field(default_factory=dict)
    """Move to the first cause that holds, and in how many polls in a row it was the same."""


def judge_stuck(scene: Scene, memory: StuckMemory) -> tuple[StuckMemory, dict[int, stuck.Cause]]:
    """Judge every adding replica: its row to the cause, if it is stuck."""
    clock = scene.frame.snapshot.clock
    pairs, facts = {}, {}
    found: dict[int, stuck.Cause] = {}
    arriving, waiting = _arriving(scene), _waiting(scene)
    for pair, rows in scene.groups.items():
        of_pair = _facts(scene, pair, arriving.get(pair[0], 0.0))
        summed = frozenset(scene.keys[row] for row in rows)
        before = memory.pairs.get(pair)
        minimum = before[1] if before is not None and before[0] == summed else None
        minimum, stalled = stall(minimum, clock, _sum(scene, rows))
        pairs[pair] = (summed, minimum)
        for row in rows:
            last = memory.facts.get(scene.keys[row])
            cause = _kept(last, stuck.cause(replace(of_pair, adding_in_isr=not waiting[row])), of_pair.verdict)
            seen = facts[scene.keys[row]] = _agree(last, cause)
            if _is_fact(seen) or _stands_still(scene, pair, row, stalled, len(rows)):
                found[row] = cause
    return StuckMemory(pairs, facts), found


def _arriving(scene: Scene) -> dict[int, float]:
    """Bytes that each broker still has to take in."""
    brokers = scene.frame.snapshot.replicas.broker
    sums: dict[int, float] = {}
    for row, left in scene.remaining.items():
        sums[int(brokers[row])] = sums.get(int(brokers[row]), 0.0) + (left or 0.0)
    return sums


def _waiting(scene: Scene) -> Bools:
    """(R,) whether an adding replica of the same partition is still missing from the ISR."""
    replicas, partitions = scene.frame.snapshot.replicas, len(scene.frame.snapshot.partitions)
    missing = np.bincount(replicas.partition[replicas.adding & ~replicas.in_isr], minlength=partitions) > 0
    waiting: Bools = missing[replicas.partition]
    return waiting


def _sum(scene: Scene, rows: list[int]) -> float | None:
    parts = [scene.remaining[row] for row in rows]
    return None if None in parts else sum(part for part in parts if part is not None)


def _kept(before: tuple[stuck.Cause, int] | None, cause: stuck.Cause, verdict: law.Verdict) -> stuck.Cause:
    """Keep the throttle as the cause while nobody can tell: one poll after a restart no inbound rate is known."""
    was_throttle = before is not None and before[0] is stuck.Cause.THROTTLE_BELOW_INBOUND
    unsure = cause is stuck.Cause.NO_PROGRESS and verdict is law.Verdict.UNKNOWN
    return stuck.Cause.THROTTLE_BELOW_INBOUND if was_throttle and unsure else cause


def _agree(before: tuple[stuck.Cause, int] | None, cause: stuck.Cause) -> tuple[stuck.Cause, int]:
    return (cause, before[1] + 1) if before is not None and before[0] is cause else (cause, 1)


def _is_fact(seen: tuple[stuck.Cause, int]) -> bool:
    return seen[0] in FACTS and seen[1] >= AGREEING_POLLS


def _stands_still(scene: Scene, pair: Pair, row: int, together: Stall | None, moving: int) -> bool:
    flow = scene.flows.get(pair)
    window = flow.window if flow is not None else law.DEFAULT_WINDOW
    limit = stuck.stall_limit(scene.parameters.poll_interval, window)
    fetch = scene.frame.snapshot.broker_configs.get(pair[0], BrokerConfig()).replica_fetch_max_bytes
    alone = stuck.single_stall_limit(limit, moving, float(fetch), flow.headroom if flow is not None else None)
    return stuck.is_stuck(together, scene.stalls[row], limit, alone, settled=scene.settled(pair))


def _facts(scene: Scene, pair: Pair, arriving: float) -> stuck.MoveFacts:
    """Gather what all moves of a pair of brokers have in common."""
    target, leader = pair
    snapshot, flow = scene.frame.snapshot, scene.flows.get(pair)
    beans = snapshot.broker_beans.get(target)
    values = beans.values if beans is not None else {}
    known = flow is not None and flow.headroom is not None and flow.bytes_in is not None
    return stuck.MoveFacts(
        target_answers=_answers(scene, target),
        leader_exists=leader != UNKNOWN,
        leader_answers=leader == UNKNOWN or _answers(scene, leader),
        log_dir_online=all(directory.online for directory in _directories(scene, target)),
        usable_bytes=_usable(_directories(scene, target)),
        next_fetch_bytes=float(snapshot.broker_configs.get(target, BrokerConfig()).replica_fetch_max_bytes),
        remaining_bytes=arriving,
        failed_partitions=values.get("fetcher_failed_partitions_count", 0.0),
        dead_threads=values.get("fetcher_dead_thread_count", 0.0),
        leader_limit=_binding(scene, leader, Side.LEADER, listed=flow is not None and flow.leader_listed),
        follower_limit=_binding(scene, target, Side.FOLLOWER, listed=flow is not None and flow.follower_listed),
        verdict=scene.verdict(pair),
        throttle_may_lose=not known or _may_lose(flow),
    )


def _may_lose(flow: Flow | None) -> bool:
    if flow is None or flow.headroom is None or flow.bytes_in is None:
        return True
    return law.may_lose(flow.headroom, flow.burst, flow.bytes_in, flow.window)


def _answers(scene: Scene, broker: int) -> bool:
    known = scene.frame.snapshot.brokers.get(broker)
    status = scene.frame.snapshot.status.get((Source.OFFSETS, str(broker)))
    return known is not None and not known.gone and not known.fenced and (status is None or status.up)


def _directories(scene: Scene, broker: int) -> list[LogDir]:
    return [directory for directory in scene.frame.snapshot.log_dirs if directory.broker == broker]


def _usable(directories: list[LogDir]) -> float | None:
    """Return the bytes left in the roomiest directory: which one a new replica goes to is the broker's choice."""
    usable = [directory.usable_bytes for directory in directories if directory.online]
    return None if not usable or UNKNOWN in usable else float(max(usable))


def _binding(scene: Scene, broker: int, side: Side, *, listed: bool) -> float:
    limit = scene.throttles.limit(broker, side) if listed else None
    return math.inf if limit is None else limit
