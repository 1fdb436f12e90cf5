"""Snapshots as plain values that compare, whatever they are made of."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from kafka_warden.model import Snapshot


def comparable(seen: Snapshot) -> dict[str, Any]:
    """Everything in a snapshot; what is told broker by broker in the order of brokers."""
    found: dict[str, Any] = _plain(seen)
    found["log_dirs"] = _plain(sorted(seen.log_dirs, key=lambda told: told.broker))
    found["future_replicas"] = _plain(
        sorted(seen.future_replicas, key=lambda told: (told.broker, told.topic, told.partition))
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
