"""The sections of the report, from report.toml. Titles, units and descriptions of columns follow from the marts."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from string import Formatter
from typing import Any, Final

from kafka_warden.formatting import YEAR_10000, in_few, in_utc, in_words, visible
from kafka_warden.pipeline.marts import MARTS, Field
from kafka_warden.pipeline.report_plots import WRITERS, Plot
from kafka_warden.views.table_spec import NAMES, UNKNOWN, Column, TableSpec

JOB_OF: Final = {mart.name: job for job, marts in MARTS.items() for mart in marts}
"""Name of a mart to the job that makes it."""
MART_OF: Final = {mart.name: mart for marts in MARTS.values() for mart in marts}
"""Name to mart."""

_OWN: Final = "of "
"""Begin of the unit of a column whose rows have units of their own, in the column `unit`."""
_NUMBERS: Final = ("double", "bigint", "int", "timestamp")
_PLAIN: Final = NAMES | {"move", "subject", "bottleneck", "why"}


def marts_of(query: str) -> list[str]:
    """Return the marts and views of a query."""
    return [name for _, name, _, _ in Formatter().parse(query) if name]


def in_instant(seconds: float) -> str:
    """Format a Unix time, in UTC; only the day if it is midnight."""
    if seconds >= YEAR_10000:
        # A nearly flat line reaches its limit after all dates.
        return "after the year 9999"
    return (in_utc(seconds) or UNKNOWN).removesuffix(" UTC").removesuffix(" 00:00:00")


@dataclass(frozen=True, slots=True)
class OwnUnit(Column):
    """A column of numbers whose unit is in the row."""

    def text(self, row: Any) -> str:
        """Return the text of the cell."""
        value = self.value(row)
        return UNKNOWN if value is None else _of_unit(row["unit"] or "")(value)


@dataclass(frozen=True, kw_only=True)
class Section(TableSpec):
    """A section of a page: the table of a query's rows, and plots.

    Attributes:
        query: Spark SQL.
        sentence: The answer, a Jinja template.
        facts: A query with one row, for the sentence.
        computed: Columns of the query that no mart has.
        plots: Drawn above the table.
        most: Rows that are listed and drawn.
        brief: Whether the index repeats the sentence.
    """

    row: type = dict
    key: tuple[str, ...] = ()
    query: str
    sentence: str
    facts: str
    computed: tuple[Field, ...]
    plots: tuple[Plot, ...]
    most: int
    brief: bool

    def described(self, name: str) -> Field:
        """Return the description of a column."""
        marts = (MART_OF[mart] for mart in marts_of(self.query) if mart in MART_OF)
        fields = (*self.computed, *(field for mart in marts for field in mart.columns))
        return next(field for field in fields if field.name == name)

    @staticmethod
    def look(column: Column) -> str:
        """Return the CSS class of a column: a `name` may be long."""
        return "number" if column.number else "" if column.write is in_words else "name"

    def _column(self, title: str, name: str) -> Column:
        described = self.described(name)
        if described.unit.startswith(_OWN):
            return OwnUnit(title, name, itemgetter(name), in_few, number=True)
        is_id, number = described.type == "int", described.type in _NUMBERS
        return Column(title, name, itemgetter(name), _writer(described), number, is_id=is_id)


def _writer(described: Field) -> Callable[[Any], str]:
    if described.type == "string":
        return visible if described.name in _PLAIN else in_words
    if described.type == "timestamp":
        return in_instant
    if described.type == "int":
        return str
    write = _of_unit(described.unit)
    if described.type in _NUMBERS:
        return write

    def of_map(values: Mapping[str, Any]) -> str:
        parts = ((key, value if isinstance(value, str) else write(value)) for key, value in values.items())
        return ", ".join(f"{in_words(key)} {visible(value)}" for key, value in sorted(parts)) or UNKNOWN

    return of_map


def _of_unit(unit: str) -> Callable[[float], str]:
    return WRITERS[unit] if unit in WRITERS else lambda value: f"{in_few(value)} {unit}"


def _section(described: Mapping[str, Any]) -> Section:
    plots = (
        Plot(**{**each, **{axis: tuple(each[axis]) for axis in ("x", "y") if axis in each}})
        for each in described.get("plot", ())
    )
    return Section(
        **{name: described[name] for name in ("name", "title", "about", "empty", "query", "sentence")},
        titles=described["columns"],
        facts=described.get("facts", ""),
        computed=tuple(Field(name, *field) for name, field in described.get("computed", {}).items()),
        plots=tuple(plots),
        most=described.get("most", 200),
        brief=described.get("brief", False),
    )


_FILE: Final = tomllib.loads(Path(__file__).with_name("report.toml").read_text(encoding="utf-8"))
SERIES: Final[Mapping[str, str]] = _FILE["series"]
"""Series of plots to its colour and form, in drawing order."""
VIEWS: Final[Mapping[str, str]] = _FILE["views"]
"""Name to a query that others read like a mart. It is computed once for all of them."""
SECTIONS: Final = tuple(map(_section, _FILE["section"]))
"""All sections, in their order."""
