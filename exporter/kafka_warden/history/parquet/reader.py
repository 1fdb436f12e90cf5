"""Reads the files of a folder back: for tests, for a replay, and for people with a Python prompt."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_warden.errors import EmptyHistoryError
from kafka_warden.history.parquet.arrow import schema_of
from kafka_warden.history.parquet.folder import SECONDS, hours
from kafka_warden.history.parquet.footers import check, damaged, opened
from kafka_warden.history.restore import Columns
from kafka_warden.history.schema import BY_NAME, TABLES


def files(path: Path, table: str, start: float, end: float) -> list[Path]:
    """List the files of a table that may have rows of a time, whole ones only, in the order of their hours."""
    first, last = start // SECONDS, end / SECONDS
    found = [directory for hour, directory in hours(path) if first <= hour < last and table in directory.parts[-3:-2]]
    return [
        file for directory in found for file in sorted(directory.glob("*.parquet")) if not file.name.startswith(".")
    ]


def read(path: Path, table: str, start: float = 0.0, end: float = float("inf")) -> Any:
    """Read the rows of a table from a time up to but without another one, both in Unix seconds, as a `pyarrow.Table`.

    A table may have no rows while others have, `moves` for one; it is empty then.

    Raises:
        EmptyHistoryError: no table has a file of that time.
        HistoryFileError: one that names the file and says what is wrong with it.
    """
    schema, found = schema_of(BY_NAME[table]), files(path, table, start, end)
    if not found and not any(files(path, other.name, start, end) for other in TABLES):
        raise EmptyHistoryError(f"{path}: no history of the time from {start:g} to {end:g} (Unix seconds)")
    parts = [read_file(file, table) for file in found]
    rows = pa.concat_tables(parts) if parts else schema.empty_table()
    return rows.filter((pc.field("time") >= start) & (pc.field("time") < end))


def read_file(file: Path, table: str) -> Any:
    """Read one file. Columns that came with a later version than the file's are null.

    Raises:
        HistoryFileError: one that names the file and says what is wrong with it.
    """
    with opened(file, Path, file) as parquet:
        check(file, table, parquet.metadata.metadata or {}, parquet.schema_arrow)
        try:
            rows = parquet.read()
        except (pa.ArrowInvalid, OSError) as problem:
            raise damaged(file, problem) from problem
    return _shaped(table, rows)


def polls(path: Path, start: float = 0.0, end: float = float("inf")) -> Iterator[Mapping[str, Columns]]:
    """Yield the rows of one poll after the other, run by run, as `restore.snapshot_of` takes them.

    Raises:
        HistoryFileError: as `read`.
    """
    tables = {table.name: read(path, table.name, start, end) for table in TABLES}
    for run, sequence in _order(tables["polls"]):
        mine = (pc.field("run") == run) & (pc.field("sequence") == sequence)
        yield {name: rows.filter(mine).to_pydict() for name, rows in tables.items()}


def _order(rows: Any) -> Sequence[tuple[str, int]]:
    named = zip(rows["run"].to_pylist(), rows["sequence"].to_pylist(), rows["time"].to_pylist(), strict=True)
    found = {(run, sequence): time for run, sequence, time in named}
    began = {run: min(time for (other, _), time in found.items() if other == run) for run, _ in found}
    return sorted(found, key=lambda key: (began[key[0]], *key))


def _shaped(table: str, rows: Any) -> Any:
    """Bring the columns into the order and types of this version."""
    schema = schema_of(BY_NAME[table])
    for name in schema.names:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(len(rows), schema.field(name).type))
    return rows.select(schema.names).cast(schema)
