"""Pairs of brokers that moves go between, and since when the throttle on each has been as it is (judgement.md 4)."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from exporter.derive.floors import BrokerSide
from exporter.derive.flows import Pair
from exporter.derive.frame import Frame
from exporter.derive.throttles import Throttles
from exporter.model import UNKNOWN, Side

MoveKey = tuple[bytes, str, int, int]
"""Topic id, topic name, partition, adding broker: a topic made anew is another move."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a slope depends on, and since when it has been so in monotonic seconds."""

    limits: tuple[float | None, float | None]
    """Of the leader and of the target."""
    moves: Mapping[MoveKey, tuple[bool, bool, bool]]
    """Each move: named by the leader's list, by the follower's, in the ISR."""
    at: float


def move_key(frame: Frame, row: int) -> MoveKey:
    """Tell what a replica that is being added is, whatever its row."""
    snapshot = frame.snapshot
    partition = snapshot.replicas.partition[row]
    topic = int(snapshot.partitions.topic[partition])
    number, broker = int(snapshot.partitions.number[partition]), int(snapshot.replicas.broker[row])
    return snapshot.topic_ids[topic], snapshot.topics[topic], number, broker


def group_by_pair(frame: Frame, rows: Sequence[int]) -> dict[Pair, list[int]]:
    """Group replicas by the broker that they are on and the one that leads them, `UNKNOWN` where none does."""
    groups: dict[Pair, list[int]] = {}
    for row in rows:
        led_by = int(frame.led_by[frame.snapshot.replicas.partition[row]])
        leader = int(frame.brokers[led_by]) if led_by != UNKNOWN else UNKNOWN
        groups.setdefault((int(frame.snapshot.replicas.broker[row]), leader), []).append(row)
    return groups


def derive_changes(
    frame: Frame,
    throttles: Throttles,
    groups: Mapping[Pair, list[int]],
    keys: Mapping[int, MoveKey],
    before: Mapping[Pair, Change],
    floors: Collection[BrokerSide],
) -> dict[Pair, Change]:
    """Tell since when limits, lists and ISR of each pair, and what else its limits let through, have been as they are.

    Moves that come or end, and replicas that join the ISR as they end, do not change the others. `floors` are those
    that changed with this poll.
    """
    return {
        pair: _change(frame, throttles, pair, rows, keys, before.get(pair), floors) for pair, rows in groups.items()
    }


def _change(
    frame: Frame,
    throttles: Throttles,
    pair: Pair,
    rows: list[int],
    keys: Mapping[int, MoveKey],
    before: Change | None,
    floors: Collection[BrokerSide],
) -> Change:
    target, leader = pair
    clock = frame.snapshot.clock
    limits = (throttles.limit(leader, Side.LEADER), throttles.limit(target, Side.FOLLOWER))
    now = {keys[row]: _state(frame, throttles, row) for row in rows}
    sides = ((leader, Side.LEADER), (target, Side.FOLLOWER))
    same = (
        before is not None
        and before.limits == limits
        and all(_is_same(before.moves.get(key, state), state) for key, state in now.items())
        # The floor of a limit that is not set holds nothing back.
        and not any(side in floors and limit != math.inf for side, limit in zip(sides, limits, strict=True))
    )
    return Change(limits, now, min(before.at, clock) if same and before is not None else clock)


def _state(frame: Frame, throttles: Throttles, row: int) -> tuple[bool, bool, bool]:
    replicas = frame.snapshot.replicas
    # The leader's list names those that are copied from.
    leader_row = int(frame.snapshot.partitions.leader_row[replicas.partition[row]])
    by_leader = leader_row != UNKNOWN and bool(throttles.listed[Side.LEADER][leader_row])
    return by_leader, bool(throttles.listed[Side.FOLLOWER][row]), bool(replicas.in_isr[row])


def _is_same(before: tuple[bool, bool, bool], now: tuple[bool, bool, bool]) -> bool:
    return before[:2] == now[:2] and now[2] >= before[2]
