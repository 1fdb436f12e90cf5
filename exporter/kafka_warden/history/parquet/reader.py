"""Reads history files: lists them, checks that each is whole, of its table and of a known version, and reads rows.

A footer has some kilobytes, so a whole folder can be checked before any row of it is read.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from kafka_warden.errors import ConfigError, EmptyHistoryError, HistoryFileError
from kafka_warden.history.column import Columns
from kafka_warden.history.parquet.arrow import TABLE_KEY, VERSION_KEY, schema_of
from kafka_warden.history.parquet.folder import SECONDS, hour_of
from kafka_warden.history.schema import BY_NAME, TABLES, VERSION

_PLACE: Final = re.compile(r"(?:^|/)([a-z]+)/date=(\d{4}-\d\d-\d\d)/hour=(\d\d)/([^/._][^/]*\.parquet)$")
"""Path of a history file, at any depth: the folder of a fleet has a folder for each exporter."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Found:
    """A file with rows of one table and hour."""

    place: str
    """Address with a scheme, for Spark."""
    path: str
    """Path on its file system."""
    table: str
    hour: int
    """Hours since 1970."""
    size: int = 0
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The files of a folder, in the order of hour and path."""

    folder: str
    system: Any
    """`pyarrow.fs.FileSystem` of the folder."""
    files: tuple[Found, ...]

    def between(self, start: float, end: float) -> "Inventory":
        """Keep the files that may have rows with `start <= time < end`, in Unix seconds.

        Raises:
            EmptyHistoryError: no table has a file of that time.
        """
        first, after = hours_of(start, end)
        kept = tuple(file for file in self.files if first <= file.hour < after)
        if not kept:
            raise EmptyHistoryError(f"{self.folder}: no history of the time from {start:g} to {end:g} (Unix seconds)")
        return Inventory(self.folder, self.system, kept)


def hours_of(start: float, end: float) -> tuple[float, float]:
    """Return the first and the last hour (excluded) with rows of a time span, in hours since 1970."""
    return start // SECONDS, end if math.isinf(end) else -(-end // SECONDS)


def inventory(folder: Path | str) -> Inventory:
    """List the history files below a folder, a path or an address such as `s3a://bucket/history`.

    Raises:
        ConfigError: the address cannot be used.
        EmptyHistoryError: there are no history files.
        HistoryFileError: the folder cannot be listed.
    """
    system, path, start = file_system(folder)
    try:
        entries = system.get_file_info(pafs.FileSelector(path, allow_not_found=True, recursive=True))
    except OSError as problem:
        raise HistoryFileError(f"{folder}: cannot be listed ({problem}); give the folder of the history") from problem
    files = sorted(_found(entries, path, start), key=lambda file: (file.hour, file.path))
    if not files:
        raise EmptyHistoryError(
            f"{folder}: no file of history in it; give the folder of history.parquet.path, or a parent folder"
        )
    return Inventory(str(folder), system, tuple(files))


def _found(entries: list[Any], folder: str, start: str) -> Iterator[Found]:
    for entry in entries:
        place = _PLACE.search(entry.path) if entry.is_file else None
        if place and place[1] in BY_NAME and (hour := hour_of(place[2], place[3])) is not None:
            yield Found(f"{start}{entry.path.removeprefix(folder)}", entry.path, place[1], hour, entry.size)


def file_system(folder: Path | str) -> tuple[Any, str, str]:
    """Return the file system of a folder, the path on it, and its address for Spark.

    Raises:
        ConfigError: the address cannot be used.
    """
    # Spark writes `file:/tmp`, users write `file:///tmp`.
    text = re.sub(r"^file:/+", "/", str(folder))
    if _SCHEME.match(text) is None:
        path = str(Path(text).absolute())
        return pafs.LocalFileSystem(), path, f"file://{path}"
    try:
        system, path = _from_uri(text)
    except (pa.ArrowInvalid, OSError) as problem:
        raise ConfigError(
            f"{folder}: files cannot be listed at this address ({problem}); give a folder, or an address such as"
            " s3a://bucket/history. A topic is kafka://HOST:PORT/TOPIC"
        ) from problem
    # The path need not be a part of the address: that of an ABFS account begins with the container.
    return system, path.rstrip("/"), text.rstrip("/")


def _from_uri(text: str) -> tuple[Any, str]:
    # Hadoop's s3a is s3 in Arrow.
    system, path = pafs.FileSystem.from_uri(re.sub(r"^s3[an]://", "s3://", text))
    return system, path


@contextmanager
def opened(system: Any, file: Found) -> Iterator[Any]:
    """Open a file as `pyarrow.parquet.ParquetFile` and check its footer. It converts errors of reading, too.

    Raises:
        HistoryFileError: it cannot be opened, is cut off or not Parquet, is not of the table or of a newer version, or
            a column is missing or has another type.
    """
    try:
        source = system.open_input_file(file.path)
    except OSError as problem:
        raise HistoryFileError(
            f"{file.place}: it cannot be opened ({problem}); check the permissions, or start again if"
            " retention has just deleted it"
        ) from problem
    try:
        with source, pq.ParquetFile(source) as parquet:
            _check(file, parquet)
            yield parquet
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as problem:  # the second: the name of a column
        raise HistoryFileError(
            f"{file.place}: it is cut off or damaged ({problem}); remove it, the other files can be read without it"
        ) from problem


def _check(file: Found, parquet: Any) -> None:
    place, table, metadata = file.place, file.table, parquet.metadata.metadata or {}
    if metadata.get(TABLE_KEY) != table.encode() or not metadata.get(VERSION_KEY, b"").isdigit():
        raise HistoryFileError(f"{place}: not a file of the table {table} that kafka-warden wrote; remove it")
    version = int(metadata[VERSION_KEY])
    if version > VERSION:
        raise HistoryFileError(
            f"{place}: its tables are of version {version}, and this program reads up to {VERSION}; update kafka-warden"
        )
    found = {field.name: field.type for field in parquet.schema_arrow}
    for field in schema_of(BY_NAME[table]):
        kind = found.get(field.name)
        if kind is None:
            if version == VERSION:
                raise HistoryFileError(
                    f"{place}: the column {field.name} of the table {table} is missing; restore the file"
                )
        elif not _fits(kind.value_type if pa.types.is_dictionary(kind) else kind, field.type, older=version < VERSION):
            raise HistoryFileError(
                f"{place}: the column {field.name} of the table {table} is {kind}, not {field.type}; restore the file"
            )


def _fits(found: Any, wanted: Any, *, older: bool) -> bool:
    """Return whether a column has its type. Structures of an older file may lack fields that came later."""
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        kinds = {field.name: field.type for field in found}
        complete = len(kinds) == len(wanted) or older
        known = [field for field in wanted if field.name in kinds]
        alike = all(_fits(kinds[field.name], field.type, older=older) for field in known)
        return complete and alike and len(known) == len(kinds)
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        return _fits(found.value_type, wanted.value_type, older=older)
    return bool(found == wanted)


def read(path: Path | str, table: str, start: float = 0.0, end: float = float("inf")) -> Any:
    """Read the rows of a table with `start <= time < end`, in Unix seconds, as a `pyarrow.Table`.

    The table is empty if it has no rows of that time and another table has some.

    Raises:
        EmptyHistoryError: no table has a file of that time.
        HistoryFileError: names the file and what is wrong with it.
    """
    found, schema = inventory(path).between(start, end), schema_of(BY_NAME[table])
    parts = [schema.empty_table()]
    for file in found.files:
        if file.table == table:
            with opened(found.system, file) as parquet:
                parts.append(parquet.read(schema.names))
    # A column or a field that is newer than a file is null there.
    rows = pa.concat_tables(parts, promote_options="permissive")
    return rows.filter((pc.field("time") >= start) & (pc.field("time") < end))


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
    began: dict[str, float] = {}
    for (run, _), time in found.items():
        began[run] = min(time, began.get(run, time))
    return sorted(found, key=lambda key: (began[key[0]], *key))
