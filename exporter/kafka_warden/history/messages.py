"""The tables as messages: JSON, with rows of one table in one poll; a large poll takes many.

    {"table": "replicas", "schema_version": 1, "cluster_id": ..., "run": ..., ..., "rows": [{"topic": ...}, ...]}

What all rows of a poll have in common stands once, in front. Infinity is spelled `"Infinity"`, as Spark reads it.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka_warden.history.column import Table
from kafka_warden.history.plain import plain
from kafka_warden.history.schema import COMMON, Built
from kafka_warden.history.shapes import Plain

LARGEST: Final = 256 << 10
"""Characters of the rows in one message; a larger row has one of its own. Brokers take 1 MB by default."""


def ddl(table: Table[Any]) -> str:
    """Write the form of a table's messages as Spark's DDL, for `from_json`."""
    front = ", ".join(f"`{column.name}` {column.shape}" for column in COMMON)
    rows = ",".join(f"{column.name}:{column.shape}" for column in table.columns)
    return f"`table` string, {front}, `rows` array<struct<{rows}>>"


def messages(built: Built) -> Iterator[tuple[bytes, int]]:
    """Make the messages of one table of a poll, and how many rows are in each."""
    if not built.rows:
        return
    head: dict[str, Plain] = {"table": built.table.name}
    head |= {column.name: plain(built.columns[column.name])[0] for column in COMMON}
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
    # Row by row: the encoder holds Python's lock for as long as one call takes, and a scrape would wait for it.
    names = [column.name for column in built.table.columns]
    columns = [plain(built.columns[name]) for name in names]
    for row in zip(*columns, strict=True):
        yield _json(dict(zip(names, row, strict=True)))


def _message(front: str, parts: list[str]) -> bytes:
    return f"{front}{','.join(parts)}]}}".encode()


def _json(value: Plain) -> str:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_spelled(value), allow_nan=False, separators=(",", ":"))


def _spelled(value: Plain) -> Plain:
    """Spell what JSON has no number for, as Spark and Jackson do."""
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _spelled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_spelled(each) for each in value]
    return value
