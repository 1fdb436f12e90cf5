"""What a table is on the status page, in `/api/v1` and in `top`: rows, columns, order and filters."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

from kafka_warden.formatting import in_few, in_percent, in_rate, in_size, in_time, in_utc, in_words, visible
from kafka_warden.views.fields import Of, fields_of
from kafka_warden.views.recent import Curve, History

UNKNOWN: Final = "-"
CONTAINED: Final = frozenset({"topic", "user", "client_id"})
"""Fields that a filter matches anywhere. It matches the whole value of all others."""
NAMES: Final = frozenset({*CONTAINED, "host", "log_dir"})
"""Fields with names from the cluster, which may be long."""
SHARES: Final = frozenset({"progress", "use", "used", "limit_used"})
"""Fields from 0 to 1, or above."""

Write = Callable[[Any], str]
_UNITS: Final[Mapping[str, Write]] = {
    "bytes_per_second": in_rate,
    "bytes": in_size,
    "timestamp": lambda value: in_utc(value) or UNKNOWN,
    "duration": lambda value: f"{value * 1000:,.0f} ms",
    "per_second": in_few,
    "seconds": in_time,
    "": in_few,
}
"""Part of a metric's name to how its values are written; the first one counts."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `number`: its values have an exact form. `value` returns `None` for the unknown."""

    title: str
    field: str
    value: Callable[[Any], Any]
    write: Write
    number: bool
    unit: str = ""
    """Key of the units above, of a number that a metric has."""
    is_id: bool = False
    """Values are ids."""

    @property
    def share(self) -> bool:
        """Whether values are parts of a whole."""
        return self.write is in_percent

    def text(self, row: Any) -> str:
        """Return the text of the cell. An empty name or id is shown as any."""
        value = self.value(row)
        return UNKNOWN if value is None else self.write(value) or "any"


@dataclass(frozen=True)
class TableSpec:
    """A table: that of `/api/v1` with this name.

    Attributes:
        name: In the path.
        row: Type of the rows.
        title: For people.
        about: What the rows are, and their order.
        empty: What is shown without rows.
        titles: Title and field of each column, the most important ones first: a narrow terminal shows these.
        key: Fields that identify a row over several polls.
        rank: The order: field to the key of its value, lowest first; without it, that in which the rows come.
        filters: Fields that can be filtered.
        of_sidecar: It is served without a fresh snapshot, too.
        of: What a column shows instead of the value of its field.
        sides: Of how many brokers and sides the curve needs the last hour; `None` without a curve.
        curve: What is drawn for a row.
    """

    name: str
    row: type
    title: str
    about: str
    empty: str
    titles: str
    key: tuple[str, ...]
    rank: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    filters: tuple[str, ...] = ()
    of_sidecar: bool = False
    of: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    sides: int | None = None
    curve: Callable[[History, Any], Curve | None] = lambda *_: None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns. How a number is written follows from the unit in the name of its metric."""
        return tuple(self._column(*part.rsplit(" ", 1)) for part in self.titles.split(", "))

    def _column(self, title: str, name: str) -> Column:
        value = self.of.get(name, attrgetter(name))
        if name in self.of or name in NAMES or name == "sentence":
            return Column(title, name, value, lambda text: visible(str(text)), number=False)
        if name in SHARES:
            return Column(title, name, value, in_percent, number=True)
        hint, about = fields_of(self.row)[name]
        metric = about.metric if isinstance(about, Of) else ""
        if not metric and hint != float | None:
            return Column(title, name, value, in_words, number=False, is_id=hint in (int, int | None))
        unit = "seconds" if name == "seconds" else next(unit for unit in _UNITS if unit in metric)
        return Column(title, name, value, _UNITS[unit], number=True, unit=unit)

    def ordered(self, rows: Iterable[Any], value: Callable[[str], Callable[[Any], Any]] = attrgetter) -> list[Any]:
        """Return the rows in their order; `value` returns what reads a field of one."""
        ordered = list(rows)
        for name, key in reversed(self.rank.items()):
            places = list(map(key, map(value(name), ordered)))
            ordered = [ordered[place] for place in sorted(range(len(places)), key=places.__getitem__)]
        return ordered

    def key_of(self, row: Any) -> tuple[Any, ...]:
        """Return what identifies a row."""
        return tuple(getattr(row, name) for name in self.key)
