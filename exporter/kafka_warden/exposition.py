"""Renders the catalogue once per poll into bytes, in both formats of Prometheus, plain and compressed.

prometheus_client's registry is not used: it needs 170 ms for 30,000 samples, twice for two formats, and renders for
every scrape. Its parser checks the output in the tests.
"""

import gzip
import math
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kafka_warden.catalogue import (
    OF_SNAPSHOT,
    SIDECAR,
    Kind,
    Metric,
    Sample,
    Sidecar,
    SidecarMetric,
    View,
    clients_left_out,
)
from kafka_warden.page import Page

GZIP_LEVEL: Final = 1
"""Twice the size of level 9 at a tenth of the time; it is paid once per poll."""

CACHED_LABELS: Final = 400_000
"""Label sets whose text is kept from poll to poll. At some 200 bytes each this bounds the cache to 80 MB."""

INFO: Final = "_info"
TOTAL: Final = "_total"


class Exposition:
    """Renders pages. Keeps the text of label sets between polls, because most stay the same."""

    def __init__(self, series_budget: int) -> None:
        self._budget = series_budget
        self._labels: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}

    def render(self, sidecar: Sidecar, view: View | None) -> Page:
        """Render all known values; without a fresh `view` those of the sidecar only."""
        if len(self._labels) > CACHED_LABELS:
            self._labels.clear()
        dropped = clients_left_out(view) if view is not None else {}
        of_snapshot = self._families(view, dropped) if view is not None else []
        shown = replace(sidecar, dropped=dropped)
        families = [(metric, self._lines(metric, metric.read(shown))[0]) for metric in SIDECAR] + of_snapshot
        text, openmetrics = _page(families, openmetrics=False), _page(families, openmetrics=True)
        return Page(text, _pack(text), openmetrics, _pack(openmetrics), dropped)

    def _families(self, view: View, dropped: dict[str, int]) -> "list[tuple[Metric | SidecarMetric, list[str]]]":
        left = self._budget
        families: list[tuple[Metric | SidecarMetric, list[str]]] = []
        for metric in OF_SNAPSHOT:
            bounded = "topic" in metric.labels
            lines, left_out = self._lines(metric, metric.read(view), left if bounded else sys.maxsize)
            if left_out:
                dropped[metric.full_name] = left_out
            left -= len(lines) if bounded else 0
            families.append((metric, lines))
        return families

    def _lines(
        self, metric: Metric | SidecarMetric, samples: Iterable[Sample], most: int = sys.maxsize
    ) -> tuple[list[str], int]:
        """Render up to `most` samples, and count the others.

        A label set that appears twice keeps its first value, since a page with both is refused.
        """
        name, names, cache = metric.full_name, metric.labels, self._labels
        lines: dict[tuple[str, ...], str] = {}
        left_out = 0
        for labels, value in samples:
            if math.isnan(value) or labels in lines:
                continue
            if len(lines) >= most:
                left_out += 1
                continue
            text = cache.get((names, labels))
            if text is None:
                text = cache[names, labels] = _label_text(metric, labels)
            lines[labels] = f"{name}{text} {_number(value)}\n"
        return list(lines.values()), left_out


def _label_text(metric: Metric | SidecarMetric, labels: tuple[str, ...]) -> str:
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name} has the labels {metric.labels} and got the values {labels}")
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in zip(metric.labels, labels, strict=True)) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if value == math.inf:
        return "+Inf"
    if value == -math.inf:
        return "-Inf"
    # 3030268 reads better than 3030268.0, and both formats allow it.
    return repr(int(value)) if value == int(value) else repr(value)


def _page(families: "list[tuple[Metric | SidecarMetric, list[str]]]", *, openmetrics: bool) -> bytes:
    parts: list[str] = []
    for metric, lines in families:
        if lines:
            parts.append(_header(metric, openmetrics=openmetrics))
            parts += lines
    if openmetrics:
        parts.append("# EOF\n")
    return "".join(parts).encode("utf-8", "backslashreplace")


def _header(metric: Metric | SidecarMetric, *, openmetrics: bool) -> str:
    """HELP and TYPE. OpenMetrics names a family without the suffix of its samples, and knows info as a type."""
    name, kind = metric.full_name, metric.kind
    text = metric.help.replace("\\", r"\\").replace("\n", r"\n")
    if openmetrics:
        name = name.removesuffix(TOTAL if kind is Kind.COUNTER else INFO if kind is Kind.INFO else "")
        text = text.replace('"', r"\"")
    elif kind is Kind.INFO:
        kind = Kind.GAUGE
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def _pack(page: bytes) -> bytes:
    return gzip.compress(page, GZIP_LEVEL, mtime=0)
