"""The rollback plan: it is a move too, and needs its own throttle."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kafka_warden.errors import IncompleteError, PlanError
from kafka_warden.formatting import in_rate, in_time
from kafka_warden.model import Floats, Snapshot
from kafka_warden.planning.by_hand import ByHand, by_hand
from kafka_warden.planning.choice import Choice, Goal, choose
from kafka_warden.planning.during_move import after_move, during_move
from kafka_warden.planning.loads import derive_loads, last_to_end
from kafka_warden.planning.moving import Moving, resolve
from kafka_warden.planning.reassignment import Target


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """From the end of the move back to the current assignment. Bytes and seconds; `None` if it cannot be planned."""

    replicas: int | None
    """To copy."""
    bytes: float | None
    limit: int | None
    """The throttle to set; also `None` if nothing is copied or no throttle meets the goal."""
    predicted: float | None
    """By the law of throttled moves; `+inf` for never."""
    why: str = ""
    """Why there is no throttle; empty if there is one or none is needed."""
    by_hand: ByHand | None = None
    """What to set with kafka-configs; `None` if the tool can set the throttle, or none is needed."""


def plan_rollback(
    snapshot: Snapshot, moving: Sequence[Moving], current: Sequence[Target], bytes_in: Floats, goal: Goal
) -> RollbackPlan:
    """Plan the move from the end of `moving` back to the `current` assignment, with the same goal.

    `bytes_in`: (P,) bytes per second, NaN if unknown.
    """
    end = after_move(snapshot, moving)
    named = [replace(target, place=f"{target.topic}-{target.partition}") for target in current]
    try:
        returning = resolve(end, named, bytes_in)
        planned = during_move(end, returning, bytes_in)
        loads = derive_loads(end, returning, planned)
    except (IncompleteError, PlanError) as failure:
        return RollbackPlan(None, None, None, None, str(failure))
    choice = choose(loads, goal, planned.bounds({load.broker for load in loads}, goal.network))
    last = None if choice is None else last_to_end(loads, choice.assumed_limit)
    return RollbackPlan(
        replicas=sum(len(p.arriving) for p in returning),
        bytes=sum((one.remaining for p in returning for one in p.arriving), 0.0),
        limit=None if choice is None else choice.limit,
        predicted=0.0 if last is None else last[1],
        why="" if choice is None or choice.limit is not None else _contradiction(choice, goal),
        by_hand=None if choice is None else by_hand(end, returning),
    )


def _contradiction(choice: Choice, goal: Goal) -> str:
    least = f"a deadline of {in_time(choice.least_deadline)} or more is possible"
    return (
        f"within {in_time(goal.deadline)} it needs {in_rate(choice.needed)}, and {in_rate(choice.most)} are allowed; "
        + ("no deadline is possible" if math.isinf(choice.least_deadline) else least)
    )
