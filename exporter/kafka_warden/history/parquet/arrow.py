"""The tables in Arrow: schemas, and the rows of one poll."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_warden.history.column import DictionaryColumn, HistoryTable, Values
from kafka_warden.history.column_types import ColumnType, Kind, ListOf, MapOf, Scalar
from kafka_warden.history.schema import VERSION, Built, columns_of
from kafka_warden.model import UNKNOWN

VERSION_KEY: Final = b"kafka_warden.schema_version"
TABLE_KEY: Final = b"kafka_warden.table"
"""Keys of the metadata in the footer of a file."""

_KINDS: Final[Mapping[Kind, Any]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
}


def type_of(type_: ColumnType) -> Any:
    """Return the Arrow type of a column type."""
    if isinstance(type_, Scalar):
        return _KINDS[type_.kind]
    if isinstance(type_, ListOf):
        return pa.list_(type_of(type_.item))
    if isinstance(type_, MapOf):
        return pa.map_(pa.string(), type_of(type_.value))
    return pa.struct([(name, type_of(part)) for name, part in type_.fields])


def schema_of(table: HistoryTable) -> Any:
    """Return the Arrow schema of a table."""
    return pa.schema([(column.name, type_of(column.type)) for column in columns_of(table)])


def metadata_of(table: HistoryTable) -> dict[bytes, bytes]:
    """Return the metadata for the footer of a file."""
    return {VERSION_KEY: str(VERSION).encode(), TABLE_KEY: table.name.encode()}


def to_arrow(built: Built) -> Any:
    """Make a `pyarrow.Table` of the rows of one poll. Columns of few distinct values stay dictionary-encoded."""
    schema = schema_of(built.table)
    arrays = [_array(built.columns[field.name], field.type) for field in schema]
    return pa.table(dict(zip(schema.names, arrays, strict=True)))


def _array(values: Values, kind: Any) -> Any:
    if isinstance(values, DictionaryColumn):
        codes = pa.array(values.codes.astype(np.int32), mask=values.codes < 0)
        known = _listed(list(values.values), kind)
        # `take` imports pyarrow.compute, 3 MB.
        return known.take(codes) if pa.types.is_nested(kind) else pa.DictionaryArray.from_arrays(codes, known)
    if isinstance(values, list):
        return _listed(values, kind)
    if values.dtype.kind == "f":
        return pa.array(values, kind, mask=np.isnan(values))
    return pa.array(values, kind, mask=values == UNKNOWN if values.dtype.kind == "i" else None)


def _listed(values: list[Any], kind: Any) -> Any:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # UTF-8 has no lone surrogates; they are escaped, as in `/metrics`.
        return pa.array(_encodable(values), kind)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_encodable(each) for each in value]
    return value
