"""What the numbers of a window of snapshots mean. Knows no metric names and no configuration."""

from exporter.derive.derive import Derived, derive
from exporter.derive.memory import Memory

__all__ = ["Derived", "Memory", "derive"]
