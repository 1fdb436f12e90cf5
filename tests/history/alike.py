"""Snapshots as Python values that can be compared."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from kafka_warden.model import Snapshot


def comparable(seen: Snapshot) -> dict[str, Any]:
    """Return all of a snapshot; lists by broker are sorted by broker."""
    found: dict[str, Any] = _plain(seen)
    found["log_dirs"] = _plain(sorted(seen.log_dirs, key=lambda each: each.broker))
    found["future_replicas"] = _plain(
        sorted(seen.future_replicas, key=lambda each: (each.broker, each.topic, each.partition))
    )
    return found


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
