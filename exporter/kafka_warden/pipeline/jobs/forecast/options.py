"""What the user may choose about forecasts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """A limit that is `None` is the one that the history has."""

    horizon: int = 90
    """Days after the last one of the history."""
    level: float = 0.9
    """Of the interval, above 0 and below 1."""
    network: float | None = None
    """Bytes per second of one broker."""
    max_broker_partitions: int | None = None
    max_partitions: int | None = None
    disk_share: float = 1.0
    """Of a disk's size that counts as its limit."""
    seed: int = 1
