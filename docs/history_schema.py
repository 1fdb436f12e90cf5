"""Generates docs/history-schema.md from the tables of history: `make docs`."""

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_warden.history.column import Column, Table
from kafka_warden.history.column_types import ColumnType, ListOf, MapOf, Scalar, Struct, fields_of
from kafka_warden.history.schema import COMMON, TABLES, VERSION

INTRODUCTION: Final = f"""\
# Tables of the history

Version {VERSION}. Generated from `exporter/kafka_warden/history/` by `make docs`; do not edit.
[history.md](history.md) describes how to turn history on, and which rows may be missing.

- **Unknown is null, unlimited is infinite, a known zero is 0.** Types are those of Spark SQL; NaN is never written.
- Times in *Unix s* are for people and for joins. Times in *monotonic s* are comparable within one `run` only. `time`
  and `clock` of a row are the same moment on both clocks.
- *Raw* values are reported by brokers or set by the user. *Derived* values are computed from them by the sidecar. A
  replay of the polls of a `run`, in the order of `sequence`, computes the same derived values
  (`exporter/kafka_warden/history/replay.py`).
- The key of a table identifies a row within one poll. Rows with equal `cluster_id`, `run`, `sequence` and key are
  duplicates.
- The version grows with any change. A reader accepts its own version and older ones, and refuses newer ones.
"""


def render() -> str:
    """Render the whole document."""
    common = _columns(COMMON, [column.name for column in COMMON])
    parts = [INTRODUCTION, "## Every table\n", "First columns of every table.\n", common]
    for table in TABLES:
        parts += [f"## `{table.name}`\n", f"{table.about} {_key(table)}\n", _columns(table.columns, table.key)]
    return "\n".join([*parts, "## Structures\n", *_structures()])


def _key(table: Table) -> str:
    return f"Key: {', '.join(f'`{name}`' for name in table.key)}." if table.key else ""


def _columns(columns: Sequence[Column], key: Sequence[str]) -> str:
    rows = (
        f"| `{each.name}` | {_type(each.type)} | {each.unit} | {_origin(each, key)} | {each.help} |" for each in columns
    )
    return "\n".join(["| Column | Type | Unit | | What |", "|---|---|---|---|---|", *rows, ""])


def _origin(column: Column, key: Sequence[str]) -> str:
    return "key" if column.name in key else "derived" if column.derived else "raw"


def _type(type_: ColumnType) -> str:
    if isinstance(type_, Struct):
        return f"[{type_.make.__name__}](#{type_.make.__name__.lower()})"
    if isinstance(type_, ListOf):
        return f"array of {_type(type_.item)}"
    if isinstance(type_, MapOf):
        return f"map of string to {_type(type_.value)}"
    return str(type_)


def _structures() -> Iterator[str]:
    for found in structures():
        rows = []
        for name, type_ in found.fields:
            field = fields_of(found.make)[name]
            rows.append(f"| `{name}` | {_type(type_)} | {field.unit} | {field.text} |")
        yield "\n".join(
            [f"### {found.make.__name__}\n", "| Field | Type | Unit | What |", "|---|---|---|---|", *rows, ""]
        )


def structures() -> list[Struct]:
    """List every structure that is part of a column, by name."""
    found: dict[str, Struct] = {}
    for table in TABLES:
        for column in table.columns:
            _gather(column.type, found)
    return [found[name] for name in sorted(found)]


def _gather(type_: ColumnType, found: dict[str, Struct]) -> None:
    if isinstance(type_, Scalar):
        return
    if isinstance(type_, Struct):
        found[type_.make.__name__] = type_
        for _, part in type_.fields:
            _gather(part, found)
    else:
        _gather(type_.item if isinstance(type_, ListOf) else type_.value, found)
