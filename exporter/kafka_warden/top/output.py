"""What scripts get: the tables as text, and one JSON document with the exact values."""

import json
from typing import Any, Final

from kafka_warden.clock import monotonic
from kafka_warden.top.columns import Order, chosen, mark
from kafka_warden.top.layout import fit, head, row_line, title_line
from kafka_warden.top.reading import Shown
from kafka_warden.top.tables import BY_NAME
from kafka_warden.web.api.encode import plain

VERSION: Final = 1
"""Of the JSON document. Keys may be added in the same version."""
_MARK: Final = 2


def text(shown: Shown, order: Order, search: str, most: int, width: int) -> str:
    """Return the head, and each table that has rows, or the one that is shown."""
    lines = head(shown, monotonic(), width)
    only = len(shown.tables) == 1
    for name, table in shown.tables.items():
        grid = BY_NAME[name]
        rows, total = chosen(grid, table, search, order)
        if not rows and not only:
            continue
        columns = fit(grid, rows[:most], order, width - _MARK)
        lines += ["", f"{grid.title}: {total:,}"]
        if not rows:
            lines.append(grid.empty if not search else "No row matches.")
            continue
        lines.append(f"  {title_line(columns, order, width - _MARK)}")
        lines += [f"{mark(row):1} {row_line(columns, row, width - _MARK)}" for row in rows[:most]]
        if total > most:
            lines.append(f"  and {total - min(most, len(rows)):,} more")
    return "".join(f"{line.rstrip()}\n" for line in lines)


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
