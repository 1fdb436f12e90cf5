"""One cluster, poll by poll."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fleet.advance import make_clockwork
from fleet.growth import make_plan
from fleet.moving import Mover
from fleet.schedule import schedule
from fleet.seen import see
from fleet.settings import WEEK, Settings, chance
from fleet.topology import make_cluster
from fleet.world import make_world
from kafka_warden.model import BrokerConfig, Snapshot

CLOCK: Final = 1000.0
"""Monotonic seconds of a sidecar's first poll."""

JITTER: Final = 0.05
"""Seconds by which a poll is late, at most."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The snapshot of one poll, and whether a sidecar starts with it."""

    snapshot: Snapshot
    begins: bool = False


class Simulation:
    """The simulation of one cluster of a fleet; `world.truth` is complete after all of `sights` is read."""

    def __init__(self, settings: Settings, number: int) -> None:
        cluster = make_cluster(settings, number)
        self.settings = settings
        self.world = make_world(settings, cluster, make_plan(settings, cluster))
        self.name = f"{settings.seed}/{cluster.id}"
        self._mover = Mover(schedule(self.world), chance(settings, number, "moves"))
        self._clockwork = make_clockwork(self.world, self._mover)
        self._luck = chance(settings, number, "polls")
        self._begins = self._beginnings()

    @property
    def runs(self) -> int:
        """Processes of the sidecar, one after the other."""
        return len(self._begins)

    def sights(self) -> Iterator[Sight]:
        """Advance the time, and yield the snapshot of every poll."""
        began, config = self.settings.start, BrokerConfig()
        for poll in range(self.settings.polls):
            moment = self._moment(poll)
            self._clockwork.advance(self.world, moment)
            if poll in self._begins:
                began = moment
            snapshot = see(self.world, self._mover.campaign, CLOCK + moment - began, config)
            yield Sight(snapshot, poll in self._begins)
        self._mover.close(self.world)

    def _moment(self, poll: int) -> float:
        late = float(self._luck.uniform(0, min(JITTER, self.settings.interval / 20))) if poll else 0.0
        return round(self.settings.start + poll * self.settings.interval + late, 6)

    def _beginnings(self) -> frozenset[int]:
        """Draw the polls at which a sidecar starts, including the first one."""
        luck = chance(self.settings, self.world.cluster.number, "sidecar")
        count = round(self.settings.sidecar_restarts * (self.settings.end - self.settings.start) / WEEK)
        drawn = luck.integers(1, max(self.settings.polls, 2), count)
        return frozenset({0, *(int(poll) for poll in drawn)})
