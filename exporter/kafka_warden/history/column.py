"""Tables and columns: what each holds, where its values come from, and how they are read from a poll.

A path such as `snapshot.replicas.end` leads from a `Poll` to a value; `[]` is the entry of one row in a mapping or a
tuple. The type of a column, its description and its unit are those of the field at the end of its path.
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, get_args

import numpy as np

from kafka_warden.arrays import listed
from kafka_warden.history.column_types import ColumnType, Described, PythonValue, column_type_of, described, fields_of
from kafka_warden.history.poll import Poll


@dataclass(frozen=True, slots=True)
class DictionaryColumn:
    """A column of few distinct values: an index into them for each row, negative for unknown."""

    codes: np.ndarray
    values: Sequence[PythonValue]

    def __len__(self) -> int:
        return len(self.codes)


Values = np.ndarray | list[PythonValue] | DictionaryColumn
"""A column. Unknown is `UNKNOWN` or NaN in arrays, as in the model, and `None` in lists."""


def python_values(values: Values) -> list[PythonValue]:
    """Turn a column into a list, with `None` where a value is unknown."""
    if isinstance(values, list):
        return values
    if isinstance(values, DictionaryColumn):
        return [values.values[code] if code >= 0 else None for code in values.codes.tolist()]
    return listed(values)


Columns = Mapping[str, Sequence[PythonValue]]
"""Values of the rows of one poll by column, `None` for null: the result of `pyarrow.Table.to_pydict`."""


@dataclass(frozen=True, slots=True)
class HistoryColumn:
    """One column."""

    name: str
    help: str
    unit: str
    type: ColumnType
    sources: tuple[str, ...]
    """Paths that it holds completely."""
    read: Callable[[Poll, Any], Values]
    """Reads the values of the rows of a poll."""

    @property
    def derived(self) -> bool:
        """Whether the exporter computes it from raw values, which brokers report or the user sets."""
        return any(source.startswith("derived.") for source in self.sources)


@dataclass(frozen=True, slots=True)
class HistoryTable:
    """One table."""

    name: str
    about: str
    key: tuple[str, ...]
    """Columns that identify a row of one poll."""
    columns: tuple[HistoryColumn, ...]
    rows: Callable[[Poll], Sized]
    """Lists the rows of a poll; a column reads one value of each."""
    size: Callable[[Poll], int] | None = None
    """Counts the rows of a poll, if to list them takes time."""
    sources: tuple[str, ...] = ()
    """Paths that its rows hold completely, beside those of its columns."""

    def count(self, poll: Poll) -> int:
        """Count the rows of a poll without making them."""
        return len(self.rows(poll)) if self.size is None else self.size(poll)


def described_at(path: str) -> Described:
    """Return the type at a path, with the description and the unit of the last field."""
    found = Described(Poll)
    for part in path.split("."):
        name = part.removesuffix("[]")
        found = fields_of(found.type)[name]
        if part != name:
            entry = described(next(each for each in reversed(get_args(found.type)) if each is not ...))
            found = replace(found, type=entry.type, optional=entry.optional)
    return found


def column(
    name: str,
    path: str = "",
    each: Callable[[Poll, Any], Any] | None = None,
    *,
    read: Callable[[Poll, Any], Values] | None = None,
    type_: Any = None,
    text: str = "{}",
    unit: str = "",
    sources: tuple[str, ...] = (),
) -> HistoryColumn:
    """Make a column, by default of the array at a path.

    Args:
        name: of the column.
        path: to the field that has its type, description and unit; empty: they are given.
        each: returns a value of the model for one row of a poll.
        read: returns all values of a poll at once.
        type_: another type, of the model, or `INT`.
        text: another description; `{}` is that of the field.
        unit: another unit.
        sources: what it holds, if that is not just the path.
    """
    found, at_path = described_at(path) if path else Described(type_), attrgetter(path)
    kind = column_type_of(type_ or found)
    if each is not None:
        read = partial(_by_row, kind, each)
    held = sources or ((path,) if path else ())
    return HistoryColumn(
        name, text.format(found.text), unit or found.unit, kind, held, read or (lambda poll, _: at_path(poll))
    )


def _by_row(kind: ColumnType, each: Callable[[Poll, Any], Any], poll: Poll, rows: Sequence[Any]) -> list[PythonValue]:
    return [kind.write(each(poll, row)) for row in rows]


def part_column(part: str, name: str, path: str, *, type_: Any = None, text: str = "{}") -> HistoryColumn:
    """Make a column of a value that a part of each row has under the name at the end of the path; null without it."""
    attribute = path.rpartition(".")[2]
    return column(name, path, lambda _, row: getattr(getattr(row, part), attribute, None), type_=type_, text=text)


def columns(make: Callable[[str, str], HistoryColumn], path: str, *names: str) -> list[HistoryColumn]:
    """Make a column of each of these fields of the value at a path. `make` takes its name, and its path."""
    return [make(name, f"{path}.{name}") for name in names]


def row_columns(row: Any, path: str = "", **types: Any) -> list[HistoryColumn]:
    """Make a column of each described field of the class of the rows.

    Args:
        row: the class.
        path: to a class of the model that has some fields with the same names, which these columns hold.
        types: types by name, where not those of the fields.
    """
    of_model = fields_of(described_at(path).type) if path else {}

    def made(name: str, field: Described) -> HistoryColumn:
        held = (f"{path}.{name}",) if name in of_model else ()
        kind = types.get(name, field)
        return column(
            name, each=lambda _, row: getattr(row, name), type_=kind, text=field.text, unit=field.unit, sources=held
        )

    return [made(name, field) for name, field in fields_of(row).items() if field.text]


@dataclass(frozen=True, slots=True)
class KeyedRow:
    """A row that is a broker or a topic."""

    key: int | str
    """Broker id or topic name: its key in mappings."""
    place: int | None
    """Its index in arrays; `None` if they do not have it."""


def entry_column(name: str, path: str, *, text: str = "{}", unit: str = "") -> HistoryColumn:
    """Make a column of the value that each `KeyedRow` has in the mapping or the array at a path."""
    container, _, attribute = path.partition("[]")
    values_of, value_of = attrgetter(container), attrgetter(attribute[1:]) if attribute else None

    def read(poll: Poll, row: KeyedRow) -> Any:
        values = values_of(poll)
        if isinstance(values, Mapping):
            found = values.get(row.key)
        else:
            found = None if values is None or row.place is None else values[row.place]
        return found if found is None or value_of is None else value_of(found)

    return column(name, path, read, text=text, unit=unit)


def records(stored: Sequence[HistoryColumn], prefix: str, rows: Columns) -> list[dict[str, Any]]:
    """Return, for each row, the values of the model at the paths that begin with a prefix, by the rest of the path."""
    found = {
        path.removeprefix(prefix): each
        for each in stored
        for path in each.sources
        if path.startswith(prefix) and path.removeprefix(prefix).isidentifier()
    }
    read = ([each.type.read(value) for value in rows[each.name]] for each in found.values())
    return [dict(zip(found, row, strict=True)) for row in zip(*read, strict=True)]


def entries(stored: Sequence[HistoryColumn], path: str, keys: Sequence[Any], rows: Columns) -> dict[Any, Any]:
    """Return the values of the model at a path by the key of their row, without unknown ones."""
    (found,) = (each for each in stored if path in each.sources)
    values = zip(keys, rows[found.name], strict=True)
    return {key: found.type.read(value) for key, value in values if value is not None}
