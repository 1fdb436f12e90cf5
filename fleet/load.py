"""The load: daily and weekly cycles, slow noise, growth and bursts."""

import numpy as np

from fleet.cycles import cycle, drifted
from fleet.settings import DAY
from fleet.topology import per_partition
from fleet.world import World
from kafka_warden.model import Floats


def produce(world: World, until: float, luck: np.random.Generator) -> Floats:
    """Append the records until then to every log that has a leader; return their number (P,)."""
    seconds = until - world.now
    world.noise = drifted(world.noise, seconds, luck.standard_normal(len(world.topics))[world.topic])
    record = world.record
    world.rate = usual(world, until) * np.exp(world.noise)
    burst = _bursts(world, until)
    mean = world.rate + _bursts_between(world, world.now, until) * record
    world.rate = world.rate + burst * record
    led = world.lead >= 0
    gained = np.where(led, np.floor(mean * seconds / record), 0.0)
    world.rate = np.where(led, world.rate, 0.0)
    world.end = world.end + gained
    return gained


def usual(world: World, moment: float) -> Floats:
    """(P,) bytes a second at this time of the day and week, without noise; the mean of a week is `Topic.bytes_in`."""
    days = (moment - world.settings.start) / DAY
    phase = per_partition(world.topics, world.topic, "phase")
    swing = per_partition(world.topics, world.topic, "swing")
    mean = per_partition(world.topics, world.topic, "bytes_in") * world.plan.factor(days)
    shape: Floats = mean * cycle(np.array([moment]), phase, swing)
    return shape


def _bursts(world: World, moment: float) -> Floats:
    """(P,) records a second of bursts at a moment."""
    found = np.zeros(world.partitions)
    for burst in world.bursts:
        if burst.began <= moment < burst.ended:
            found[world.rows(burst.topic)] += burst.records
    return found


def _bursts_between(world: World, since: float, until: float) -> Floats:
    """(P,) records a second of bursts, the mean of a time."""
    found = np.zeros(world.partitions)
    for burst in world.bursts:
        shared = min(burst.ended, until) - max(burst.began, since)
        if shared > 0:
            found[world.rows(burst.topic)] += burst.records * shared / (until - since)
    return found
