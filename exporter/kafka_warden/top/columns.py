"""What a table is: columns, how values are written, marks, order and filter. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.errors import ConfigError
from kafka_warden.planning.formatting import (
    in_few,
    in_percent,
    in_rate,
    in_size,
    in_time,
    in_utc,
    in_whole,
    in_words,
    visible,
)
from kafka_warden.settings.strict import did_you_mean
from kafka_warden.views.alerts import MARKS
from kafka_warden.views.curves import Curve
from kafka_warden.views.fields import fields_of
from kafka_warden.views.rows import History, Table
from kafka_warden.web.api.tables import TABLES
from kafka_warden.web.query import CONTAINED

UNKNOWN: Final = "-"
RESOURCES: Final = {resource.name: resource for resource in TABLES}


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of a column are written. Without a width a column takes what its texts and the screen allow."""

    write: Callable[[Any], str]
    width: int | None = None
    right: bool = True
    tail: int = 0
    """Cells at the end of a text that stay when it is cut: those of a partition's number."""


TEXT: Final = Kind(lambda value: visible(str(value)), right=False)
NAME: Final = Kind(TEXT.write, right=False, tail=6)
WORDS: Final = Kind(in_words, right=False)
ID: Final = Kind(lambda value: visible(str(value)))
BYTES: Final = Kind(in_size, 9)
RATE: Final = Kind(in_rate, 10)
TIME: Final = Kind(in_time, 11)
SHARE: Final = Kind(in_percent, 6)
COUNT: Final = Kind(in_whole, 9)
FEW: Final = Kind(in_few, 9)
MILLISECONDS: Final = Kind(lambda value: f"{value * 1000:,.0f} ms", 9)
INSTANT: Final = Kind(lambda value: in_utc(value) or UNKNOWN, 23)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Of columns that do not fit into a line, that with the highest rank is left out first, 0 never."""

    title: str
    field: str
    kind: Kind
    rank: int = 0
    of: Callable[[Any], Any] | None = None
    """Returns the value, where it is not that of the field."""

    def value(self, row: Any) -> Any:
        """Return the value that rows are ordered by; `None` is unknown."""
        return getattr(row, self.field) if self.of is None else self.of(row)

    def text(self, row: Any) -> str:
        """Return the text of the cell."""
        value = self.value(row)
        return UNKNOWN if value is None else self.kind.write(value)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table on the screen: that of `/api/v1` with the same name."""

    name: str
    title: str
    empty: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    """The fields that identify a row."""
    shows: Callable[[Any], bool] = lambda _: True
    """Whether people want to see the row."""
    sides: int | None = None
    """Brokers and sides of the last hour that its curve needs; `None` if it has no curve."""
    curve: Callable[[History, Any], Curve | None] = lambda *_: None
    """Makes the curve that is shown while a row is selected."""

    @property
    def of_sidecar(self) -> bool:
        """Whether it has rows without fresh data, too."""
        return RESOURCES[self.name].of_sidecar

    def key(self, row: Any) -> tuple[Any, ...]:
        """Return what identifies a row over several polls."""
        return tuple(getattr(row, name) for name in self.keys)

    def column(self, field: str) -> Column:
        """Return the column of a field.

        Raises:
            ConfigError: there is none.
        """
        known = {column.field: column for column in self.columns}
        if field not in known:
            names = ", ".join(known)
            raise ConfigError(
                f"--sort: {self.name} has no column {field!r}{did_you_mean(field, known)}; it has {names}"
            )
        return known[field]


def mark(row: Any) -> str:
    """Return the mark of a row: empty for one that is fine, and in tables of which all rows are."""
    return MARKS.get(getattr(row, "severity", None) or "", "")


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
        known = [(self.column.value(row), row) for row in rows]
        found = [pair for pair in known if pair[0] is not None]
        largest_first = bool(found) and not isinstance(found[0][0], str)
        found.sort(key=lambda pair: pair[0], reverse=largest_first != self.reverse)
        return [row for _, row in found] + [row for value, row in known if value is None]


SERVED: Final = Order()


def chosen(grid: Grid, table: Table[Any], text: str, order: Order, *, whole: bool = False) -> tuple[Sequence[Any], int]:
    """Return the rows that match all words of a filter, in an order, and how many there are.

    `field=value` is the value of a field, or a part of a topic, a user or a client id; another word is a part of any
    text of the row. Case does not count. `whole`: also rows that people do not want to see.
    """
    terms = [term.partition("=") for term in text.lower().split()]
    rows = [
        row for row in table.rows if (whole or grid.shows(row)) and all(_matches(grid, row, *term) for term in terms)
    ]
    left_out = len(rows) < len(table.rows)
    return order.of(rows), len(rows) if left_out else table.total


def _matches(grid: Grid, row: Any, name: str, separator: str, value: str) -> bool:
    if separator and name in fields_of(RESOURCES[grid.name].row):
        found = str(getattr(row, name)).lower()
        return value in found if name in CONTAINED else value == found
    word = name + separator + value
    return any(word in str(column.value(row)).lower() for column in grid.columns if not column.kind.width)
