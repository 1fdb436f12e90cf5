"""Predefined fleets."""

from collections.abc import Mapping
from typing import Any, Final

from fleet.settings import DAY

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "week": {
        "days": 7.0,
        "partitions": 40,
        "faults": 18.0,
        "bursts": 30.0,
        "restarts": 1.0,
        "moves": 12.0,
        "sidecar_restarts": 3.0,
    },
    "day": {"days": 1.0, "partitions": 40, "faults": 28.0, "bursts": 60.0, "restarts": 7.0, "moves": 40.0},
    "growth": {
        "days": 45.0,
        "interval": 3600.0,
        "partition_growth": 4.0,
        "bytes_growth": 0.01,
        "faults": 0.0,
        "bursts": 0.0,
        "restarts": 0.0,
        "moves": 0.0,
    },
    "blog": {"blog": True, "brokers": 3, "partitions": 2, "interval": 0.1, "days": 120 / DAY},
    "fleet": {"clusters": 4, "days": 1.0, "partitions": 120, "faults": 21.0, "bursts": 40.0, "moves": 28.0},
}
"""Options by preset; other options override them."""
