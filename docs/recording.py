"""Reads series of the recorded cluster in `fleet/recorded` for the pictures of docs/how-it-knows.md."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

RECORDED: Final = Path(__file__).parents[1] / "fleet" / "recorded"

Rows = Sequence[dict[str, Any]]


@cache
def table(name: str) -> Rows:
    """All rows of a table of history, by time."""
    files = sorted((RECORDED / "history" / name).rglob("*.parquet"))
    whole = pa.concat_tables([parquet.read_table(file) for file in files], promote_options="default")
    return sorted(whole.to_pylist(), key=lambda row: row["time"])


def rows(name: str, **values: object) -> Rows:
    """The rows of a table that have these values."""
    return [row for row in table(name) if all(row[column] == value for column, value in values.items())]


def truth(name: str, **values: object) -> dict[str, Any]:
    """The first of the true events with these values."""
    text = (RECORDED / "truth" / f"{name}.json").read_text(encoding="utf-8")
    events = (json.loads(line) for line in text.splitlines())
    found: dict[str, Any] = next(
        event for event in events if all(event[field] == value for field, value in values.items())
    )
    return found
