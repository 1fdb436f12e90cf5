"""History of many days with few rows: a poll an hour, one file a table."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_warden.history.parquet.arrow import metadata_of, schema_of
from kafka_warden.history.schema import BY_NAME, VERSION
from tests.history.places import NOON

HOUR: Final = 3600
DAY: Final = 86400
FIRST: Final = NOON - NOON % DAY
"""Midnight, UTC, at which histories begin."""


def common(hour: int, cluster: str = "one") -> dict[str, Any]:
    """What rows of the poll of an hour have in common."""
    time = FIRST + hour * HOUR + 60.0
    key = {"schema_version": VERSION, "cluster_id": cluster, "run": "run", "sequence": hour}
    return {**key, "time": time, "clock": float(hour * HOUR)}


def poll(hour: int, partitions: int, limits: Mapping[str, Any], cluster: str = "one", rows: int = 0) -> dict[str, Any]:
    """A row of `polls`, which says how many rows of `partitions` there should be."""
    parameters = {"max_partitions": math.inf, "max_broker_partitions": math.inf, **limits}
    return {**common(hour, cluster), "partitions": partitions, "parameters": parameters, "rows": {"partitions": rows}}


def broker(hour: int, number: int, counted: int, dirs: Mapping[str, tuple[int, int, int]]) -> dict[str, Any]:
    """A row of `brokers`; directories are bytes of logs, usable bytes and size."""
    log_dirs = [
        {"path": path, "online": True, "bytes": used, "usable_bytes": usable, "total_bytes": size}
        for path, (used, usable, size) in dirs.items()
    ]
    return {**common(hour), "broker": number, "counted": counted, "log_dirs": log_dirs}


def partition(hour: int, number: int, leader: int, bytes_in: float | None) -> dict[str, Any]:
    named = {"topic": "orders", "topic_id": "id", "partition": number}
    return {**common(hour), **named, "leader": leader, "bytes_in": bytes_in}


def write_table(folder: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = BY_NAME[name]
    made = pa.Table.from_pylist(list(rows), schema_of(table)).replace_schema_metadata(metadata_of(table))
    place = folder / name / "date=2023-11-14" / "hour=00"
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(made, place / "kafka-warden-run-0-0.parquet")
