"""Values as HTML: each number with its exact value beside the one for people, unknown ones as a dash."""

from collections.abc import Callable
from typing import Any, Final

from markupsafe import Markup, escape

from kafka_warden.formatting import (
    in_percent,
    in_rate,
    in_size,
    in_time,
    in_utc,
    in_whole,
    in_words,
    visible,
)
from kafka_warden.views.table_spec import NAMES, Column, TableSpec

_UNKNOWN: Final = Markup('<span class="unknown" title="not known">&ndash;</span>')


def name(text: str | None) -> Markup:
    """Write a name from the cluster, apart from the direction of the text around it."""
    return _UNKNOWN if text is None else Markup("<bdi>{}</bdi>").format(visible(text))


def _number(write: Callable[[float], str]) -> Callable[[float | None], Markup]:
    def written(value: float | None) -> Markup:
        if value is None:
            return _UNKNOWN
        return Markup('<data value="{}">{}</data>').format(float(value), write(value))

    return written


def instant(seconds: float | None) -> Markup:
    """Write a Unix time in UTC."""
    at = None if seconds is None else in_utc(seconds)
    if at is None:
        return _UNKNOWN
    day, clock, _ = at.split()
    return Markup('<time datetime="{}T{}Z">{}</time>').format(day, clock, at)


def cell(column: Column, row: Any) -> Markup:
    """Write a value of a table."""
    value = column.value(row)
    if value is None:
        return _UNKNOWN
    if column.unit == "timestamp":
        return instant(value)
    if column.number:
        return _number(column.write)(value)
    text = column.text(row)
    if not str(value):
        return Markup('<span class="muted">{}</span>').format(text)
    return name(text) if column.field in NAMES else escape(text)


def kind(spec: TableSpec, column: Column) -> str:
    """Return the class of a column: how it is aligned, and how wide it is."""
    if column is spec.columns[0]:
        return "number key" if column.is_id else "key"
    if column.field == "sentence":
        return "text"
    return "wide" if column.share else "number" if column.number or column.is_id else ""


_STATES: Final = {"cause", "state", "problem", "up"}


def marked(spec: TableSpec) -> Column:
    """Return the column that says what is wrong with a row: its state, or what the row is about."""
    return next((column for column in spec.columns if column.field in _STATES), spec.columns[0])


def words(label: str | None) -> str:
    """Write a label value, such as `log_dir_full`, as words."""
    return "" if label is None else in_words(label)


def alert(path: str) -> str:
    """Return the name of the alert whose runbook this is."""
    return path.rpartition("/")[2].removesuffix(".md")


FILTERS: Final[dict[str, Callable[..., object]]] = {
    **{each.__name__: each for each in (alert, instant, name, visible, words)},
    "amount": _number(in_size),
    "rate": _number(in_rate),
    "duration": _number(in_time),
    "count": _number(in_whole),
    "percent": _number(in_percent),
}
