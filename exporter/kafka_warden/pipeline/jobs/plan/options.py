"""What the user asks of a plan."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """None stands for the value in the history."""

    reassignment: Path
    deadline: float | None = None
    """Seconds."""
    share: float | None = None
    """Of the network of one broker."""
    network: float | None = None
    """Bytes per second of one broker."""
    max_broker_partitions: int | None = None
    percentile: float = 0.95
    """The plan that is printed in full."""
    cluster: str | None = None
    """Its id."""
    rollback: Path | None = None
    bootstrap: str | None = None
    """`host:port,...` for the commands."""
    secured: bool = False
    """The commands need client properties."""
