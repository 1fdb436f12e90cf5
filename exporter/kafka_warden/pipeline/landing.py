"""Lists the files of a landing zone, and reads from their footers which rows each has."""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from kafka_warden.errors import HistoryFileError
from kafka_warden.history.parquet.reader import Found, Inventory, opened
from kafka_warden.pipeline.timeline import DAY, HOUR

N = TypeVar("N", int, float)

MOST_SPANS: Final = 24
"""Spans above which `few` joins those that are farther apart."""
LARGEST_BATCH: Final = 1 << 30
"""Bytes of files with which a batch ends: so much is repeated after a kill."""
THREADS: Final = 16
"""Footers read in parallel: an object store takes tens of milliseconds for each."""

LATEST: Final = 253_402_300_800
"""Unix seconds of the year 10000: times of rows are before it."""

AHEAD: Final = DAY
"""Seconds by which rows may be ahead of the clock of this machine. If the clock of a sidecar is ahead during its whole
run, jobs cannot see that, and the run is the latest one until that time has come.
"""

CLOCK: Final = (
    "more than a day ahead of this machine's clock; set the clock of the exporter, or of this machine. They are taken"
    " when they are less than a day ahead"
)

_RUN: Final = ("cluster_id", "run")
_SPAN: Final = ("sequence", "time")


@dataclass(frozen=True, slots=True)
class Range:
    """Rows of one run: all that a file has of it, or a part of the topic."""

    cluster_id: str
    run: str
    first: int
    last: int
    """Sequences, inclusive."""
    since: float
    until: float
    """Times, inclusive, in Unix seconds."""
    rows: int


@dataclass(frozen=True, slots=True)
class Part:
    """A range with its place: a row of the table `taken`."""

    place: str
    size: int
    """Bytes of the file; of the topic the messages."""
    table: str
    range: Range


def literal(place: str) -> str:
    """Escape a path for Spark, which reads `[1]` and `{a,b}` as patterns."""
    return re.sub(r"([][{}*?\\])", r"\\\1", place)


def new_parts(
    landing: Inventory, taken: Collection[tuple[str, int]], oldest: float, *, to_end: bool = False
) -> tuple[list[Part], list[str]]:
    """Return the rows of all new files, and what is wrong with files that are not taken.

    `taken`: place and size of the files that the store has. A file of another size is a new one. `oldest`: files of
    earlier hours (Unix s) are not opened. `to_end`: read all rows, since a footer does not show damage before it.
    """
    new = [file for file in landing.files if file.hour * HOUR >= oldest and (file.place, file.size) not in taken]
    found: list[Part] = []
    problems: list[str] = []
    ahead: Counter[str] = Counter()
    latest = time.time() + AHEAD
    for file, ranges in read_ranges(landing, new, to_end=to_end):
        if isinstance(ranges, HistoryFileError):
            problems.append(str(ranges))
        elif early := {each.cluster_id for each in ranges if each.since > latest}:
            ahead.update(early)
        else:
            found += [Part(file.place, file.size, file.table, each) for each in ranges]
    problems += [f"files of cluster {cluster}: {count} are {CLOCK}" for cluster, count in ahead.items()]
    return found, [f"NOT TAKEN: {problem}" for problem in problems]


def joined(spans: Iterable[tuple[N, N]], gap: int = 0) -> list[tuple[N, N]]:
    """Join spans that overlap, touch, or have at most so much between them."""
    found: list[tuple[N, N]] = []
    for first, after in sorted(spans):
        if found and first - found[-1][1] <= gap:
            found[-1] = (found[-1][0], max(found[-1][1], after))
        else:
            found.append((first, after))
    return found


def few(spans: Iterable[tuple[N, N]], near: int, far: int) -> list[tuple[N, N]]:
    """Join spans with at most `near` between them, or `far` if many are left: conditions of hundreds are slow."""
    found = joined(spans, near)
    return found if len(found) <= MOST_SPANS else joined(found, far)


def batches(parts: Iterable[Part]) -> list[list[Part]]:
    """Divide new files into batches of whole UTC days, in their order. There is one at least.

    The rows of a file stay together, and so do the files of an hour: polls come with the rows that they count.
    """
    files: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts:
        files[part.place].append(part)
    days: defaultdict[int, list[Part]] = defaultdict(list)
    for mine in files.values():
        days[min(int(part.range.since // DAY) for part in mine)] += mine
    found: list[list[Part]] = [[]]
    for _, of_day in sorted(days.items()):
        if sum({part.place: part.size for part in found[-1]}.values()) >= LARGEST_BATCH:
            found.append([])
        found[-1] += of_day
    return found


def overlapping(parts: Iterable[Part]) -> set[str]:
    """Return the places, of one table, that may have a row which another one has."""
    found: set[str] = set()
    last: dict[tuple[str, str], Part] = {}
    for part in sorted(parts, key=lambda each: each.range.first):
        of = (part.range.cluster_id, part.range.run)
        before = last.get(of)
        if before is not None and part.range.first <= before.range.last:
            found |= {before.place, part.place}
        if before is None or part.range.last > before.range.last:
            last[of] = part
    return found


def read_ranges(
    landing: Inventory, files: Sequence[Found], *, to_end: bool = False
) -> Iterator[tuple[Found, list[Range] | HistoryFileError]]:
    """Read the footers of some files: the rows of each by run, or what is wrong with it. `to_end`: of `new_parts`."""
    with ThreadPoolExecutor(THREADS) as threads:
        yield from zip(files, threads.map(partial(_ranges, landing.system, to_end=to_end), files), strict=True)


def _ranges(system: Any, file: Found, *, to_end: bool) -> list[Range] | HistoryFileError:
    try:
        with opened(system, file) as parquet:
            found = _ranges_of(file.place, parquet)
            for number in range(parquet.num_row_groups if to_end else 0):
                parquet.read_row_group(number)
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
    (cluster, run), (sequence, time_of) = ([known[name] for name in names] for names in (_RUN, _SPAN))
    ends = (sequence.min, sequence.max, time_of.min, time_of.max)
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
