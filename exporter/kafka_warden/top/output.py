"""What `top` shows of a table: marks, order, filter, and names cut to the width of the screen. Pure."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.api_client import PROBLEMS, Reading
from kafka_warden.clock import monotonic
from kafka_warden.formatting import in_bytes, in_count, in_rate, in_time, in_utc, in_whole, in_words, visible
from kafka_warden.views.alerts import MARKS, WARNING
from kafka_warden.views.fields import fields_of
from kafka_warden.views.plain import plain
from kafka_warden.views.problems import by_severity
from kafka_warden.views.recent import Curve
from kafka_warden.views.rows import MOST, Cluster, Table
from kafka_warden.views.specs import BY_NAME
from kafka_warden.views.table_spec import CONTAINED, NAMES, UNKNOWN, Column, TableSpec

ROWS: Final = 20
"""Rows of each table as text, as on the status page."""
LEAST: Final = 12
"""Characters that stay of a name. The last ones have the number of a partition."""
TAIL: Final = 6
SHORTEST, LONGEST = 12, 60
"""Cells of a curve."""
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
VERSION: Final = 1
"""Of the JSON document. Keys may be added in the same version."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to show of what is read from `where`, every so many seconds; `rows` of each table as text."""

    where: str
    every: float = 5.0
    table: str | None = None
    rows: int | None = None
    search: str = ""
    sort: Column | None = None
    """Orders the rows, the unknown last; without it they come as served, the worst first."""
    reverse: bool = False
    """Numbers smallest first, texts from Z to A."""

    @property
    def tables(self) -> list[str]:
        """The tables to print."""
        return list(BY_NAME) if self.table is None else [self.table]

    def title(self, column: Column) -> str:
        """Return the title of a column, with a mark if it orders the rows."""
        return column.title + ("" if self.sort is not column else "^" if self.reverse else "v")


