"""Compares rows with the text of `/metrics`: a field that names a metric has the value of the series of its labels."""

import math
from collections.abc import Iterator
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from kafka_warden.views import Views
from kafka_warden.views.fields import FAMILIES, LabelOf, Of, fields_of

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series_of(text: bytes) -> Series:
    """Read a page of `/metrics`: name and labels to value."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def rows_of(views: Views) -> Iterator[Any]:
    for table in views.tables.values():
        yield from table.rows
    yield views.sidecar
    if views.cluster is not None:
        yield views.cluster


def differences(views: Views, text: bytes) -> tuple[list[str], int]:
    """Return every field of every row that is not what the page has, and how many values were compared."""
    series, wrong, compared = series_of(text), list[str](), 0
    for row in rows_of(views):
        for name, (_, about) in fields_of(type(row)).items():
            value = getattr(row, name)
            if isinstance(about, Of):
                expected = series.get(_key(row, about.metric))
                shown = None if value is None else float(value)
                same = shown == expected or (
                    shown is not None and expected is not None and math.isclose(shown, expected)
                )
            elif isinstance(about, LabelOf):
                expected = 1.0 if value is not None else None
                same = value is None or series.get(_key(row, about.metric, {about.label: value}, series)) == 1.0
            else:
                continue
            compared += value is not None
            if not same:
                wrong.append(f"{type(row).__name__}.{name}: {value}, in /metrics {expected}: {row}")
    return wrong, compared


def _key(row: Any, metric: str, more: dict[str, str] | None = None, series: Series | None = None) -> Any:
    """Name and labels of the series of a row; labels that the row does not have are found in the page."""
    family = FAMILIES[metric]
    labels = {label: str(getattr(row, label)) for label in family.labels if hasattr(row, label)} | (more or {})
    if series is not None and set(labels) != set(family.labels):
        for name, key in series:
            if name == family.full_name and set(labels.items()) <= key:
                return name, key
    return family.full_name, frozenset(labels.items())
