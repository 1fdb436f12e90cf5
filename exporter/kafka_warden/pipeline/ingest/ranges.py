"""The rows of each run in a file of history, from its footer. A footer has some kilobytes: no row is read."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from kafka_warden.errors import HistoryFileError
from kafka_warden.history.parquet.reader import Found, Inventory, opened

THREADS: Final = 16
"""Footers read in parallel: an object store takes tens of milliseconds for each."""

LATEST: Final = 253_402_300_800
"""Unix seconds of the year 10000: times of rows are before it."""

_RUN: Final = ("cluster_id", "run")
_SPAN: Final = ("sequence", "time")


@dataclass(frozen=True, slots=True)
class Range:
    """The rows of one run in a file."""

    cluster_id: str
    run: str
    first: int
    last: int
    """Sequences, inclusive."""
    since: float
    until: float
    """Times, inclusive, in Unix seconds."""
    rows: int
    whole: bool = True
    """Whether each of its polls is: a range of offsets of the topic may have a part of one."""


def read_ranges(landing: Inventory, files: Sequence[Found]) -> Iterator[tuple[Found, list[Range] | HistoryFileError]]:
    """Read the footers of some files: the rows of each by run, or what is wrong with the file."""
    with ThreadPoolExecutor(THREADS) as threads:
        yield from zip(files, threads.map(partial(_ranges, landing.system), files), strict=True)


def _ranges(system: Any, file: Found) -> list[Range] | HistoryFileError:
    try:
        with opened(system, file) as parquet:
            found = _ranges_of(file.place, parquet)
    except HistoryFileError as problem:
        return problem
    if all(part.since >= 0 and part.until < LATEST for part in found):
        return found
    return HistoryFileError(f"{file.place}: it has a time outside of the years 1970 to 9999; remove it")


def _ranges_of(place: str, parquet: Any) -> list[Range]:
    """Return the rows of an open file by run: from its footer, or from its columns if a row group has several runs."""
    found: dict[tuple[str, str], Range] = {}
    for number in range(parquet.num_row_groups):
        group = parquet.metadata.row_group(number)
        for part in _by_statistics(group) or _by_columns(place, parquet.read_row_group(number, [*_RUN, *_SPAN])):
            key = (part.cluster_id, part.run)
            found[key] = _joined(found[key], part) if key in found else part
    return list(found.values())


def _by_statistics(group: Any) -> list[Range]:
    columns = {(column := group.column(index)).path_in_schema: column for index in range(group.num_columns)}
    known = {name: columns[name].statistics for name in (*_RUN, *_SPAN)}
    if not all(each is not None and each.has_min_max and each.null_count == 0 for each in known.values()):
        return []
    if any(known[name].min != known[name].max for name in _RUN):
        return []
    (cluster, run), (sequence, time) = ([known[name] for name in names] for names in (_RUN, _SPAN))
    ends = (sequence.min, sequence.max, time.min, time.max)
    return [Range(cluster.min, run.min, *ends, group.num_rows)]


def _by_columns(place: str, rows: Any) -> list[Range]:
    if absent := [name for name in rows.column_names if rows[name].null_count]:
        raise HistoryFileError(f"{place}: some of its rows have no {' and no '.join(absent)}; remove it")
    ends = [(name, end) for name in _SPAN for end in ("min", "max")]
    groups = rows.group_by(list(_RUN)).aggregate([*ends, ([], "count_all")])
    return [Range(*group.values()) for group in groups.to_pylist()]


def _joined(one: Range, other: Range) -> Range:
    return replace(
        one,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        since=min(one.since, other.since),
        until=max(one.until, other.until),
        rows=one.rows + other.rows,
    )
