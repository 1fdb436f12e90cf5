"""Lines of text of a given width: the head, and the rows of a table. Pure."""

import math
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from kafka_warden.planning.formatting import in_bytes, in_count, in_rate, in_time, in_utc, in_whole, in_words, visible
from kafka_warden.top.columns import UNKNOWN, Column, Grid, Order
from kafka_warden.top.reading import Shown
from kafka_warden.views.alerts import MARKS, WARNING
from kafka_warden.views.curves import Curve
from kafka_warden.views.fields import fields_of
from kafka_warden.views.problems import by_severity

LEAST: Final = 12
"""Cells that a text keeps while columns are left out. One that is never left out keeps a third of the line."""
SAMPLE: Final = 1000
"""Rows that the width of a column is measured on."""
LONGEST: Final = 60
"""Cells of a curve."""
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
GAP: Final = "  "
_SEPARATOR: Final = " · "
_UP, _DOWN = "^", "v"


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF") for each in text)


def fitted(text: str, width: int, *, right: bool = False, tail: int = 0) -> str:
    """Cut a text, with a mark, or fill it up to a width. Of a text that is cut, `tail` characters at the end stay."""
    if cells(text) > width:
        end = text[-tail:] if 0 < tail < width // 2 else ""
        while text and cells(text) + 1 + cells(end) > width:
            text = text[:-1]
        text = f"{text}…{end}" if width > 0 else ""
    padding = " " * (width - cells(text))
    return padding + text if right else text + padding


