"""Derived numbers of a series of snapshots. Knows no metric names and no configuration."""

from kafka_warden.derive.evaluate import Derived, Memory, derive

__all__ = ["Derived", "Memory", "derive"]
