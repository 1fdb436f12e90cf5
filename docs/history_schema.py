"""Makes docs/history-schema.md out of the tables of history: `make docs`."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.notes import NOTES
from kafka_warden.history.schema import COMMON, TABLES, VERSION
from kafka_warden.history.shapes import ListOf, MapOf, Scalar, Shape, Struct

INTRODUCTION: Final = f"""\
# Tables of the history

Version {VERSION}. Made from `exporter/kafka_warden/history/` by `make docs`; do not edit.
[history.md](history.md) describes how to turn history on, and what may be missing from it.

- **Unknown is null, unlimited is infinite, a known zero is 0.** Types are Spark SQL's; no NaN is ever written.
- Times in *Unix s* are for people and for joins. *Monotonic s* compare within one `run` only; `time` and `clock` of the
  row lead from one to the other.
- *Raw* is what brokers told, or what the user set: all that judgement follows from. *Judged* is what the sidecar made
  of it: the polls of a `run`, judged again in the order of `sequence`, give the same
  (`exporter/kafka_warden/history/restore.py`).
- The columns of a table's key tell the rows of one poll apart. Of rows that are alike in `cluster_id`, `run`,
  `sequence` and the key all but one are duplicates.
- The version grows with any change. A reader takes its own version and older ones, and refuses a newer one.
"""

KINDS: Final = {Role.KEY: "key", Role.RAW: "raw", Role.JUDGED: "judged"}


def render() -> str:
    """Render the whole document."""
    parts = [INTRODUCTION, "## Every table\n", "Every row begins with these.\n", _columns(COMMON)]
    for table in TABLES:
        parts += [f"## `{table.name}`\n", f"{table.about} {_key(table)}\n", _columns(table.columns)]
    return "\n".join([*parts, "## Structures\n", *_structures()])


def _key(table: Table[Any]) -> str:
    return f"Key: {', '.join(f'`{name}`' for name in table.key)}." if table.key else ""


def _columns(columns: tuple[Column[Any], ...]) -> str:
    rows = (f"| `{c.name}` | {_type(c.shape)} | {c.unit} | {KINDS[c.role]} | {c.help} |" for c in columns)
    return "\n".join(["| Column | Type | Unit | | What |", "|---|---|---|---|---|", *rows, ""])


def _type(shape: Shape) -> str:
    if isinstance(shape, Struct):
        return f"[{shape.make.__name__}](#{shape.make.__name__.lower()})"
    if isinstance(shape, ListOf):
        return f"array of {_type(shape.item)}"
    if isinstance(shape, MapOf):
        return f"map of string to {_type(shape.value)}"
    return str(shape)


def _structures() -> Iterator[str]:
    for found in structures():
        rows = []
        for (name, shape), field in zip(found.fields, fields(found.make), strict=True):
            unit, text = NOTES[f"{found.make.__name__}.{field.name}"]
            rows.append(f"| `{name}` | {_type(shape)} | {unit} | {text} |")
        yield "\n".join(
            [f"### {found.make.__name__}\n", "| Field | Type | Unit | What |", "|---|---|---|---|", *rows, ""]
        )


def structures() -> list[Struct]:
    """List every structure that is part of a column, by name."""
    found: dict[str, Struct] = {}
    for table in TABLES:
        for column in table.columns:
            _gather(column.shape, found)
    return [found[name] for name in sorted(found)]


def _gather(shape: Shape, found: dict[str, Struct]) -> None:
    if isinstance(shape, Scalar):
        return
    if isinstance(shape, Struct):
        found[shape.make.__name__] = shape
        for _, part in shape.fields:
            _gather(part, found)
    else:
        _gather(shape.item if isinstance(shape, ListOf) else shape.value, found)
