"""The plan for a reassignment: throttle, duration, room on brokers, rollback.

A rollback is a move too, and needs its own throttle.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from kafka_warden.arrays import as_known
from kafka_warden.derive import move_totals
from kafka_warden.derive.snapshot_index import index_snapshot
from kafka_warden.derive.throttle import derive_throttles
from kafka_warden.errors import IncompleteError, PlanError
from kafka_warden.formatting import in_percent, in_rate, in_time
from kafka_warden.model import UNKNOWN, Floats, Snapshot
from kafka_warden.planning.during_move import Bounds, ByHand, after_move, by_hand, during_move
from kafka_warden.planning.loads import Choice, Goal, SideLoad, choose, derive_loads, last_to_end
from kafka_warden.planning.moving import MovingPartition, resolve
from kafka_warden.planning.reassignment import Target
from kafka_warden.planning.room import Room, derive_room

MOST_APART: Final = 10.0
"""KIP-73's MoveTime takes all partitions as equally large, and all inbound traffic of the busiest broker as throttled.
If it differs from the prediction, which knows both, by more than this factor, it says nothing about the move: its pole
is at a throttle equal to that inbound rate."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The copies of a move or of a rollback, and their throttle. Bytes and seconds."""

    goal: Goal
    moving: tuple[MovingPartition, ...]
    """The partitions of the file in its order, then those whose move is in progress."""
    loads: tuple[SideLoad, ...]
    """Per broker and side with copies; empty if nothing is copied."""
    bounds: Mapping[int, Bounds]
    """Of the brokers with copies."""
    choice: Choice | None
    """`None` if nothing is copied: no throttle is needed."""
    last: tuple[SideLoad, float] | None
    """The bottleneck, which ends last, and its seconds by the law; `None` if nothing is copied."""
    by_hand: ByHand | None
    """What to set with kafka-configs; `None` if the tool can set the throttle, or none is needed."""

    @property
    def limit(self) -> int | None:
        """The throttle to set; `None` if none is needed or possible."""
        return None if self.choice is None else self.choice.limit

    @property
    def copied(self) -> float:
        """Bytes to copy."""
        return sum((one.remaining for partition in self.moving for one in partition.arriving), 0.0)

    @property
    def copies(self) -> int:
        """Replicas to copy."""
        return sum(len(partition.arriving) for partition in self.moving)

    @property
    def predicted(self) -> float:
        """Predicted seconds, by the law of throttled moves; `+inf` for never."""
        return 0.0 if self.last is None else self.last[1]


def _transfer(snapshot: Snapshot, targets: Sequence[Target], bytes_in: Floats, goal: Goal) -> Transfer:
    moving = resolve(snapshot, targets, bytes_in)
    indexed = index_snapshot(during_move(snapshot, moving))
    found = derive_throttles(indexed, bytes_in, bytes_in, goal.network)
    loads = derive_loads(snapshot, moving, {side: indexed.by_broker(column) for side, column in found.floor.items()})
    lower, upper = (
        {} if column is None else indexed.by_broker(column) for column in (found.lower_bound, found.upper_bound)
    )
    bounds = {
        broker: Bounds(as_known(lower[broker]), as_known(upper.get(broker, math.nan)))
        for broker in sorted({load.broker for load in loads})
    }
    choice = choose(loads, goal, bounds)
    if choice is None:
        return Transfer(goal, moving, loads, bounds, None, None, None)
    last = last_to_end(loads, choice.assumed_limit)
    return Transfer(goal, moving, loads, bounds, choice, last, by_hand(snapshot, moving))


