"""Flows of moves, and the last change of the throttle on each (docs/spec/throttle-law.md#after-a-change)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from kafka_warden.derive.flows.keys import FlowKey
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.floor_changes import BrokerSide
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.model import SIDES, UNLIMITED

MoveKey = tuple[bytes, str, int, int]
"""Topic id, topic name, partition, broker of the replica: a topic that was created again is another move."""


State = tuple[bool, bool, bool]
"""Of one move: the leader's list holds it back, the follower's does, it is in the ISR."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a slope depends on, and when it last changed, in monotonic seconds."""

    limits: tuple[float | None, float | None]
    """Of the leader and of the target, `+inf` where it does not hold the flow back; `None` is unknown."""
    moves: Mapping[MoveKey, State]
    at: float


def move_key(indexed: IndexedSnapshot, row: int) -> MoveKey:
    """Return the key of the move that waits for a replica."""
    snapshot = indexed.snapshot
    partition = snapshot.replicas.partition[row]
    topic = int(snapshot.partitions.topic[partition])
    number, broker = int(snapshot.partitions.number[partition]), int(snapshot.replicas.broker[row])
    return snapshot.topic_ids[topic], snapshot.topics[topic], number, broker


def derive_changes(
    indexed: IndexedSnapshot,
    throttles: Throttles,
    groups: Mapping[FlowKey, list[int]],
    keys: Mapping[int, MoveKey],
    before: Mapping[FlowKey, Change],
    floors: Collection[BrokerSide],
) -> dict[FlowKey, Change]:
    """Return the last change of limits, lists, ISR and floors of each flow.

    Moves that come or end, and replicas that join the ISR as they end, do not change the others; a move that the lists
    put into another flow changes both. `floors` are those that changed with this poll.
    """
    in_isr = indexed.snapshot.replicas.in_isr
    now = {
        flow: {keys[row]: (flow.leader_listed, flow.follower_listed, bool(in_isr[row])) for row in rows}
        for flow, rows in groups.items()
    }
    altered = _altered(before, now)
    clock = indexed.snapshot.clock
    return {
        flow: _change(
            flow, Change(_limits(throttles, flow), moves, clock), before.get(flow), floors, altered=flow in altered
        )
        for flow, moves in now.items()
    }


def _limits(throttles: Throttles, flow: FlowKey) -> tuple[float | None, float | None]:
    leader, target = (throttles.limit(flow.broker(side), side) if flow.listed(side) else UNLIMITED for side in SIDES)
    return leader, target


def _altered(before: Mapping[FlowKey, Change], now: Mapping[FlowKey, Mapping[MoveKey, State]]) -> set[FlowKey]:
    """Find flows of which a move left the ISR, or into or out of which the lists put one."""
    known = {move: (flow, state) for flow, change in before.items() for move, state in change.moves.items()}
    altered = set()
    for flow, moves in now.items():
        for move, state in moves.items():
            old_flow, old_state = known.get(move, (flow, state))
            if state[:2] != old_state[:2] or state[2] < old_state[2]:
                altered |= {flow, old_flow}
    return altered


def _change(
    flow: FlowKey, now: Change, before: Change | None, floors: Collection[BrokerSide], *, altered: bool
) -> Change:
    same = (
        before is not None
        and before.limits == now.limits
        and not altered
        # The floor of a limit that is not set holds nothing back.
        and not any(
            (flow.broker(side), side) in floors and limit != UNLIMITED
            for side, limit in zip(SIDES, now.limits, strict=True)
        )
    )
    return replace(now, at=min(before.at, now.at)) if same and before is not None else now
