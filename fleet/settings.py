"""What a fleet is like. Seconds, bytes and bytes per second."""

from dataclasses import dataclass
from typing import Final

import numpy as np

DAY: Final = 86400.0
HOUR: Final = 3600.0
MINUTE: Final = 60.0
WEEK: Final = 7 * DAY

MONDAY: Final = 1_767_571_200.0
"""2026-01-05 00:00 UTC. A fixed time base: the same seed gives the same bytes on any day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options of the generator; each cluster draws its own faults, sizes and cycles from the seed."""

    seed: int = 1
    clusters: int = 1
    brokers: int = 6
    racks: int = 3
    partitions: int = 60
    replication_factor: int = 3
    days: float = 1.0
    interval: float = MINUTE
    """Between two polls."""
    start: float = MONDAY
    """Unix time of the first poll."""
    bytes_in: float = 200_000.0
    """Mean of what is produced to a partition, bytes per second."""
    faults: float = 12.0
    """Of a week, per cluster: slow and stuck followers, and brokers that are down."""
    bursts: float = 20.0
    """Of a week, per cluster."""
    restarts: float = 1.0
    """Rolling restarts of a week, per cluster."""
    moves: float = 12.0
    """Reassignments of a week, per cluster; a quarter of them gets stuck."""
    sidecar_restarts: float = 0.0
    """Of a week, per cluster: each begins another run."""
    partition_growth: float = 0.0
    """Partitions that are made in a day, per cluster."""
    bytes_growth: float = 0.0
    """Part of what is produced on the first day that is added in a day."""
    horizon: float = 90.0
    """Days in which limits are reached where something grows."""
    blog: bool = False
    """The example of `fleet/blog.py` in place of all this."""

    def __post_init__(self) -> None:
        """Refuse what no cluster can be.

        Raises:
            ValueError: which option, and what it has to be.
        """
        if self.replication_factor < 1 or self.replication_factor > self.brokers:
            raise ValueError(f"--replication-factor: give 1 to {self.brokers}, the number of brokers")
        for name in ("clusters", "brokers", "racks", "partitions", "interval", "days", "bytes_in", "horizon"):
            if not getattr(self, name) > 0:
                raise ValueError(f"--{name.replace('_', '-')}: give a number above 0")

    @property
    def polls(self) -> int:
        """Polls of one cluster, 1 at least."""
        return max(round(self.days * DAY / self.interval), 1)

    @property
    def end(self) -> float:
        """Unix time at which history ends."""
        return self.start + self.polls * self.interval


def chance(settings: Settings, cluster: int, concern: str) -> np.random.Generator:
    """Make the random numbers of one concern of one cluster: what one draws does not change another's."""
    return np.random.default_rng([settings.seed, cluster, *concern.encode()])
