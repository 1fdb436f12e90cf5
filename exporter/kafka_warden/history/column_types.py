"""Types of columns: made from the types of the model, with conversions to and from Python values. Names are Spark's.

Unknown is null: `UNKNOWN` in integers, NaN in floats, `None` in optional types. `read` inverts `write`.

A field of the model that is stored has its description: `Annotated[type, description]`, or with a unit
`Annotated[type, description, unit]`.
"""

import types
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from kafka_warden.history.poll import topic_id_bytes, topic_id_text
from kafka_warden.model import UNKNOWN

PythonValue = Any
"""`None`, `bool`, `int`, `float`, `str`, or a list or a dict of these."""


Kind = Literal["boolean", "int", "bigint", "double", "string"]
"""Types of single values, with the names of Spark SQL."""


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
        if self.kind == "string":
            return topic_id_text(value) if isinstance(value, bytes) else str(value)
        if self.kind == "boolean":
            return bool(value)
        if self.kind == "double":
            return None if np.isnan(value) else float(value)
        return None if value == UNKNOWN and not self.optional else int(value)

    def read(self, value: PythonValue) -> Any:
        """Convert to a value of the model."""
        if value is not None:
            return self.make(value) if self.make is not None else value
        unknown: dict[Kind, Any] = {"int": UNKNOWN, "bigint": UNKNOWN, "double": np.nan}
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
    """Named values: the described fields of a dataclass or a named tuple."""

    fields: tuple[tuple[str, "ColumnType"], ...]
    make: Any
    """The dataclass or the named tuple."""

    def __str__(self) -> str:
        return f"struct<{','.join(f'{name}:{type_}' for name, type_ in self.fields)}>"

    def write(self, value: Any) -> PythonValue:
        """Convert to a dict."""
        return None if value is None else {name: type_.write(getattr(value, name)) for name, type_ in self.fields}

    def read(self, value: PythonValue) -> Any:
        """Convert to the dataclass or the named tuple.

        A field that is not stored, or younger than the row and null there, has its default; `None` without a default.
        """
        if value is None:
            return None
        required, optional = _required_and_optional(self.make)
        kept = {name: type_ for name, type_ in self.fields if value[name] is not None or name not in optional}
        stored = {name: type_.read(value[name]) for name, type_ in kept.items()}
        return self.make(**{**required, **stored})


@cache
def _required_and_optional(made: Any) -> tuple[Mapping[str, None], frozenset[str]]:
    """Return the fields of a dataclass without a default, and those with one."""
    found = fields(made) if is_dataclass(made) else ()
    optional = {each.name for each in found if (each.default, each.default_factory) != (MISSING, MISSING)}
    return {each.name: None for each in found if each.name not in optional}, frozenset(optional)


ColumnType = Scalar | ListOf | MapOf | Struct

INT: Final = np.int32
"""Spark's int, for numbers of the model that are small."""

_KINDS: Final[Mapping[Any, Kind]] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    str: "string",
    bytes: "string",
    np.bool_: "boolean",
    np.int8: "int",
    INT: "int",
    np.int64: "bigint",
    np.float64: "double",
}


@dataclass(frozen=True, slots=True)
class Described:
    """A type of the model, with its description and its unit."""

    type: Any
    """Without `| None`."""
    text: str = ""
    unit: str = ""
    optional: bool = False
    """It had `| None`."""


def described(annotation: Any) -> Described:
    """Take an annotation apart."""
    text, unit = "", ""
    if get_origin(annotation) is Annotated:
        annotation, text, *more = get_args(annotation)
        unit = more[0] if more else ""
    kept = [each for each in get_args(annotation) if each is not types.NoneType]
    if get_origin(annotation) in (types.UnionType, Union) and len(kept) == 1:
        return Described(kept[0], text, unit, optional=True)
    return Described(annotation, text, unit)


@cache
def fields_of(owner: Any) -> Mapping[str, Described]:
    """Return the fields of a dataclass or a named tuple, in their order, with forward references resolved."""
    return {name: described(hint) for name, hint in get_type_hints(owner, include_extras=True).items()}


def column_type_of(annotation: Any) -> ColumnType:
    """Return the column type for a type of the model.

    Raises:
        TypeError: there is none.
    """
    found = annotation if isinstance(annotation, Described) else described(annotation)
    kept, optional = found.type, found.optional
    origin, given = get_origin(kept), get_args(kept)
    if origin is np.ndarray:
        return Scalar(_KINDS[get_args(given[1])[0]])
    if kept in _KINDS:
        return Scalar(_KINDS[kept], optional, topic_id_bytes if kept is bytes else None)
    if isinstance(kept, type) and issubclass(kept, StrEnum):
        return Scalar("string", optional, kept)
    if is_dataclass(kept) or hasattr(kept, "_fields"):
        stored = ((name, column_type_of(field)) for name, field in fields_of(kept).items() if field.text)
        return Struct(tuple(stored), kept)
    if origin in (tuple, frozenset) and len({*given} - {...}) == 1:
        return ListOf(column_type_of(given[0]), origin)
    if isinstance(origin, type) and issubclass(origin, Mapping) and issubclass(given[0], str | int):
        return MapOf(column_type_of(given[1]), given[0])
    raise TypeError(f"no column type for {annotation}; add one in exporter/kafka_warden/history/column_types.py")
