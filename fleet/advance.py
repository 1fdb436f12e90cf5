"""Advances a cluster from one moment to the next."""

from dataclasses import dataclass

import numpy as np

from fleet.load import produce
from fleet.moving import Mover
from fleet.replication import elect, expire, follow
from fleet.settings import DAY, chance
from fleet.world import World, add_topic

TOKENS_A_SECOND = 2.0
"""`controller_mutation_rate` of the client that makes topics."""

TOKENS = 22.0
"""Burst of that quota: eleven windows of a second."""


@dataclass(slots=True)
class Clockwork:
    """Advances one cluster: its random numbers and its moves."""

    load: np.random.Generator
    fetching: np.random.Generator
    mover: Mover

    def advance(self, world: World, until: float) -> None:
        """Advance a cluster to a moment, which is not before its current one."""
        _make_topics(world, until)
        _turn_brokers(world, until)
        elect(world, until)
        if until > world.now:
            gained = produce(world, until, self.load)
            follow(world, until, gained, self.fetching)
        self.mover.advance(world, until)
        expire(world)
        world.now = until


def make_clockwork(world: World, mover: Mover) -> Clockwork:
    """Make the object for one cluster."""
    number = world.cluster.number
    return Clockwork(chance(world.settings, number, "load"), chance(world.settings, number, "fetching"), mover)


def refill(tokens: float, rate: float, burst: float, elapsed: float) -> float:
    """Return K of KIP-599 after `elapsed` seconds without a mutation: min(B, K + R x elapsed); at least K."""
    return min(tokens + rate * max(elapsed, 0.0), burst)


def _make_topics(world: World, until: float) -> None:
    """Create the topics that are due, and take their mutations from the client's tokens (KIP-599)."""
    world.tokens = refill(world.tokens, TOKENS_A_SECOND, TOKENS, until - world.now)
    while world.made < len(world.plan.creations):
        creation = world.plan.creations[world.made]
        if world.settings.start + creation.at * DAY > until:
            return
        add_topic(world, creation, until)
        world.tokens -= creation.topic.partitions


def _turn_brokers(world: World, until: float) -> None:
    """Stop and start brokers; counters of a process start at 0."""
    up = np.ones(len(world.up), bool)
    for down in world.downs:
        if down.began <= until < down.ended:
            up[down.broker] = False
        elif world.now < down.ended <= until:
            world.returned_at[down.broker] = down.ended
            for values in world.counted.values():
                values[down.broker] = 0.0
    world.up = up
