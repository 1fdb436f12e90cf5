"""What a table is: columns, how values are written, marks, order and filter. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

from kafka_warden.formatting import in_few, in_percent, in_rate, in_size, in_time, in_utc, in_words, visible
from kafka_warden.views.alerts import MARKS
from kafka_warden.views.curves import Curve
from kafka_warden.views.fields import Of, fields_of
from kafka_warden.views.rows import History, Table
from kafka_warden.web.api.tables import TABLES
from kafka_warden.web.query import CONTAINED

UNKNOWN: Final = "-"
RESOURCES: Final = {resource.name: resource for resource in TABLES}
NAMES: Final = frozenset({*CONTAINED, "host", "log_dir"})
"""Fields with names that may be long: they are cut to the width of the screen."""
LEAST: Final = 12
"""Characters that stay of a name. The last ones have the number of a partition."""
TAIL: Final = 6

Write = Callable[[Any], str]
_FIELDS: Final[Mapping[str, Write]] = {
    **dict.fromkeys((*NAMES, "sentence"), lambda value: visible(str(value))),
    "use": in_percent,
    "seconds": in_time,
    "duration": lambda value: f"{value * 1000:,.0f} ms",
}
_UNITS: Final[Mapping[str, Write]] = {
    "bytes_per_second": in_rate,
    "bytes": in_size,
    "timestamp": lambda value: in_utc(value) or UNKNOWN,
    "per_second": in_few,
    "seconds": in_time,
    "ratio": in_percent,
    "": in_few,
}
"""Part of a metric's name to how its values are written; the first one counts."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `number`: values are right-aligned and have an exact form. `value` returns `None` for the unknown."""

    title: str
    field: str
    value: Callable[[Any], Any]
    write: Write
    number: bool

    def text(self, row: Any, width: int | None = None) -> str:
        """Return the text of the cell. A name is cut in the middle if it takes more than a third of a line's width.

        An empty name or id is shown as any.
        """
        value = self.value(row)
        text = UNKNOWN if value is None else self.write(value) or "any"
        most = len(text) if width is None or self.field not in NAMES else max(width // 3, LEAST)
        if len(text) <= most:
            return text
        return f"{text[: most - TAIL - 1]}…{text[-TAIL:]}"


@dataclass(frozen=True)
class Grid:
    """A table on the screen: that of `/api/v1` with the same name.

    `titles` has title and field of each column, the most important ones first: a narrow terminal shows these. `of`
    returns a text instead of the value of a field, `curve` the curve that is shown while a row is selected. The curve
    needs the last hour of so many `sides` of brokers.
    """

    name: str
    title: str
    empty: str
    titles: str
    of: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    sides: int | None = None
    curve: Callable[[History, Any], Curve | None] = lambda *_: None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns. How a number is written follows from the unit in the name of its metric."""
        found = []
        for part in self.titles.split(", "):
            title, _, name = part.rpartition(" ")
            hint, about = fields_of(RESOURCES[self.name].row)[name]
            metric = about.metric if isinstance(about, Of) else ""
            number = name not in self.of and (bool(metric) or float in getattr(hint, "__args__", ()))
            write = next(write for unit, write in _UNITS.items() if unit in metric) if number else in_words
            found.append(Column(title, name, self.of.get(name, attrgetter(name)), _FIELDS.get(name, write), number))
        return tuple(found)

    def key(self, row: Any) -> tuple[Any, ...]:
        """Return what identifies a row over several polls: its names and ids, which are always known."""
        return tuple(getattr(row, name) for name, (hint, _) in fields_of(type(row)).items() if hint in (str, int))


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


def chosen(grid: Grid, table: Table[Any], text: str, order: Order, *, whole: bool = False) -> tuple[Sequence[Any], int]:
    """Return the rows that match all words of a filter, in an order, and how many there are.

    `field=value` is the value of a field, or a part of a topic, a user or a client id; another word is a part of any
    text of the row. Case does not count. `whole`: also rows that people do not want to see.
    """
    terms = [term.partition("=") for term in text.lower().split()]
    wanted = [row for row in table.rows if whole or getattr(row, "in_use", True)]
    rows = [row for row in wanted if all(_matches(grid, row, *term) for term in terms)]
    left_out = len(rows) < len(table.rows)
    return order.of(rows), len(rows) if left_out else table.total


def _matches(grid: Grid, row: Any, name: str, separator: str, value: str) -> bool:
    if separator and name in fields_of(RESOURCES[grid.name].row):
        found = str(getattr(row, name)).lower()
        return value in found if name in CONTAINED else value == found
    word = name + separator + value
    return any(word in str(column.value(row)).lower() for column in grid.columns if not column.number)
