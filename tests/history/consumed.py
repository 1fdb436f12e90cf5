"""Converts messages of a topic to the rows of polls."""

import json
from collections.abc import Iterable
from typing import Any

from kafka_warden.history.column_types import Struct
from kafka_warden.history.schema import BY_NAME, TABLES, columns_of
from tests.history.replay import Rows

Key = tuple[str, int]
"""Run and sequence."""


def tables_of(values: Iterable[bytes]) -> list[dict[str, Rows]]:
    """Group messages by poll, in the order of run and sequence. Infinity is parsed as Spark does it."""
    polls: dict[Key, dict[str, Rows]] = {}
    for value in values:
        message = json.loads(value)
        empty = {table.name: {column.name: list[Any]() for column in columns_of(table)} for table in TABLES}
        poll = polls.setdefault((message["run"], message["sequence"]), empty)
        table = BY_NAME[message["table"]]
        rows = poll[table.name]
        front = {name: each for name, each in message.items() if name not in {"table", "rows"}}
        for row in message["rows"]:
            assert row.keys() | front.keys() == rows.keys()
            for column in columns_of(table):
                rows[column.name].append(_spelled(column.type, {**front, **row}[column.name]))
    return [polls[key] for key in sorted(polls)]


def _spelled(type_: Any, value: Any) -> Any:
    if isinstance(value, str) and str(type_) == "double":
        assert value in {"Infinity", "-Infinity"}
        return float(value)
    if isinstance(value, list):
        return [_spelled(type_.item, each) for each in value]
    if isinstance(value, dict):
        parts = dict(type_.fields) if isinstance(type_, Struct) else dict.fromkeys(value, getattr(type_, "value", None))
        return {name: _spelled(parts[name], each) for name, each in value.items()}
    return value
