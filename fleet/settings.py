"""Settings of a fleet. Seconds, bytes and bytes per second."""

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
    """Mean produce rate of a partition, bytes per second."""
    faults: float = 12.0
    """Per week and cluster: slow and stuck followers, and brokers that are down."""
    bursts: float = 20.0
    """Per week and cluster."""
    restarts: float = 1.0
    """Rolling restarts per week and cluster."""
    moves: float = 12.0
    """Reassignments per week and cluster; a quarter of them gets stuck."""
    sidecar_restarts: float = 0.0
    """Per week and cluster: each starts a new run."""
    partition_growth: float = 0.0
    """New partitions per day and cluster."""
    bytes_growth: float = 0.0
    """Growth of the produce rate per day, as a share of the first day."""
    horizon: float = 90.0
    """Days in which growth reaches the limits."""
    blog: bool = False
    """The example of `fleet/blog.py` instead of these settings."""

    def __post_init__(self) -> None:
        """Refuse impossible settings.

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
    """Make the random numbers of one subject of one cluster, independent of other subjects."""
    return np.random.default_rng([settings.seed, cluster, *concern.encode()])
