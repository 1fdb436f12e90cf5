"""Query strings, negotiation of formats (`Accept` and `Accept-Encoding` of RFC 9110), and responses."""

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import parse_qsl

from kafka_warden.views.table_spec import CONTAINED

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PLAIN: Final = "text/plain; charset=utf-8"
_GZIP_LEVEL: Final = 1
_QVALUE: Final = re.compile(r"(0(\.\d{0,3})?|1(\.0{0,3})?)", re.ASCII)
_MOST_RANGES: Final = 64
"""More than any client sends. The rest is not read."""
_LONGEST_QUERY: Final = 2_000
_MOST_FIELDS: Final = 20

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Response:
    """Status, body, and headers that add to the security headers or replace them, without Content-Length."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def compressed(self) -> "Response":
        """Return the same response with a compressed body."""
        headers = {**self.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(self.status, gzip.compress(self.body, _GZIP_LEVEL, mtime=0), headers)


def plain(status: int, *lines: str, headers: Mapping[str, str] | None = None) -> Response:
    """Make a response of lines of text."""
    body = "".join(f"{line}\n" for line in lines).encode()
    return Response(status, body, {"Content-Type": _PLAIN, **(headers or {})})


def wants_openmetrics(accept: str) -> bool:
    """Return whether the client prefers OpenMetrics 1.0.0 to the text format 0.0.4. Text wins a tie."""
    ranges = tuple(_ranges(accept))
    openmetrics = _preference(ranges, "application/openmetrics-text", "1.0.0")
    return openmetrics[0] > 0 and openmetrics > _preference(ranges, "text/plain", "0.0.4")


def wants_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip, with at least the quality of no compression."""
    qualities = {name: quality for name, _, quality in _ranges(accept_encoding)}
    accepted = qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", 0.0)))
    return accepted > 0 and accepted >= qualities.get("identity", 0.0)


def _preference(ranges: Sequence[tuple[str, str, float]], kind: str, version: str) -> tuple[float, int]:
    """Return quality and precision of the most precise range that matches; (0, 0) when none does."""
    precision = {kind: 2, f"{kind.partition('/')[0]}/*": 1, "*/*": 0}
    matching = [
        (precision[name], bool(wanted), quality)
        for name, wanted, quality in ranges
        if name in precision and wanted in ("", version)
    ]
    best, _, quality = max(matching, default=(0, False, 0.0))
    return quality, best


def _ranges(header: str) -> Iterator[tuple[str, str, float]]:
    """Yield the name, the version or nothing, and the quality of each range."""
    for part in header.split(",", _MOST_RANGES)[:_MOST_RANGES]:
        name, *parameters = (piece.strip() for piece in part.split(";"))
        pairs = (parameter.partition("=") for parameter in parameters)
        values = {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}
        if name and _QVALUE.fullmatch(quality := values.get("q", "1")):
            yield name.lower(), values.get("version", ""), float(quality)


class QueryError(ValueError):
    """A query string that cannot be answered; the message is for the client."""


def parameters(query: bytes) -> dict[str, str]:
    """Read a query string; of a name that appears twice the last value counts, and empty values do not.

    Raises:
        QueryError: it is too long, or has too many parameters.
    """
    if len(query) > _LONGEST_QUERY:
        raise QueryError(f"a query of more than {_LONGEST_QUERY} bytes")
    try:
        pairs = parse_qsl(query.decode("latin-1"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise QueryError(f"more than {_MOST_FIELDS} parameters") from None
    return dict(pairs)


def number(values: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Read a whole number from 0 to `most`.

    Raises:
        QueryError: the value is anything else.
    """
    text = values.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < len(str(most)) + 1 and int(text) <= most):
        raise QueryError(f"{name}: expected a whole number of at most {most}")
    return int(text)


def matching(rows: Sequence[Row], filters: Mapping[str, str]) -> Sequence[Row]:
    """Return the rows whose fields match all filters. An unknown value matches none."""

    def matches(row: Row, name: str, text: str) -> bool:
        value = getattr(row, name)
        return value is not None and (text in value if name in CONTAINED else str(value) == text)

    return [row for row in rows if all(matches(row, *each) for each in filters.items())] if filters else rows
