"""Derived numbers of a series of snapshots. Knows no metric names and no configuration."""

from kafka_warden.derive.evaluate import Derived, derive
from kafka_warden.derive.memory import Memory

__all__ = ["Derived", "Memory", "derive"]
