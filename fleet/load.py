"""What is produced: days and weeks, slow noise, growth and bursts."""

import math

import numpy as np

from exporter.model import Floats
from fleet.settings import DAY, HOUR, WEEK
from fleet.topology import per_partition
from fleet.world import World

NOON = 14 * HOUR
"""When a day is at its height, UTC."""

QUIET_WEEKEND = 0.65
"""What is produced on a Saturday or Sunday, of what is on other days."""

SPREAD = 0.12
"""Standard deviation of the noise's logarithm."""

MEMORY = 20 * 60.0
"""Seconds after which the noise has forgotten most of what it was."""


def produce(world: World, until: float, luck: np.random.Generator) -> Floats:
    """Append what is produced until then to every log that has a leader; return (P,) records that were appended."""
    seconds = until - world.now
    drift = math.exp(-seconds / MEMORY)
    shock = luck.standard_normal(len(world.topics)) * SPREAD * math.sqrt(1 - drift * drift)
    world.noise = world.noise * drift + shock[world.topic]
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
    day = 1.0 + swing * np.cos(2 * math.pi * (moment - phase - NOON) / DAY)
    # 1970-01-01 was a Thursday: Saturday begins two days later.
    weekend = (moment % WEEK) // DAY in (2.0, 3.0)
    week = QUIET_WEEKEND if weekend else (7 - 2 * QUIET_WEEKEND) / 5
    shape: Floats = per_partition(world.topics, world.topic, "bytes_in") * day * week * world.plan.factor(days)
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
