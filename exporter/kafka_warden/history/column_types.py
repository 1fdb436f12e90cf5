"""Types of columns: made from the types of the model, with conversions to and from Python values. Names are Spark's.

Unknown is null: `UNKNOWN` in integers, NaN in floats, `None` in optional types. `read` inverts `write`.
"""

import types
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import numpy as np

from kafka_warden.model import UNKNOWN

PythonValue = Any
"""`None`, `bool`, `int`, `float`, `str`, or a list or a dict of these."""


class Kind(StrEnum):
    """Types of single values, with the names of Spark SQL."""

    BOOLEAN = "boolean"
    INT = "int"
    BIGINT = "bigint"
    DOUBLE = "double"
    STRING = "string"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value."""

    kind: Kind
    optional: bool = False
    """Unknown is `None`; if false, it is `UNKNOWN` or NaN."""
    make: Callable[[Any], Any] | None = None
    """Makes the value of the model, if its type is another one."""

    def __str__(self) -> str:
        return self.kind

    def write(self, value: Any) -> PythonValue:
        """Convert a value of the model."""
        if value is None:
            return None
        if self.kind is Kind.STRING:
            return str(value)
        if self.kind is Kind.BOOLEAN:
            return bool(value)
        if self.kind is Kind.DOUBLE:
            return None if np.isnan(value) else float(value)
        return None if value == UNKNOWN and not self.optional else int(value)

    def read(self, value: PythonValue) -> Any:
        """Convert to a value of the model."""
        if value is not None:
            return self.make(value) if self.make is not None else value
        unknown: dict[Kind, Any] = {Kind.INT: UNKNOWN, Kind.BIGINT: UNKNOWN, Kind.DOUBLE: np.nan}
        return None if self.optional else unknown.get(self.kind)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list."""

    item: "ColumnType"
    make: Callable[[Any], Any] = tuple

    def __str__(self) -> str:
        return f"array<{self.item}>"

    def write(self, value: Any) -> PythonValue:
        """Convert a sequence or a set; a set is sorted."""
        if value is None:
            return None
        return [self.item.write(each) for each in (sorted(value) if isinstance(value, AbstractSet) else value)]

    def read(self, value: PythonValue) -> Any:
        """Convert to the type of the model."""
        return None if value is None else self.make(self.item.read(each) for each in value)


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping with text keys; numbers become text."""

    value: "ColumnType"
    key: Callable[[Any], Any] = str

    def __str__(self) -> str:
        return f"map<string,{self.value}>"

    def write(self, value: Any) -> PythonValue:
        """Convert a mapping to one with text keys."""
        return None if value is None else {str(key): self.value.write(each) for key, each in value.items()}

    def read(self, value: PythonValue) -> Any:
        """Convert to the mapping of the model. Arrow gives a list of pairs."""
        return None if value is None else {self.key(key): self.value.read(each) for key, each in dict(value).items()}


@dataclass(frozen=True, slots=True)
class Struct:
    """Named values: a dataclass."""

    fields: tuple[tuple[str, "ColumnType"], ...]
    make: Any = None
    """The dataclass."""

    def __str__(self) -> str:
        return f"struct<{','.join(f'{name}:{type_}' for name, type_ in self.fields)}>"

    def write(self, value: Any) -> PythonValue:
        """Convert a dataclass to a dict."""
        return None if value is None else {name: type_.write(getattr(value, name)) for name, type_ in self.fields}

    def read(self, value: PythonValue) -> Any:
        """Convert to the dataclass. A field that is younger than the row is null there, and has its default."""
        if value is None:
            return None
        absent = {each.name for each in fields(self.make) if each.default is not MISSING}
        return self.make(
            **{
                name: type_.read(value[name])
                for name, type_ in self.fields
                if value[name] is not None or name not in absent
            }
        )


ColumnType = Scalar | ListOf | MapOf | Struct

BOOLEAN: Final = Scalar(Kind.BOOLEAN)
INT: Final = Scalar(Kind.INT)
BIGINT: Final = Scalar(Kind.BIGINT)
DOUBLE: Final = Scalar(Kind.DOUBLE)
STRING: Final = Scalar(Kind.STRING)

_SCALARS: Final[Mapping[Any, Scalar]] = {bool: BOOLEAN, int: BIGINT, float: DOUBLE, str: STRING}
_COLUMNS: Final[Mapping[Any, Scalar]] = {
    np.bool_: BOOLEAN,
    np.int8: INT,
    np.int32: INT,
    np.int64: BIGINT,
    np.float64: DOUBLE,
}


_hints: Final = cache(get_type_hints)


def hints(owner: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, in their order, with forward references resolved."""
    found = _hints(owner)
    return {each.name: found[each.name] for each in fields(owner)}


def bare(annotation: Any) -> tuple[Any, bool]:
    """Return a type without `| None`, and whether it had that."""
    if get_origin(annotation) in (types.UnionType, Union):
        (kept,) = (each for each in get_args(annotation) if each is not types.NoneType)
        return kept, True
    return annotation, False


def column_type_of(annotation: Any, *, optional: bool = False) -> ColumnType:
    """Return the column type for a type of the model.

    Raises:
        TypeError: there is none.
    """
    annotation, may_miss = bare(annotation)
    origin, given = get_origin(annotation), get_args(annotation)
    optional = optional or may_miss
    if origin is np.ndarray:
        return _COLUMNS[get_args(given[1])[0]]
    if annotation in _SCALARS:
        return Scalar(_SCALARS[annotation].kind, optional)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return Scalar(Kind.STRING, optional, annotation)
    if is_dataclass(annotation):
        return Struct(tuple((name, column_type_of(hint)) for name, hint in hints(annotation).items()), annotation)
    if origin is tuple and len(set(given) - {...}) == 1:
        return ListOf(column_type_of(given[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping) and issubclass(given[0], str | int):
        return MapOf(column_type_of(given[1]), given[0])
    raise TypeError(f"no column type for {annotation}; add one in exporter/kafka_warden/history/column_types.py")
