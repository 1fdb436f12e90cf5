"""What the ends of files tell: whether each is whole, of the right table, of a version that this program reads.

A footer is some kilobytes, so that a folder is checked before Spark, or anybody, reads a row of it.
"""

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from kafka_warden.errors import (
    ConfigError,
    DamagedFileError,
    EmptyHistoryError,
    HistoryFileError,
    MissingColumnError,
    NewerSchemaError,
    UnreadableFileError,
)
from kafka_warden.history.parquet.arrow import TABLE_KEY, VERSION_KEY, schema_of
from kafka_warden.history.parquet.folder import SECONDS
from kafka_warden.history.schema import BY_NAME, VERSION

THREADS: Final = 16
"""Footers that are read at a time: an object store takes tens of milliseconds for each."""

_PLACE: Final = re.compile(r"(?:^|/)([a-z]+)/date=(\d{4}-\d\d-\d\d)/hour=(\d\d)/([^/._][^/]*\.parquet)$")
"""What a file of history is found by, however deep it stands: a folder of a fleet has one below it for each sidecar."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Found:
    """A file of one hour of a table."""

    place: str
    """As Spark takes it, with a scheme."""
    path: str
    """On its file system."""
    table: str
    hour: int
    """Hours since 1970."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What the end of a file tells."""

    file: Found
    version: int
    rows: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """The files of a folder, by table, in the order of their hours and names; unread as yet."""

    folder: str
    system: Any
    """Of pyarrow: where the folder stands."""
    files: tuple[Found, ...]

    def between(self, start: float, end: float) -> "Inventory":
        """Keep the hours that may have rows of a time, in Unix seconds, `end` excluded.

        Raises:
            EmptyHistoryError: no table has a file of that time.
        """
        first, after = hours_of(start, end)
        kept = tuple(file for file in self.files if first <= file.hour < after)
        if not kept:
            raise EmptyHistoryError(f"{self.folder}: no history of the time from {start:g} to {end:g} (Unix seconds)")
        return Inventory(self.folder, self.system, kept)

    def footers(self, table: str) -> list[Footer]:
        """Read the footer of every file of a table, and check it.

        Raises:
            HistoryFileError: one that names the file and says what is wrong with it.
        """
        mine = [file for file in self.files if file.table == table]
        with ThreadPoolExecutor(THREADS) as threads:
            return list(threads.map(self._footer, mine))

    def _footer(self, file: Found) -> Footer:
        with opened(file.place, self.system.open_input_file, file.path) as parquet:
            version = check(file.place, file.table, parquet.metadata.metadata or {}, parquet.schema_arrow)
            return Footer(file, version, parquet.metadata.num_rows)


def hours_of(start: float, end: float) -> tuple[float, float]:
    """The first hour that may have rows of a time, in Unix seconds, and the one after the last: hours since 1970."""
    return start // SECONDS, end if math.isinf(end) else -(-end // SECONDS)


def inventory(folder: Path | str) -> Inventory:
    """List the files of history below a folder; a text with a scheme, such as `s3a://`, is an address.

    Raises:
        ConfigError: an address that is none.
        EmptyHistoryError: there is none.
    """
    system, path, prefix = _system(folder)
    try:
        entries = system.get_file_info(pafs.FileSelector(path, recursive=True))
    except OSError as problem:
        raise EmptyHistoryError(f"{folder}: cannot be listed ({problem}); give the folder of history") from problem
    files = sorted(_found(entries, prefix), key=lambda file: (file.hour, file.path))
    if not files:
        raise EmptyHistoryError(
            f"{folder}: no file of history in it; give the folder of history.parquet.path, or one that has such in it"
        )
    return Inventory(str(folder), system, tuple(files))


def _found(entries: list[Any], prefix: str) -> Iterator[Found]:
    for entry in entries:
        place = _PLACE.search(entry.path) if entry.is_file else None
        if place and place[1] in BY_NAME and _is_date(place[2]):
            midnight = dt.datetime.fromisoformat(place[2]).replace(tzinfo=dt.UTC)
            hour = int(midnight.timestamp()) // SECONDS + int(place[3])
            yield Found(f"{prefix}{entry.path}", entry.path, place[1], hour)


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _system(folder: Path | str) -> tuple[Any, str, str]:
    """Find the file system of a folder, the path there, and what Spark wants in front of a path.

    Raises:
        ConfigError: there is none of that name.
    """
    # Spark writes `file:/tmp`, people `file:///tmp`.
    text = re.sub(r"^file:/+", "/", str(folder))
    if _SCHEME.match(text) is None:
        return pafs.LocalFileSystem(), str(Path(text).absolute()), "file://"
    try:
        # What Hadoop calls s3a is s3 to everybody else.
        system, path = pafs.FileSystem.from_uri(re.sub(r"^s3[an]://", "s3://", text))
    except (pa.ArrowInvalid, OSError) as problem:
        raise ConfigError(
            f"{folder}: no address at which files can be listed ({problem}); give a folder, or an address such as"
            " s3a://bucket/history. A topic, kafka://..., is for the job rollup alone"
        ) from problem
    return system, path, text[: text.rfind(path)]


def check_file(uri: str, table: str) -> int:
    """Check one file, of an URI as Spark tells it; return the version of its tables.

    Raises:
        HistoryFileError: one that names the file and says what is wrong with it.
    """
    place = unquote(uri)
    system, path, _ = _system(place)
    with opened(place, system.open_input_file, path) as parquet:
        return check(place, table, parquet.metadata.metadata or {}, parquet.schema_arrow)


def opened(place: Path | str, source: Any, *arguments: Any) -> Any:
    """Open a file as `pyarrow.parquet.ParquetFile`; `source` with the arguments makes what it reads from.

    Raises:
        UnreadableFileError: it cannot be opened, whatever is in it.
        DamagedFileError: it is cut off or not Parquet.
    """
    try:
        file = source(*arguments)
    except OSError as problem:
        raise UnreadableFileError(
            f"{place}: it cannot be opened ({problem}); look at the rights, or begin anew where retention has just"
            " deleted it"
        ) from problem
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as problem:
        raise damaged(place, problem) from problem


def damaged(place: Path | str, problem: Exception) -> DamagedFileError:
    """Say of a file that it is cut off or damaged, and what to do."""
    return DamagedFileError(
        f"{place}: it is cut off or damaged ({problem}); take it away, the other files can be read without"
    )


def check(place: Path | str, table: str, metadata: Mapping[bytes, bytes], schema: Any) -> int:
    """Check what a footer tells against the table; return the version of the tables that the file is of.

    Raises:
        HistoryFileError: one that names the file and says what is wrong with it.
    """
    if metadata.get(TABLE_KEY) != table.encode() or not metadata.get(VERSION_KEY, b"").isdigit():
        raise HistoryFileError(f"{place}: not a file of the table {table} that kafka-warden wrote; take it away")
    version = int(metadata[VERSION_KEY])
    if version > VERSION:
        raise NewerSchemaError(
            f"{place}: its tables are of version {version}, and this program reads up to {VERSION}; update kafka-warden"
        )
    for field in schema_of(BY_NAME[table]):
        if field.name not in schema.names:
            if version == VERSION:
                raise MissingColumnError(
                    f"{place}: the column {field.name} of the table {table} is missing; restore the file"
                )
        elif _plain(schema.field(field.name).type) != field.type:
            raise HistoryFileError(
                f"{place}: the column {field.name} of the table {table} is {schema.field(field.name).type},"
                f" not {field.type}; restore the file"
            )
    return version


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
