"""Loads, ETAs and problems of throttles, and the recommended throttle: all that follows from flows and limits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import as_known, sum_known
from kafka_warden.derive.etas import Load, by_side, derive_sides, eta, flow_eta, side_etas
from kafka_warden.derive.lag import Lag
from kafka_warden.derive.law import Flow, FlowKey, without_flow
from kafka_warden.derive.log_dir_moves import LogDirMove, LogDirMovesMemory, derive_log_dir_moves
from kafka_warden.derive.moves import MovesMemory, measured_nets
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import SideKey, Throttles, floors
from kafka_warden.derive.throttle_problems import ProblemKey, ProblemsMemory, derive_problems
from kafka_warden.model import Floats, Parameters, Side

USE_OF_LIMIT: Final = 0.8
"""Share of a limit that a move uses, rounded down from the measured 0.84: waits cost 5 to 16 %."""


def needed_limit(floor: float, bytes_in: float, remaining: float, deadline: float) -> float:
    """Least limit of one (broker, side) that ends its moves in `deadline` seconds.

    docs/spec/throttles.md#recommended-throttle. Everything that counts against it, in-sync floor, inbound of the
    arriving replicas and what remains spread over the deadline, over 0.8.
    """
    return (floor + bytes_in + remaining * (1.0 / deadline)) * (1.0 / USE_OF_LIMIT)


def least_deadline(floor: float, bytes_in: float, remaining: float, limit: float) -> float:
    """Least deadline in seconds that one (broker, side) meets at a limit: `needed_limit` solved for its deadline.

    `+inf` where floor and inbound alone exceed the usable part of the limit; 0 where nothing remains.
    """
    return eta(remaining, limit * USE_OF_LIMIT - floor - bytes_in)


def recommended_limit(
    needed: Sequence[float], lower_bounds: Sequence[float], upper_bounds: Sequence[float]
) -> float | None:
    """Lowest throttle for all brokers that ends the moves in time, inside KIP-73's bounds; None when none fits.

    None too when nothing moves (`needed` is empty). Bounds are those of the brokers that take part.
    """
    if not needed:
        return None
    limit = max([*needed, *lower_bounds])
    return limit if limit <= min(upper_bounds, default=math.inf) else None


@dataclass(frozen=True, slots=True)
class ThrottlingMemory:
    """State from poll to poll."""

    problems: ProblemsMemory
    log_dirs: LogDirMovesMemory = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Throttling:
    """Bytes per second, seconds."""

    remaining: Annotated[Mapping[FlowKey, float | None], "catch-up traffic to it"]
    """Bytes that the replicas of each flow lack."""
    etas: Mapping[FlowKey, float | None]
    """Seconds until each flow has caught up, by itself."""
    side_etas: Mapping[FlowKey, float]
    """Seconds until everything through the binding side of a flow has caught up, where that is known."""
    sides: Annotated[Mapping[SideKey, Load], "catch-up traffic under its limit"]
    problems: Annotated[Mapping[ProblemKey, float], "problems of its throttle"]
    """Age of every problem that is raised."""
    recommended: Annotated[float | None, "recommended throttle", "bytes/s"]
    log_dir_moves: tuple[LogDirMove, ...]


def derive_throttling(
    indexed: IndexedSnapshot,
    lag: Lag,
    throttles: Throttles,
    flows: Mapping[FlowKey, Flow],
    bytes_in: Floats,
    moves: MovesMemory,
    memory: ThrottlingMemory,
    parameters: Parameters,
) -> tuple[ThrottlingMemory, Throttling]:
    """Evaluate flows by broker and side; `moves` is the memory of the moves as of this poll."""
    measured = measured_nets(indexed, flows, moves)
    sides = derive_sides(indexed, flows, throttles, measured, moves.copy_progress)
    problems_memory, problems = derive_problems(indexed, lag, throttles, sides, memory.problems, parameters)
    log_dirs_memory, log_dir_moves = derive_log_dir_moves(indexed, throttles, bytes_in, memory.log_dirs)
    return ThrottlingMemory(problems_memory, log_dirs_memory), Throttling(
        remaining={key: flow.remaining for key, flow in flows.items()},
        etas={key: flow_eta(flow, measured.get(key)) for key, flow in flows.items()},
        side_etas=side_etas(sides, flows),
        sides=sides,
        problems=problems,
        recommended=_recommended(indexed, throttles, flows, bytes_in, parameters),
        log_dir_moves=log_dir_moves,
    )


def _recommended(
    indexed: IndexedSnapshot,
    throttles: Throttles,
    flows: Mapping[FlowKey, Flow],
    bytes_in: Floats,
    parameters: Parameters,
) -> float | None:
    """Return the lowest limit for all brokers that take part; `None` while a part is unknown, or nothing moves."""
    if not indexed.snapshot.replicas.adding.any() or not throttles.lists_known or without_flow(indexed).size:
        return None
    planned, needed, sides = _planned_floors(indexed, throttles, bytes_in), [], by_side(flows)
    # Throttled or not: the tool lists them all.
    for (broker, side), keys in sides.items():
        left = sum_known([flows[key].remaining for key in keys])
        rate = sum_known([flows[key].bytes_in for key in keys])
        if left is None or rate is None:
            return None
        needed.append(needed_limit(planned[side][broker], rate, left, parameters.moves_deadline))
    index = np.searchsorted(indexed.brokers, sorted({broker for broker, _ in sides}))
    lower = throttles.lower_bound[index].tolist()
    upper = throttles.upper_bound[index].tolist() if throttles.upper_bound is not None else []
    if any(math.isnan(part) for part in (*needed, *lower, *upper)):
        return None
    limit = recommended_limit(needed, lower, upper)
    return None if limit is None else as_known(limit)


def _planned_floors(indexed: IndexedSnapshot, throttles: Throttles, bytes_in: Floats) -> dict[Side, dict[int, float]]:
    """Compute the floors after the tool has listed all moves: old replicas as leaders, adding ones as followers."""
    replicas = indexed.snapshot.replicas
    moving = np.zeros(len(indexed.snapshot.partitions), bool)
    moving[replicas.partition[replicas.adding]] = True
    listed = {
        Side.LEADER: throttles.listed[Side.LEADER] | (moving[replicas.partition] & ~replicas.adding),
        Side.FOLLOWER: throttles.listed[Side.FOLLOWER] | replicas.adding,
    }
    return {side: indexed.by_broker(column) for side, column in floors(indexed, listed, bytes_in).items()}
