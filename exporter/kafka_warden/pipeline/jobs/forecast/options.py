"""What the user may choose about forecasts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """A limit that is None is taken from the history."""

    horizon: int = 90
    """Days."""
    level: float = 0.9
    """Of the interval, above 0 and below 1."""
    network: float | None = None
    """Bytes per second of one broker."""
    max_broker_partitions: int | None = None
    max_partitions: int | None = None
    disk_share: float = 1.0
    """Of a disk's size."""
    seed: int = 1