def fit(grid: Grid, rows: Sequence[Any], order: Order, width: int) -> list[tuple[Column, int]]:
    """Choose the columns that fit into a width, with the width of each; those of the highest rank are left out."""
    natural = {column: _natural(column, rows[:SAMPLE], order) for column in grid.columns}
    third = max(LEAST, width // 3)
    least = {
        column: size if column.kind.width else min(size, LEAST if column.rank else third)
        for column, size in natural.items()
    }
    shown = list(grid.columns)
    while sum(least[column] + len(GAP) for column in shown) - len(GAP) > width and any(each.rank for each in shown):
        shown.remove(max(shown, key=lambda column: column.rank))
    spare = width - sum(least[column] + len(GAP) for column in shown) + len(GAP)
    found = []
    for column in shown:
        more = max(min(natural[column] - least[column], spare), 0)
        spare -= more
        found.append((column, least[column] + more))
    return found


def _natural(column: Column, rows: Sequence[Any], order: Order) -> int:
    """Return the width that a column would take, without that of a number which would make the table jump."""
    title = len(column.title) + (order.column is column)
    return max([title, column.kind.width or max((cells(column.text(row)) for row in rows), default=0)])


def title_line(columns: Sequence[tuple[Column, int]], order: Order, width: int) -> str:
    """Return the line of titles, with a mark at the column that orders the rows."""
    parts = []
    for column, size in columns:
        mark = "" if order.column is not column else _UP if order.reverse else _DOWN
        parts.append(fitted(column.title + mark, size, right=column.kind.right))
    return fitted(GAP.join(parts), width)


def row_line(columns: Sequence[tuple[Column, int]], row: Any, width: int) -> str:
    """Return the line of a row."""
    parts = [fitted(column.text(row), size, right=column.kind.right, tail=column.kind.tail) for column, size in columns]
    return fitted(GAP.join(parts), width)


def curve_line(curve: Curve, width: int) -> str:
    """Return a curve in blocks, the last value at the right, and what it says."""
    count = min(width - cells(curve.about) - len(GAP), LONGEST)
    if count < LEAST:
        return fitted(curve.about, width)
    drawn, top, latest = [BLOCKS[0]] * count, curve.top, 0
    for step, value in curve.steps(curve.values, count - 1):
        block = BLOCKS[0 if value is None else max(math.ceil(value / top * (len(BLOCKS) - 1)), 1)]
        # Between two samples that are farther apart than a step, the older one goes on.
        drawn[latest + 1 : step] = [drawn[latest]] * (step - latest - 1)
        drawn[step], latest = block, step
    return fitted(GAP.join(["".join(drawn), curve.about]), width)


def wrapped(items: Sequence[str], width: int) -> list[str]:
    """Join items, and start another line where they do not fit."""
    lines = [""]
    for item in items:
        joined = f"{lines[-1]}{_SEPARATOR}{item}" if lines[-1] else item
        if lines[-1] and cells(joined) > width:
            lines.append(item)
        else:
            lines[-1] = joined
    return lines


def head(shown: Shown, now: float, width: int) -> list[str]:
    """Return the lines above the tables: what needs a look, the age of the data, the cluster in numbers."""
    return [
        *wrapped(list(_name(shown)), width),
        *wrapped(_age(shown, now), width),
        *([] if shown.cluster is None else wrapped([*_cluster(shown), *_moving(shown)], width)),
    ]


def _name(shown: Shown) -> Iterator[str]:
    yield "kafka-warden"
    cluster = shown.cluster
    if cluster is not None and cluster.cluster_id:
        yield f"cluster {visible(cluster.cluster_id)}"
    counts = by_severity(shown.problems.rows)
    found = [f"{MARKS[each]} {in_count(n, each) if each == WARNING else f'{n} {each}'}" for each, n in counts.items()]
    yield from found or ["● nothing needs a look"]


def _age(shown: Shown, now: float) -> list[str]:
    age = shown.age(now)
    if shown.time is None or age is None:
        return ["No data yet"]
    found = f"{'Data' if shown.fresh else 'No fresh data. Last data'} of {in_utc(shown.time) or UNKNOWN}"
    interval = shown.sidecar.poll_interval
    return [found, f"{in_time(int(age))} old", *([] if interval is None else [f"a poll every {in_time(interval)}"])]


def _cluster(shown: Shown) -> Iterator[str]:
    cluster = shown.cluster
    assert cluster is not None  # noqa: S101  # the caller checked
    others = [f"{number} {in_words(state)}" for state, number in cluster.brokers.items() if state != "active"]
    brokers = f"brokers {cluster.brokers.get('active', 0)} of {sum(cluster.brokers.values())} active"
    yield ", ".join([brokers, *others])
    yield f"controller {visible(cluster.controller or UNKNOWN)}"
    yield f"partitions {_written(in_whole, cluster.partitions)}"
    yield f"offline {_written(in_whole, cluster.offline_partitions)}"
    yield f"under min ISR {_written(in_whole, cluster.under_min_isr_partitions)}"
    out = ", ".join(f"{number:,} {in_words(state)}" for state, number in cluster.out_of_sync.items())
    yield f"out of sync {sum(cluster.out_of_sync.values()):,}" + (f" ({out})" if out else "")


def _moving(shown: Shown) -> Iterator[str]:
    cluster = shown.cluster
    assert cluster is not None  # noqa: S101  # the caller checked
    yield f"moving {_written(in_whole, cluster.reassigning_partitions)}"
    if cluster.reassigning_partitions:
        yield f"left {_written(in_bytes, cluster.remaining_bytes)}"
        yield "never done" if cluster.eta == math.inf else f"done in {_written(in_time, cluster.eta)}"
    if cluster.recommended_throttle is not None:
        yield f"recommended throttle {in_rate(cluster.recommended_throttle)}"


def _written(write: Callable[[float], str], value: float | None) -> str:
    return UNKNOWN if value is None else write(value)


def detail(grid: Grid, row: Any, width: int) -> list[str]:
    """Return everything of a row: each field with its value, the exact number, and what it means."""
    columns = {column.field: column for column in grid.columns}
    lines = []
    for name, (_, about) in fields_of(type(row)).items():
        value = getattr(row, name)
        text = UNKNOWN if value is None else visible(str(value))
        column = columns.get(name)
        if column is not None and column.kind.width and value is not None:
            text = f"{column.kind.write(value)} ({text})"
        lines += [
            f"{name}: {part}" if not at else f"  {part}" for at, part in enumerate(_folded(text, width - len(name) - 2))
        ]
        lines += [f"  {part}" for part in _folded(about.about, width - 2)]
    return lines


def _folded(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, LEAST)) or [""]
