"""What the numbers of a window of snapshots mean. Knows no metric names and no configuration."""

from exporter.derive.derive import Derived, Memory, derive

__all__ = ["Derived", "Memory", "derive"]
