"""The tables in Arrow's words: types, and the rows of one poll."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_warden.history.column import Coded, Table, Values
from kafka_warden.history.schema import VERSION, Built, columns_of
from kafka_warden.history.shapes import Kind, ListOf, MapOf, Scalar, Shape
from kafka_warden.model import UNKNOWN

VERSION_KEY: Final = b"kafka_warden.schema_version"
TABLE_KEY: Final = b"kafka_warden.table"
"""What a file tells of itself, besides its rows."""

_KINDS: Final[Mapping[Kind, Any]] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
}


def type_of(shape: Shape) -> Any:
    """Make the Arrow type of a shape."""
    if isinstance(shape, Scalar):
        return _KINDS[shape.kind]
    if isinstance(shape, ListOf):
        return pa.list_(type_of(shape.item))
    if isinstance(shape, MapOf):
        return pa.map_(pa.string(), type_of(shape.value))
    return pa.struct([(name, type_of(part)) for name, part in shape.fields])


def schema_of(table: Table[Any]) -> Any:
    """Make the Arrow schema of a table."""
    return pa.schema([(column.name, type_of(column.shape)) for column in columns_of(table)])


def metadata_of(table: Table[Any]) -> dict[bytes, bytes]:
    """Say what a file holds."""
    return {VERSION_KEY: str(VERSION).encode(), TABLE_KEY: table.name.encode()}


def to_arrow(built: Built) -> Any:
    """Make the `pyarrow.Table` of the rows of one poll; texts that repeat stay coded, and take little."""
    schema = schema_of(built.table)
    arrays = [_array(built.columns[field.name], field.type) for field in schema]
    return pa.table(dict(zip(schema.names, arrays, strict=True)))


def _array(values: Values, kind: Any) -> Any:
    if isinstance(values, Coded):
        codes = pa.array(values.codes.astype(np.int32), mask=values.codes < 0)
        known = _listed(list(values.values), kind)
        return pa.DictionaryArray.from_arrays(codes, known) if pa.types.is_string(kind) else known.take(codes)
    if isinstance(values, list):
        return _listed(values, kind)
    if values.dtype.kind == "f":
        return pa.array(values, kind, mask=np.isnan(values))
    return pa.array(values, kind, mask=values == UNKNOWN if values.dtype.kind == "i" else None)


def _listed(values: list[Any], kind: Any) -> Any:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # A lone surrogate costs a name its spelling, as it does on the page.
        return pa.array(_spelled(values), kind)


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_spelled(key): _spelled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_spelled(each) for each in value]
    return value
