"""Makes rows by reading the catalogue: the numbers of a row are the series of `/metrics` with its labels."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from kafka_warden.catalogue import Sidecar, View
from kafka_warden.views.alerts import of_row
from kafka_warden.views.fields import FAMILIES, LabelOf, Of, fields_of
from kafka_warden.views.rows import Table

Row = TypeVar("Row")
Key = tuple[str, ...]

MOST: Final = 10_000
"""Rows of a table that are kept, the worst ones: a broken cluster can have hundreds of thousands."""


def series(data: View | Sidecar, metric: str) -> dict[Key, float]:
    """Return the series of a family by its labels, without unknown ones; the first where labels appear twice."""
    family: Any = FAMILIES[metric]
    found: dict[Key, float] = {}
    for read in filter(None, (family.read, family.rest)):
        for labels, value in read(data):
            if value is not None and not math.isnan(value):
                found.setdefault(tuple(map(str, labels)), int(value) if isinstance(value, bool) else value)
    return found


def joined(data: View | Sidecar, row: type[Row], keys: tuple[str, ...], **more: Callable[[Key], Any]) -> list[Row]:
    """Make one row for each label set that any family of the row's fields has.

    Args:
        data: what the families are read from.
        row: the type; each of its fields is a key, a field of a family whose labels are among the keys, or in `more`.
        keys: the names of the labels that identify a row, in the order of the families' labels.
        more: returns the value of another field for a label set.
    """
    fields = fields_of(row)
    columns: dict[str, tuple[tuple[int, ...], Mapping[Key, Any]]] = {}
    found: dict[Key, None] = {}
    for name, (_, about) in fields.items():
        if name in keys or name in more or not isinstance(about, Of | LabelOf):
            continue
        labels = FAMILIES[about.metric].labels
        values: Mapping[Key, Any] = series(data, about.metric)
        if isinstance(about, LabelOf):
            place = labels.index(about.label)
            labels = tuple(label for label in labels if label in keys)
            values = {key[: len(labels)]: key[place] for key, value in values.items() if value == 1}
        columns[name] = tuple(keys.index(label) for label in labels), values
        if labels == keys:
            # A series with an empty topic is that of all topics without rows.
            found |= dict.fromkeys(key for key in values if keys[:1] != ("topic",) or key[0])
    rows = []
    for key in found if keys else [()]:
        named = {name: int(part) if fields[name][0] is int else part for name, part in zip(keys, key, strict=True)}
        numbers = {name: values.get(tuple(key[place] for place in at)) for name, (at, values) in columns.items()}
        rows.append(row(**named, **numbers, **{name: value(key) for name, value in more.items()}))
    return rows


def table(rows: Iterable[Row], worst: Callable[[Row], Any] | None = None) -> Table[Row]:
    """Order rows by a key, lowest first, keep the first ones, and note how severe each is."""
    ordered = list(rows) if worst is None else sorted(rows, key=worst)
    return Table(tuple(map(_rated, ordered[:MOST])), len(ordered))


def _rated(row: Row) -> Row:
    found = of_row(row)
    return row if found is None else replace(row, severity=found)  # type: ignore[type-var]  # every row is a dataclass