@dataclass(frozen=True, slots=True)
class MovePlan(Transfer):
    """The move, and what it needs beside its throttle."""

    snapshot: Snapshot
    rooms: tuple[Room, ...]
    ratio: float
    """KIP-73's MoveRatio."""
    move_time: float | None
    """KIP-73's MoveTime; `+inf` if the limit is not above the inbound rate, `None` if unknown."""
    rollback: tuple[Target, ...]
    """The current assignment of the partitions of the file."""
    rollback_plan: Transfer | None
    """From the end of the move back to the current assignment; `None` if it cannot be planned."""
    rollback_problem: str
    """Why the rollback has no throttle; empty if it has one or needs none."""

    @property
    def move_time_applies(self) -> bool:
        """Whether MoveTime is unknown, or near enough to the prediction to be shown."""
        return self.move_time is None or self.predicted / MOST_APART <= self.move_time <= MOST_APART * self.predicted

    @property
    def changed(self) -> bool:
        """Whether the file changes the replicas of a partition or their order."""
        return any(p.asked and (p.arriving or p.leaving or p.replicas != p.sources) for p in self.moving)

    @property
    def names_only_dirs(self) -> bool:
        """Whether the file only moves replicas between log directories of a broker: such copies are not planned."""
        return not self.changed and any(p.names_dirs_of_staying for p in self.moving)


def plan_move(
    snapshot: Snapshot, targets: Sequence[Target], bytes_in: Floats, goal: Goal, most_partitions: float = math.inf
) -> MovePlan:
    """Plan a reassignment. `most_partitions`: KIP-578's limit of each broker.

    `bytes_in` (P,): assumed inbound rate of each partition in bytes per second, NaN if unknown.

    Raises:
        PlanError: an entry names something that does not exist.
        IncompleteError: a number that the plan needs is unknown.
    """
    move = _transfer(snapshot, targets, bytes_in, goal)
    moving, choice = move.moving, move.choice
    current = tuple(Target(p.topic, p.number, p.sources, (None,) * len(p.sources)) for p in moving if p.asked)
    back, problem = _rollback(snapshot, moving, current, bytes_in, goal)
    ratio = move_totals.move_ratio(sum(bool(partition.arriving) for partition in moving), len(snapshot.partitions))
    return MovePlan(
        **{field.name: getattr(move, field.name) for field in fields(move)},
        snapshot=snapshot,
        rooms=derive_room(snapshot, moving, most_partitions, move.bounds),
        ratio=ratio,
        move_time=None if choice is None else _move_time(snapshot, bytes_in, ratio, choice.assumed_limit),
        rollback=current,
        rollback_plan=back,
        rollback_problem=problem,
    )


def _rollback(
    snapshot: Snapshot, moving: Sequence[MovingPartition], current: Sequence[Target], bytes_in: Floats, goal: Goal
) -> tuple[Transfer | None, str]:
    """Plan the move from the end of `moving` back to the `current` assignment, and return why it has no throttle."""
    named = [replace(target, place=f"{target.topic}-{target.partition}") for target in current]
    try:
        back = _transfer(after_move(snapshot, moving), named, bytes_in, goal)
    except (IncompleteError, PlanError) as failure:
        return None, str(failure)
    return back, "" if back.choice is None or back.limit is not None else contradiction(back.choice, goal)


def contradiction(choice: Choice, goal: Goal) -> str:
    """Return why there is no throttle for the deadline and the network, and which deadline is possible."""
    cap = f"{in_percent(goal.share)} of the network" if goal.share is not None else "the network"
    least = f"a deadline of {in_time(choice.least_deadline)} or more is possible"
    return (
        f"within {in_time(goal.deadline)} it needs {in_rate(choice.needed)}, and {cap} is {in_rate(choice.most)}; "
        + ("the inbound rate uses all of it" if math.isinf(choice.least_deadline) else least)
    )


def _move_time(snapshot: Snapshot, bytes_in: Floats, ratio: float, limit: float) -> float | None:
    """KIP-73's MoveTime, `None` if a value for it is unknown."""
    indexed = index_snapshot(snapshot)
    led = indexed.led_by != UNKNOWN
    return move_totals.move_time_of_cluster(
        ratio, limit, snapshot.replicas.size, indexed.led_by[led], bytes_in[led], len(snapshot.brokers)
    )
