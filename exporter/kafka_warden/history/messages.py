"""The tables as JSON messages. A message has rows of one table in one poll; a large poll needs several messages.

    {"table": "replicas", "schema_version": 1, "cluster_id": ..., "run": ..., ..., "rows": [{"topic": ...}, ...]}

Columns that are equal for all rows of a poll are written once, in front. Infinity is `"Infinity"`, as Spark reads it.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Final

from kafka_warden.history.column import HistoryTable, python_values
from kafka_warden.history.column_types import PythonValue
from kafka_warden.history.schema import COMMON, Built

LARGEST: Final = 256 << 10
"""Characters of the rows in one message; a larger row gets its own. Brokers accept 1 MB by default."""


def ddl(table: HistoryTable) -> str:
    """Return the schema of a table's messages as Spark DDL, for `from_json`."""
    front = ", ".join(f"`{column.name}` {column.type}" for column in COMMON)
    rows = ",".join(f"{column.name}:{column.type}" for column in table.columns)
    return f"`table` string, {front}, `rows` array<struct<{rows}>>"


def messages(built: Built) -> Iterator[tuple[bytes, int]]:
    """Yield the messages of one table of a poll, each with its number of rows."""
    if not built.rows:
        return
    head: dict[str, PythonValue] = {"table": built.table.name}
    head |= {column.name: python_values(built.columns[column.name])[0] for column in COMMON}
    front = _json(head)[:-1] + ',"rows":['
    parts: list[str] = []
    size = 0
    for row in _rows(built):
        if parts and size + len(row) > LARGEST:
            yield _message(front, parts), len(parts)
            parts, size = [], 0
        parts.append(row)
        size += len(row)
    yield _message(front, parts), len(parts)


def _rows(built: Built) -> Iterator[str]:
    # Row by row: the encoder holds the GIL during a call, and a scrape would wait for it.
    names = [column.name for column in built.table.columns]
    columns = [python_values(built.columns[name]) for name in names]
    for row in zip(*columns, strict=True):
        yield _json(dict(zip(names, row, strict=True)))


def _message(front: str, parts: list[str]) -> bytes:
    return f"{front}{','.join(parts)}]}}".encode()


def _json(value: PythonValue) -> str:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_encodable(value), allow_nan=False, separators=(",", ":"))


def _encodable(value: PythonValue) -> PythonValue:
    """Write infinity as Spark and Jackson do."""
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _encodable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_encodable(each) for each in value]
    return value
