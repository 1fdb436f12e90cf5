"""What `top` shows of a table: marks, order, filter, and names cut to the width of the screen. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.views.alerts import MARKS
from kafka_warden.views.fields import fields_of
from kafka_warden.views.rows import Table
from kafka_warden.views.table_spec import CONTAINED, NAMES, Column, TableSpec

LEAST: Final = 12
"""Characters that stay of a name. The last ones have the number of a partition."""
TAIL: Final = 6


def text(column: Column, row: Any, width: int | None) -> str:
    """Return the text of a cell. A name is cut in the middle if it takes more than a third of a line's width."""
    whole = column.text(row)
    most = len(whole) if width is None or column.field not in NAMES else max(width // 3, LEAST)
    return whole if len(whole) <= most else f"{whole[: most - TAIL - 1]}…{whole[-TAIL:]}"


def mark(row: Any) -> str:
    """Return the mark of a row: a space for one that is fine, and in tables of which all rows are."""
    return MARKS.get(getattr(row, "severity", None) or "", " ")


@dataclass(frozen=True, slots=True)
class Order:
    """The order of rows: by a column, or as served, the worst first. The unknown is always last."""

    column: Column | None = None
    reverse: bool = False
    """Numbers smallest first, texts from Z to A."""

    def of(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return the rows in this order."""
        if self.column is None:
            return rows[::-1] if self.reverse else rows
        value = self.column.value
        known = [row for row in rows if value(row) is not None]
        largest_first = bool(known) and not isinstance(value(known[0]), str)
        return sorted(known, key=value, reverse=largest_first != self.reverse) + [
            row for row in rows if value(row) is None
        ]

    def title(self, column: Column) -> str:
        """Return the title of a column, with a mark if it orders the rows."""
        return column.title + ("" if self.column is not column else "^" if self.reverse else "v")


SERVED: Final = Order()


def chosen(
    spec: TableSpec, table: Table[Any], text: str, order: Order, *, whole: bool = False
) -> tuple[Sequence[Any], int]:
    """Return the rows that match all words of a filter, in an order, and how many there are.

    `field=value` is the value of a field, or a part of a topic, a user or a client id; another word is a part of any
    text of the row. Case does not count. `whole`: also rows that people do not want to see.
    """
    terms = [term.partition("=") for term in text.lower().split()]
    wanted = [row for row in table.rows if whole or getattr(row, "in_use", True)]
    rows = [row for row in wanted if all(_matches(spec, row, *term) for term in terms)]
    left_out = len(rows) < len(table.rows)
    return order.of(rows), len(rows) if left_out else table.total


def _matches(spec: TableSpec, row: Any, name: str, separator: str, value: str) -> bool:
    if separator and name in fields_of(spec.row):
        found = str(getattr(row, name)).lower()
        return value in found if name in CONTAINED else value == found
    word = name + separator + value
    return any(word in str(column.value(row)).lower() for column in spec.columns if not column.number)
