"""The throttle that a move needs, and how its partitions share the copied bytes."""

from typing import Final

import numpy as np

from fleet.world import World
from kafka_warden.model import Floats, Longs

WAITS: Final = 0.8
"""Usable share of a limit by the law, with a margin: docs/spec/throttles.md#recommended-throttle, too."""


def floors(world: World, rows: Longs) -> Floats:
    """(B + 1,) rate at which in-sync followers of some partitions fetch from each broker, bytes per second."""
    found = np.zeros(len(world.up))
    np.add.at(found, world.leaders()[rows], world.rate[rows] * (world.isr[rows].sum(axis=1) - 1))
    return found


def enough(world: World, rows: Longs, left: float, seconds: float) -> float:
    """Return the limit that copies some bytes of some partitions in a time, rounded to kB/s."""
    need = floors(world, rows).max() + (left / seconds + world.rate[rows].sum()) / WAITS
    return float(round(need, -3))


def spread(world: World, rows: Longs, budget: float) -> float:
    """Distribute bytes to partitions; the rest of one goes to the others. Returns the bytes of each."""
    slot, record = world.broker.shape[1] - 1, world.record[rows]
    lacks = np.maximum(world.end[rows] - world.at[rows, slot], 0.0) * record
    given = np.zeros(len(rows))
    order = np.argsort(lacks, kind="stable")
    for position, index in enumerate(order.tolist()):
        given[index] = min(lacks[index], budget / (len(rows) - position))
        budget -= given[index]
    world.at[rows, slot] = np.minimum(world.at[rows, slot] + np.floor(given / record), world.end[rows])
    return float(given.sum())
