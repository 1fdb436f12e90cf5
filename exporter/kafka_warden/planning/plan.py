"""A reassignment, planned: which throttle, how long, whether it fits, and the rollback."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafka_warden.formulas import moves
from kafka_warden.formulas.ops import NUMBERS
from kafka_warden.model import UNKNOWN, Floats, Snapshot
from kafka_warden.planning.bounds import Bounds, choose_within, derive_bounds
from kafka_warden.planning.choice import Choice, Goal
from kafka_warden.planning.during_move import during_move
from kafka_warden.planning.loads import Load, derive_loads, last_to_end
from kafka_warden.planning.moving import Moving, resolve
from kafka_warden.planning.reassignment import Target
from kafka_warden.planning.rollback import RollbackPlan, plan_rollback
from kafka_warden.planning.room import Room, derive_room


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Bytes and seconds."""

    snapshot: Snapshot
    goal: Goal
    moving: tuple[Moving, ...]
    """The partitions of the file in its order, then those that move already."""
    loads: tuple[Load, ...]
    """By broker and side that copies go through; empty where nothing is copied."""
    choice: Choice | None
    """`None` where nothing is copied: then no throttle is needed."""
    rooms: tuple[Room, ...]
    bounds: dict[int, Bounds]
    """Of the brokers that copies go through."""
    ratio: float
    """KIP-73's MoveRatio."""
    move_time: float | None
    """KIP-73's MoveTime; `+inf` where the limit is not above inbound, `None` where it cannot be told."""
    last: tuple[Load, float] | None
    """The broker and side that ends last and when, by the law; `None` where nothing is copied."""
    rollback_plan: RollbackPlan

    @property
    def limit(self) -> int | None:
        """The throttle to set, `None` where none is needed or none will do."""
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
        """Seconds that it takes by the law of throttled moves; `+inf` for never."""
        return 0.0 if self.last is None else self.last[1]

    @property
    def changed(self) -> bool:
        """Whether the file asks for replicas, or an order of them, that are not so already."""
        return any(p.asked and (p.arriving or p.leaving or p.replicas != p.sources) for p in self.moving)

    @property
    def names_only_dirs(self) -> bool:
        """Whether log directories of replicas that stay are all that the file asks for: such copies are not planned."""
        return not self.changed and any(p.names_dirs_of_staying for p in self.moving)

    @property
    def additional(self) -> bool:
        """Whether something moves already: the tool then wants `--additional`."""
        return any(partition.under_way for partition in self.moving)

    @property
    def rollback(self) -> tuple[Target, ...]:
        """Today's assignment of the partitions of the file."""
        return _today(self.moving)


def plan_move(
    snapshot: Snapshot, targets: Sequence[Target], bytes_in: Floats, goal: Goal, most_partitions: float = math.inf
) -> MovePlan:
    """Plan a reassignment.

    Args:
        snapshot: the cluster as it is.
        targets: what the file asks for.
        bytes_in: (P,) bytes per second that each partition is assumed to be sent while it moves, NaN where unknown.
        goal: until when, and at what cost.
        most_partitions: KIP-578's limit of each broker.

    Raises:
        ReassignmentError: an entry names what the cluster does not have.
        IncompleteError: a number that the plan stands on is not known.
    """
    moving = resolve(snapshot, targets, bytes_in)
    planned = during_move(snapshot, moving, bytes_in)
    loads = derive_loads(snapshot, moving, planned)
    bounds = derive_bounds(planned, loads, goal.network)
    choice = choose_within(loads, goal, bounds)
    copying = sum(bool(partition.arriving) for partition in moving)
    ratio = moves.move_ratio(NUMBERS, float(copying), float(len(snapshot.partitions)))
    return MovePlan(
        snapshot=snapshot,
        goal=goal,
        moving=moving,
        loads=loads,
        choice=choice,
        rooms=derive_room(snapshot, moving, most_partitions),
        bounds=bounds,
        ratio=ratio,
        move_time=None if choice is None else _move_time(snapshot, bytes_in, ratio, choice.judged_at),
        last=None if choice is None else last_to_end(loads, choice.judged_at),
        rollback_plan=plan_rollback(snapshot, moving, _today(moving), bytes_in, goal),
    )


def _today(moving: Sequence[Moving]) -> tuple[Target, ...]:
    return tuple(Target(p.topic, p.number, p.sources, (None,) * len(p.sources)) for p in moving if p.asked)


def _move_time(snapshot: Snapshot, bytes_in: Floats, ratio: float, limit: float) -> float | None:
    """KIP-73's MoveTime, where all that it needs is known."""
    partitions = snapshot.partitions
    led = partitions.leader_row != UNKNOWN
    if not led.any():
        return None
    _, led_by = np.unique(partitions.leader[led], return_inverse=True)
    return moves.move_time_of_cluster(
        ratio, limit, snapshot.replicas.size, led_by, bytes_in[led], len(snapshot.brokers)
    )
