"""Collects rows in memory and writes them as whole files: at the end of an hour, at `FILE_ROWS`, and at the stop.

If a file cannot be written, its rows stay in memory and are tried again with every poll. Above `MOST_ROWS` the oldest
rows are dropped and counted.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from kafka_warden.clock import monotonic
from kafka_warden.errors import SinkError
from kafka_warden.history.column import HistoryTable
from kafka_warden.history.parquet.arrow import metadata_of, to_arrow
from kafka_warden.history.parquet.folder import SECONDS, Folder
from kafka_warden.history.poll import Poll
from kafka_warden.history.recorder import SinkStats
from kafka_warden.history.schema import TABLES, build

log = structlog.get_logger(__name__)

FILE_ROWS: Final = 1 << 17
"""Rows of one table after which a file is written before the hour ends. They take about 20 MB in Arrow."""

MOST_ROWS: Final = 1 << 19
"""Rows kept in memory while no file can be written."""

BLOCK_POLLS: Final = 8
"""Polls whose rows of one table are compressed into one block. Each small Arrow table costs 50 KiB beside its rows."""

BLOCK_ROWS: Final = 1 << 14
"""Rows after which fewer polls are compressed, and of one batch in a block."""

GROUP_BYTES: Final = 3 << 20
"""Bytes in Arrow of one row group of a file: only these are in memory uncompressed while the file is written."""

ZSTD_LEVEL: Final = 3

_COMPRESSED: Final = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
_ONE_THREAD: Final = pa.ipc.IpcReadOptions(use_threads=False)


@dataclass(slots=True)
class _File:
    """The rows of a future file."""

    table: HistoryTable
    hour: int
    name: str
    blocks: list[Any] = field(default_factory=list)
    """Compressed rows of earlier polls."""
    parts: list[Any] = field(default_factory=list)
    """One Arrow table per later poll."""
    rows: int = 0

    def compress(self) -> None:
        """Make one block of the parts, if there are enough."""
        if len(self.parts) < BLOCK_POLLS and sum(part.num_rows for part in self.parts) < BLOCK_ROWS:
            return
        rows, stream = pa.concat_tables(self.parts).combine_chunks(), pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, rows.schema, options=_COMPRESSED) as writer:
            writer.write_table(rows, BLOCK_ROWS)
        self.blocks.append(stream.getvalue())
        self.parts.clear()

    def tables(self) -> Iterator[Any]:
        """Yield all rows as Arrow tables."""
        for block in self.blocks:
            yield from (pa.Table.from_batches([batch]) for batch in pa.ipc.open_stream(block, options=_ONE_THREAD))
        yield from self.parts


class ParquetSink:
    """Writes the rows of polls to a folder."""

    def __init__(
        self,
        path: Path,
        roll: float = SECONDS,
        retention: float = 7 * 24 * SECONDS,
        *,
        file_rows: int = FILE_ROWS,
        most_rows: int = MOST_ROWS,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Make a sink for a folder.

        Args:
            path: the folder.
            roll: seconds after which a file is written, even if the hour has not ended.
            retention: seconds, rounded up to hours. Hours with history are counted, since the clock may be wrong: see
                `Folder.expire`.
            file_rows: rows of one table after which a file is written.
            most_rows: rows that are kept while no file can be written.
            now: returns the Unix time of a successful write.
        """
        self.stats = SinkStats("parquet")
        self._folder = Folder(path)
        self._roll_after = roll
        self._file_rows = file_rows
        self._most_rows = most_rows
        self._now = now
        self._open: dict[str, _File] = {}
        self._opened_at = 0.0
        self._hour: int | None = None
        self._full: deque[_File] = deque()
        self._files = 0
        self._expired: int | None = None
        self._undeleted: str | None = None
        """Why old files could not be deleted when it was last tried."""
        self._kept = max(math.ceil(retention / SECONDS), 1)
        self._past: deque[int] = deque(maxlen=self._kept)

    def write(self, poll: Poll) -> None:
        """Collect the rows of a poll, and write the files that are due."""
        hour = int(poll.snapshot.time // SECONDS)
        if self._open and (hour != self._hour or poll.snapshot.clock - self._opened_at >= self._roll_after):
            self._roll()
        if not self._open:
            self._hour, self._opened_at = hour, poll.snapshot.clock
        try:
            self._collect(hour, poll)
        finally:
            # Also if this poll failed: the caller counts it as lost.
            self._write_full()
            self._expire(hour)
            pa.default_memory_pool().release_unused()

    def idle(self) -> None:
        """Write the files that are due. After a failure, the next try is with the next poll."""
        if self._open and monotonic() - self._opened_at >= self._roll_after:
            self._roll()
            self._write_full()

    def close(self, until: float) -> None:
        """Write all rows. Rows that cannot be written now are counted as lost."""
        self._roll()
        self._write_full(until)
        for file in self._full:
            self.stats.mark_lost("stopped", file.rows)
        self._full.clear()
        self._folder.close()

    def _collect(self, hour: int, poll: Poll) -> None:
        """Take all rows of a poll, or none if some cannot be made."""
        for table, part in [(table, to_arrow(build(table, poll))) for table in TABLES]:
            if part.num_rows:
                self._add(table, hour, poll, part)
        for file in self._open.values():
            file.compress()

    def _add(self, table: HistoryTable, hour: int, poll: Poll, part: Any) -> None:
        file = self._open.get(table.name)
        if file is None:
            self._files += 1
            name = f"kafka-warden-{poll.run}-{poll.sequence:09d}-{self._files:06d}.parquet"
            file = self._open[table.name] = _File(table, hour, name)
        file.parts.append(part)
        file.rows += part.num_rows
        if file.rows >= self._file_rows:
            self._full.append(self._open.pop(table.name))

    def _roll(self) -> None:
        self._full.extend(self._open.values())
        self._open.clear()

    def _write_full(self, until: float | None = None) -> None:
        """Write full files, oldest first, until a write fails."""
        try:
            self._folder.check()
            while self._full and (until is None or time.monotonic() < until):
                self._write(self._full[0])
                self._full.popleft()
            self.stats.mark_ok()
        except Exception as problem:  # noqa: BLE001  # logged there
            self._drop_oldest(self._failed(problem))

    def _write(self, file: _File) -> None:
        """Write a file. After an unexpected error it is dropped, since it would block all later files.

        Raises:
            SinkError: it cannot be written now.
        """
        try:
            self._folder.write(file.table.name, file.hour, file.name, encode(file.table, file.tables()))
        except SinkError:
            raise
        except Exception:
            log.exception("a history file cannot be made; this is a bug, please report it", table=file.table.name)
            self.stats.mark_lost("error", file.rows)
        else:
            self.stats.mark_written(file.rows, self._now())

    def _failed(self, problem: Exception) -> str:
        """Note an error, and return its reason."""
        if not isinstance(problem, SinkError):
            log.error("history failed; this is a bug, please report it", sink=self.stats.sink, exc_info=problem)
            problem = SinkError(f"{self._folder.path}: {problem!r}; please report it")
        self.stats.mark_failed(problem)
        return problem.reason

    def _drop_oldest(self, reason: str) -> None:
        """Drop rows above `most_rows`: full files first, then those of the current hour."""
        kept = sum(file.rows for file in (*self._full, *self._open.values()))
        while kept > self._most_rows and (self._full or self._open):
            if not self._full:
                self._roll()
            oldest = self._full.popleft()
            kept -= oldest.rows
            self.stats.mark_lost(reason, oldest.rows)

    def _expire(self, hour: int) -> None:
        """Delete old files when a new hour starts. If one stays, no row is lost: the sink has not failed."""
        if hour == self._expired:
            return
        undeleted = None
        try:
            if not self._folder.expire(hour, self._past, self._kept):
                return
        except Exception as problem:
            undeleted = str(problem)
            if undeleted != self._undeleted:
                is_bug = not isinstance(problem, SinkError)
                log.warning(
                    "old history files cannot be deleted; the next hour tries again", error=undeleted, exc_info=is_bug
                )
        self._expired, self._undeleted = hour, undeleted
        self._past.append(hour)


def encode(table: HistoryTable, parts: Iterable[Any]) -> Any:
    """Encode one file of one part or more, which are read one after the other."""
    left = iter(parts)
    rows, stream = next(left), pa.BufferOutputStream()
    # Without the Arrow schema in the file, every reader reads dictionary columns as plain values.
    with pq.ParquetWriter(
        stream, rows.schema, compression="zstd", compression_level=ZSTD_LEVEL, store_schema=False
    ) as writer:
        while rows is not None:
            while rows.nbytes < GROUP_BYTES and (part := next(left, None)) is not None:
                rows = pa.concat_tables([rows, part])
            rows = rows.combine_chunks()
            writer.write_table(rows)
            rows = next(left, None)
        writer.add_key_value_metadata(metadata_of(table))
    return stream.getvalue()
