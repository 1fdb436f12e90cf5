"""Tables and columns: what each holds, where its values come from, and how they are read from a poll."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar, get_args

import numpy as np

from kafka_warden.history.column_types import ColumnType, PythonValue, bare, column_type_of, hints
from kafka_warden.history.poll import Poll
from kafka_warden.model import UNKNOWN


class Role(StrEnum):
    """Origin of a column."""

    KEY = "key"
    RAW = "raw"
    """Reported by brokers or set by the user."""
    DERIVED = "derived"
    """Computed by the sidecar from raw values."""


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
    listed: list[PythonValue] = values.tolist()
    if values.dtype.kind == "f":
        return [None if math.isnan(value) else value for value in listed] if np.isnan(values).any() else listed
    if values.dtype.kind == "i":
        return [None if value == UNKNOWN else value for value in listed] if (values == UNKNOWN).any() else listed
    return listed


class Rows(Protocol):
    """The rows of one table in one poll."""

    @property
    def poll(self) -> Poll:
        """The poll."""

    def __len__(self) -> int: ...


R = TypeVar("R", bound=Rows)


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column."""

    name: str
    role: Role
    help: str
    sources: tuple[str, ...]
    """Paths in `Poll` that it holds completely; `[]` means each entry of a mapping or of a tuple."""
    type: ColumnType
    read: Callable[[R], Values]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table(Generic[R]):
    """One table."""

    name: str
    about: str
    key: tuple[str, ...]
    """Columns that identify a row of one poll."""
    columns: tuple[Column[R], ...]
    rows: Callable[[Poll], R]
    """Makes the rows of a poll."""
    size: Callable[[Poll], int] | None = None
    """Counts the rows of a poll, if to make them takes time."""

    def count(self, poll: Poll) -> int:
        """Count the rows of a poll without making them."""
        return self.size(poll) if self.size is not None else len(self.rows(poll))


def annotation_at(path: str, start: Any = Poll) -> Any:
    """Return the type at a path, such as `snapshot.brokers[].host`, without `| None`."""
    found = start
    for part in path.split("."):
        name = part.removesuffix("[]")
        found, _ = bare(found)
        found = hints(found)[name]
        if part != name:
            found, _ = bare(found)
            found = next(each for each in reversed(get_args(found)) if each is not ...)
    return found


def leaves(start: Any, prefix: str) -> tuple[str, ...]:
    """List every path below a dataclass, also in entries of mappings and tuples that are dataclasses."""
    found: list[str] = []
    for name, annotation in hints(start).items():
        place, (kept, _) = f"{prefix}{name}", bare(annotation)
        entries = [each for each in get_args(kept)[-2:] if is_dataclass(each)]
        if is_dataclass(kept):
            found += leaves(kept, f"{place}.")
        elif entries:
            found += leaves(entries[0], f"{place}[].")
        else:
            found.append(place)
    return tuple(found)


def role_of(sources: Sequence[str]) -> Role:
    """Return the role of a column that is no key."""
    return Role.DERIVED if sources and sources[0].startswith("derived.") else Role.RAW


def array_column(name: str, text: str, source: str, unit: str = "", role: Role | None = None) -> Column[Any]:
    """Make a column from an array of the poll that has a value for each row of the table."""
    read, type_ = attrgetter(f"poll.{source}"), column_type_of(annotation_at(source))
    return Column(name, role or role_of([source]), text, (source,), type_, read, unit)
