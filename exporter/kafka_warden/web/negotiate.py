"""Content negotiation: `Accept` and `Accept-Encoding` of RFC 9110. Pure; never raises."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_QVALUE: Final = re.compile(r"(0(\.\d{0,3})?|1(\.0{0,3})?)", re.ASCII)
_MOST_RANGES: Final = 64
"""More than any client sends. The rest is not read."""


@dataclass(frozen=True, slots=True)
class _Range:
    name: str
    version: str | None
    quality: float


def wants_openmetrics(accept: str) -> bool:
    """Return whether the client prefers OpenMetrics 1.0.0 to the text format 0.0.4. Text wins a tie."""
    ranges = tuple(_ranges(accept))
    openmetrics = _preference(ranges, "application", "openmetrics-text", ("1.0.0",))
    return openmetrics[0] > 0 and openmetrics > _preference(ranges, "text", "plain", ("0.0.4",))


def wants_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip, with at least the quality of no compression."""
    quality = {item.name: item.quality for item in _ranges(accept_encoding)}
    gzip = quality.get("gzip", quality.get("x-gzip", quality.get("*", 0.0)))
    return gzip > 0 and gzip >= quality.get("identity", 0.0)


def _preference(ranges: Iterable[_Range], kind: str, subtype: str, versions: tuple[str, ...]) -> tuple[float, int]:
    """Return quality and precision of the most precise range that matches; (0, 0) when none does."""
    names = {f"{kind}/{subtype}": 2, f"{kind}/*": 1, "*/*": 0}
    found = [
        ((names[item.name], item.version is not None), item.quality)
        for item in ranges
        if item.name in names and (item.version is None or item.version in versions)
    ]
    if not found:
        return 0.0, 0
    (precision, _), quality = max(found)
    return quality, precision


def _ranges(header: str) -> Iterator[_Range]:
    for part in header.split(",", _MOST_RANGES)[:_MOST_RANGES]:
        name, *parameters = (piece.strip() for piece in part.split(";"))
        values = {
            key.strip().lower(): value.strip().strip('"')
            for key, _, value in (item.partition("=") for item in parameters)
        }
        quality = values.get("q", "1")
        if name and _QVALUE.fullmatch(quality):
            yield _Range(name.lower(), values.get("version"), float(quality))
