"""What the numbers of a window of snapshots mean. Knows no metric names and no configuration."""

from kafka_warden.derive.derive import Derived, derive
from kafka_warden.derive.memory import Memory

__all__ = ["Derived", "Memory", "derive"]