def cell(column: Column, row: Any, width: int | None) -> str:
    """Return the text of a cell. A name is cut in the middle if it takes more than a third of a line's width."""
    whole = column.text(row)
    most = len(whole) if width is None or column.field not in NAMES else max(width // 3, LEAST)
    return whole if len(whole) <= most else f"{whole[: most - TAIL - 1]}…{whole[-TAIL:]}"


def mark(row: Any) -> str:
    """Return the mark of a row: a space for one that is fine, and in tables of which all rows are."""
    return MARKS.get(getattr(row, "severity", None) or "", " ")


def chosen(spec: TableSpec, table: Table[Any], request: Request) -> tuple[Sequence[Any], int]:
    """Return the rows that match all words of the search, in order, and how many there are.

    `field=value` is the value of a field, or a part of a topic, a user or a client id; another word is a part of any
    text of the row. Case does not count.
    """
    terms = [term.partition("=") for term in request.search.lower().split()]
    rows = [row for row in table.rows if all(_matches(spec, row, *term) for term in terms)]
    count = len(rows) if len(rows) < len(table.rows) else table.total
    if request.sort is None:
        return rows[::-1] if request.reverse else rows, count
    value = request.sort.value
    known, unknown = ([row for row in rows if (value(row) is None) is missing] for missing in (False, True))
    largest_first = bool(known) and not isinstance(value(known[0]), str)
    return sorted(known, key=value, reverse=largest_first != request.reverse) + unknown, count


def _matches(spec: TableSpec, row: Any, name: str, separator: str, value: str) -> bool:
    if separator and name in fields_of(spec.row):
        found = str(getattr(row, name)).lower()
        return value in found if name in CONTAINED else value == found
    word = name + separator + value
    return any(word in str(column.value(row)).lower() for column in spec.columns if not column.number)


def curve_line(curve: Curve, width: int) -> str:
    """Return a curve in blocks, the last value at the right, and what it says."""
    count = min(width - len(curve.about) - 2, LONGEST)
    if count < SHORTEST:
        return curve.about
    drawn, latest = [BLOCKS[0]] * count, 0
    for step, value in curve.steps(curve.values, count - 1):
        block = BLOCKS[0 if value is None else max(math.ceil(value / curve.top * (len(BLOCKS) - 1)), 1)]
        # Between two samples that are farther apart than a step, the older one goes on.
        drawn[latest + 1 : step] = [drawn[latest]] * (step - latest - 1)
        drawn[step], latest = block, step
    return f"{''.join(drawn)}  {curve.about}"


def head(shown: Reading, now: float) -> list[str]:
    """Return the lines above the tables: what needs a look, the age of the data, the cluster in numbers."""
    cluster, interval = shown.cluster, shown.exporter.poll_interval
    counts = by_severity(shown.tables[PROBLEMS].rows)
    found = [f"{MARKS[each]} {in_count(n, each) if each == WARNING else f'{n} {each}'}" for each, n in counts.items()]
    name = (cluster.cluster_name or cluster.cluster_id) if cluster is not None else None
    named = [f"cluster {visible(name)}"] if name else []
    lines = [["kafka-warden", *named, *(found or ["● nothing needs a look"])], ["No data yet"]]
    if shown.time is not None:
        data = f"{'Data' if shown.fresh else 'No fresh data. Last data'} of {in_utc(shown.time) or UNKNOWN}"
        polls = [] if interval is None else [f"a poll every {in_time(interval)}"]
        lines[1] = [data, f"{in_time(int(max(now - shown.polled_at, 0.0)))} old", *polls]
    return [" · ".join(parts) for parts in (*lines, *([] if cluster is None else [_cluster(cluster)]))]


def _cluster(cluster: Cluster) -> Iterator[str]:
    others = [f"{number} {in_words(state)}" for state, number in cluster.brokers.items() if state != "active"]
    brokers = f"brokers {cluster.brokers.get('active', 0)} of {sum(cluster.brokers.values())} active"
    yield ", ".join([brokers, *others])
    yield f"controller {visible(cluster.controller or UNKNOWN)}"
    yield f"partitions {_written(in_whole, cluster.partitions)}"
    yield f"offline {_written(in_whole, cluster.offline_partitions)}"
    unknown = f" ({cluster.unknown_min_isr_partitions:,.0f} not known)" if cluster.unknown_min_isr_partitions else ""
    yield f"under min ISR {_written(in_whole, cluster.under_min_isr_partitions)}{unknown}"
    out = ", ".join(f"{number:,} {in_words(state)}" for state, number in cluster.out_of_sync.items())
    yield f"out of sync {sum(cluster.out_of_sync.values()):,}" + (f" ({out})" if out else "")
    yield f"moving {_written(in_whole, cluster.reassigning_partitions)}"
    if cluster.reassigning_partitions:
        yield f"left {_written(in_bytes, cluster.remaining_bytes)}"
        yield "never done" if cluster.eta == math.inf else f"done in {_written(in_time, cluster.eta)}"
    if cluster.recommended_throttle is not None:
        yield f"recommended throttle {in_rate(cluster.recommended_throttle)}"


def _written(write: Callable[[float], str], value: float | None) -> str:
    return UNKNOWN if value is None else write(value)


def text(shown: Reading, request: Request, width: int | None) -> str:
    """Return the head, and each table that has rows, or the one that is shown. `width`: where lines of rows end."""
    lines, most = head(shown, monotonic()), request.rows or ROWS
    for name in request.tables:
        spec = BY_NAME[name]
        rows, total = chosen(spec, shown.tables[name], request)
        if rows:
            lines += ["", f"{spec.title}: {total:,}", *_table(spec, rows[:most], request, width)]
        elif request.table is not None:
            lines += ["", f"{spec.title}: 0" if shown.knows(spec) else spec.title, why_empty(spec, shown, request)]
        if total > most:
            lines.append(f"  and {total - min(most, len(rows)):,} more")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def why_empty(spec: TableSpec, shown: Reading, request: Request) -> str:
    """Return why a table shows no rows."""
    if not shown.knows(spec):
        return "No fresh data."
    return "No row matches." if request.search and shown.tables[spec.name].rows else spec.empty


def _table(spec: TableSpec, rows: Sequence[Any], request: Request, width: int | None) -> Iterator[str]:
    columns = [[request.title(column), *(cell(column, row, width) for row in rows)] for column in spec.columns]
    sizes = [max(map(len, cells)) for cells in columns]
    for sign, *cells in zip([" ", *map(mark, rows)], *columns, strict=True):
        aligned = [
            cell.rjust(size) if column.number else cell.ljust(size)
            for column, size, cell in zip(spec.columns, sizes, cells, strict=True)
        ]
        yield "  ".join([f"{sign} {aligned[0]}", *aligned[1:]])[:width]


def document(shown: Reading, request: Request) -> str:
    """Return the JSON document: rows as in `/api/v1`."""
    tables: dict[str, Any] = {}
    for name in request.tables:
        rows, total = chosen(BY_NAME[name], shown.tables[name], request)
        tables[name] = {"total": total, "data": rows[: request.rows or MOST]}
    found = {
        "version": VERSION,
        "time": shown.time,
        "fresh": shown.fresh,
        "cluster": shown.cluster,
        "exporter": shown.exporter,
        "tables": tables,
    }
    return json.dumps(plain(found), indent=2, allow_nan=False) + "\n"
