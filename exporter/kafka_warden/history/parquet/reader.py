"""Reads the rows of history files, for tests, replays and users of Python."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_warden.history.column import Columns
from kafka_warden.history.parquet.arrow import schema_of
from kafka_warden.history.parquet.footers import Found, inventory, opened
from kafka_warden.history.schema import BY_NAME, TABLES


def read(path: Path | str, table: str, start: float = 0.0, end: float = float("inf")) -> Any:
    """Read the rows of a table with `start <= time < end`, in Unix seconds, as a `pyarrow.Table`.

    The table is empty if it has no rows of that time and another table has some.

    Raises:
        EmptyHistoryError: no table has a file of that time.
        HistoryFileError: names the file and what is wrong with it.
    """
    found = inventory(path).between(start, end)
    parts = [_read_file(found.system, file) for file in found.files if file.table == table]
    rows = pa.concat_tables(parts) if parts else schema_of(BY_NAME[table]).empty_table()
    return rows.filter((pc.field("time") >= start) & (pc.field("time") < end))


def _read_file(system: Any, file: Found) -> Any:
    """Read one file with the columns of this version; a column that is newer than the file is null."""
    with opened(system, file) as parquet:
        rows = parquet.read()
    schema = schema_of(BY_NAME[file.table])
    for field in schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field.name, pa.nulls(len(rows), field.type))
    return rows.select(schema.names).cast(schema)


def polls(path: Path, start: float = 0.0, end: float = float("inf")) -> Iterator[Mapping[str, Columns]]:
    """Yield the rows of each poll, run by run, as `replay.snapshot_of` takes them.

    Raises:
        EmptyHistoryError: as `read`.
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
