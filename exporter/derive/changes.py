"""Pairs of brokers that moves go between, and since when the throttle on each has been as it is (judgement.md 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
) -> dict[Pair, Change]:
    """Tell since when limits, lists and ISR of each pair have been as they are.

    Moves that come or end, and replicas that join the ISR as they end, do not change the others.
    """
    return {pair: _change(frame, throttles, pair, rows, keys, before.get(pair)) for pair, rows in groups.items()}


def _change(
    frame: Frame,
    throttles: Throttles,
    pair: Pair,
    rows: list[int],
    keys: Mapping[int, MoveKey],
    before: Change | None,
) -> Change:
    target, leader = pair
    in_isr, clock = frame.snapshot.replicas.in_isr, frame.snapshot.clock
    by_leader, by_follower = throttles.listed[Side.LEADER], throttles.listed[Side.FOLLOWER]
    limits = (throttles.limit(leader, Side.LEADER), throttles.limit(target, Side.FOLLOWER))
    now = {keys[row]: (bool(by_leader[row]), bool(by_follower[row]), bool(in_isr[row])) for row in rows}
    same = (
        before is not None
        and before.limits == limits
        and all(_is_same(before.moves.get(key, state), state) for key, state in now.items())
    )
    return Change(limits, now, min(before.at, clock) if same and before is not None else clock)


def _is_same(before: tuple[bool, bool, bool], now: tuple[bool, bool, bool]) -> bool:
    return before[:2] == now[:2] and now[2] >= before[2]
