"""Collects rows in memory and writes them as whole files: at the turn of an hour, when they are many, and at the end.

While a file cannot be written its rows stay in memory and are tried again with every poll, up to a bound; what is above
it is lost and counted, the oldest first.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from kafka_warden.errors import SinkError
from kafka_warden.history.column import Table
from kafka_warden.history.ledger import Ledger
from kafka_warden.history.parquet.arrow import metadata_of, to_arrow
from kafka_warden.history.parquet.folder import SECONDS, Folder
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import TABLES, build

log = structlog.get_logger(__name__)

FILE_ROWS: Final = 1 << 17
"""Rows of one table that make a file of their own before the hour is over. As Arrow columns some 20 MB."""

MOST_ROWS: Final = 1 << 19
"""Rows that are kept while they cannot be written."""

BLOCK_POLLS: Final = 16
"""Polls whose rows of one table are compressed into one block. Each small Arrow table costs 50 KiB beside its rows."""

ZSTD_LEVEL: Final = 3


@dataclass(frozen=True, slots=True)
class ParquetSettings:
    """Where and how. Seconds."""

    path: Path
    roll: float = 3600.0
    """After which a file is written even if its hour is not over."""
    retention: float = 7 * 86400.0
    """Rounded up to hours of history, not to be reckoned by a clock that may be wrong: see `Folder.expire`."""
    file_rows: int = FILE_ROWS
    most_rows: int = MOST_ROWS


@dataclass(slots=True)
class _File:
    """Rows that become one file."""

    table: Table[Any]
    hour: int
    name: str
    blocks: list[Any] = field(default_factory=list)
    """Compressed rows of earlier polls."""
    parts: list[Any] = field(default_factory=list)
    """One Arrow table per later poll."""
    rows: int = 0

    def compress(self) -> None:
        """Make one block of the parts, if there are enough."""
        if len(self.parts) < BLOCK_POLLS:
            return
        rows, stream = pa.concat_tables(self.parts).combine_chunks(), pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(rows)
        self.blocks.append(stream.getvalue())
        self.parts.clear()

    def tables(self) -> list[Any]:
        """Return all rows as Arrow tables."""
        return [*(pa.ipc.open_stream(block).read_all() for block in self.blocks), *self.parts]


class ParquetSink:
    """Writes the rows of polls to a folder."""

    def __init__(
        self,
        settings: ParquetSettings,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ledger = Ledger("parquet")
        self._settings = settings
        self._now = now
        self._ticking = clock
        self._folder = Folder(settings.path)
        self._open: dict[str, _File] = {}
        self._opened_at = 0.0
        self._hour: int | None = None
        self._full: deque[_File] = deque()
        self._files = 0
        self._expired: int | None = None
        self._kept = max(math.ceil(settings.retention / SECONDS), 1)
        self._past: deque[int] = deque(maxlen=self._kept)

    def write(self, poll: Poll) -> None:
        """Gather the rows of a poll, and write the files that are due."""
        hour = int(poll.snapshot.time // SECONDS)
        if self._open and (hour != self._hour or poll.snapshot.clock - self._opened_at >= self._settings.roll):
            self._roll()
        if not self._open:
            self._hour, self._opened_at = hour, poll.snapshot.clock
        try:
            self._gather(hour, poll)
        finally:
            # A poll that cannot be kept, which its caller counts, holds back no other.
            self._put_out()
            self._expire(hour)

    def idle(self) -> None:
        """Write what is due while no poll comes. What could not be written is tried again with the next poll."""
        if self._open and self._ticking() - self._opened_at >= self._settings.roll:
            self._roll()
            self._put_out()

    def close(self, until: float) -> None:
        """Write everything that was gathered; what cannot be written now is lost, and counted."""
        self._roll()
        self._put_out(until)
        for file in self._full:
            self.ledger.lost("stopped", file.rows)
        self._full.clear()
        self._folder.close()

    def _gather(self, hour: int, poll: Poll) -> None:
        """Take all rows of a poll, or, where some cannot be made, none."""
        for file in self._open.values():
            file.compress()
        for table, part in [(table, to_arrow(build(table, poll))) for table in TABLES]:
            if part.num_rows:
                self._add(table, hour, poll, part)

    def _add(self, table: Table[Any], hour: int, poll: Poll, part: Any) -> None:
        file = self._open.get(table.name)
        if file is None:
            self._files += 1
            name = f"kafka-warden-{poll.run}-{poll.sequence:09d}-{self._files:06d}.parquet"
            file = self._open[table.name] = _File(table, hour, name)
        file.parts.append(part)
        file.rows += part.num_rows
        if file.rows >= self._settings.file_rows:
            self._full.append(self._open.pop(table.name))

    def _roll(self) -> None:
        self._full.extend(self._open.values())
        self._open.clear()

    def _put_out(self, until: float | None = None) -> None:
        """Write full files, oldest first, until one cannot be written."""
        try:
            self._folder.check()
            while self._full and (until is None or time.monotonic() < until):
                self._write(self._full[0])
                self._full.popleft()
            self.ledger.works()
        except Exception as problem:  # noqa: BLE001  # logged there
            self._let_go(self._failed(problem))

    def _write(self, file: _File) -> None:
        """Write a file, or lose it to an error that nobody thought of: that would come again, in front of all others.

        Raises:
            SinkError: it cannot be written now.
        """
        try:
            self._folder.write(file.table.name, file.hour, file.name, encode(file.table, file.tables()))
        except SinkError:
            raise
        except Exception:
            log.exception("a file of history cannot be made; this is a bug, please report it", table=file.table.name)
            self.ledger.lost("error", file.rows)
        else:
            self.ledger.wrote(file.rows, self._now())

    def _failed(self, problem: Exception) -> str:
        """Note what stands in the way, and return its reason."""
        if not isinstance(problem, SinkError):
            log.error("history failed; this is a bug, please report it", sink=self.ledger.sink, exc_info=problem)
            problem = SinkError(f"{self._settings.path}: {problem!r}; please report it")
        self.ledger.failed(problem)
        return problem.reason

    def _let_go(self, reason: str) -> None:
        """Keep no more rows than there may be, full files first; then those of the present hour."""
        kept = sum(file.rows for file in (*self._full, *self._open.values()))
        while kept > self._settings.most_rows and (self._full or self._open):
            if not self._full:
                self._roll()
            oldest = self._full.popleft()
            kept -= oldest.rows
            self.ledger.lost(reason, oldest.rows)

    def _expire(self, hour: int) -> None:
        """Delete what is too old, when an hour begins."""
        if hour == self._expired:
            return
        try:
            if self._folder.expire(hour, self._past, self._kept):
                self._expired = hour
                self._past.append(hour)
        except Exception as problem:  # noqa: BLE001  # logged there
            self._failed(problem)


def encode(table: Table[Any], parts: list[Any]) -> Any:
    """Make the bytes of one file."""
    rows = pa.concat_tables(parts)
    stream = pa.BufferOutputStream()
    # Without Arrow's own schema in the file, coded texts are read back as texts by everybody.
    with pq.ParquetWriter(
        stream, rows.schema, compression="zstd", compression_level=ZSTD_LEVEL, store_schema=False
    ) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(metadata_of(table))
    return stream.getvalue()
