"""What scripts get: the tables as text, and one JSON document with the exact values."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafka_warden.clock import monotonic
from kafka_warden.top.columns import Order, chosen, mark
from kafka_warden.top.columns import text as cell
from kafka_warden.top.layout import head
from kafka_warden.top.reading import Shown
from kafka_warden.views.specs import BY_NAME
from kafka_warden.views.table_spec import TableSpec
from kafka_warden.web.openapi import plain

VERSION: Final = 1
"""Of the JSON document. Keys may be added in the same version."""


def text(shown: Shown, order: Order, search: str, most: int, width: int | None) -> str:
    """Return the head, and each table that has rows, or the one that is shown. `width`: where lines of rows end."""
    lines = head(shown, monotonic())
    only = len(shown.tables) == 1
    for name, table in shown.tables.items():
        spec = BY_NAME[name]
        rows, total = chosen(spec, table, search, order)
        if not rows and not only:
            continue
        lines += ["", f"{spec.title}: {total:,}"]
        if not rows:
            lines.append(spec.empty if not search else "No row matches.")
            continue
        lines += _table(spec, rows[:most], order, width)
        if total > most:
            lines.append(f"  and {total - min(most, len(rows)):,} more")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _table(spec: TableSpec, rows: Sequence[Any], order: Order, width: int | None) -> Iterator[str]:
    columns = [[order.title(column), *(cell(column, row, width) for row in rows)] for column in spec.columns]
    sizes = [max(map(len, cells)) for cells in columns]
    for sign, *cells in zip([" ", *map(mark, rows)], *columns, strict=True):
        aligned = [
            cell.rjust(size) if column.number else cell.ljust(size)
            for column, size, cell in zip(spec.columns, sizes, cells, strict=True)
        ]
        yield "  ".join([f"{sign} {aligned[0]}", *aligned[1:]])[:width]


def document(shown: Shown, order: Order, search: str, most: int) -> str:
    """Return the JSON document: rows as in `/api/v1`."""
    tables: dict[str, Any] = {}
    for name, table in shown.tables.items():
        rows, total = chosen(BY_NAME[name], table, search, order, whole=True)
        tables[name] = {"total": total, "data": plain(rows[:most])}
    found = {
        "version": VERSION,
        "time": shown.time,
        "fresh": shown.fresh,
        "cluster": plain(shown.cluster),
        "sidecar": plain(shown.sidecar),
        "tables": tables,
    }
    return json.dumps(found, indent=2, allow_nan=False) + "\n"
