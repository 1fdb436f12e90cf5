"""Query strings: parameters, filters of rows, and pages of a table. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from kafka_warden.views.table_spec import CONTAINED

Row = TypeVar("Row")

_LONGEST: Final = 2_000
_MOST_FIELDS: Final = 20


class QueryError(ValueError):
    """A query string that cannot be answered; the message is for the client."""


def parameters(query: bytes) -> dict[str, str]:
    """Read a query string; of a name that appears twice the last value counts, and empty values do not.

    Raises:
        QueryError: it is too long, or has too many parameters.
    """
    if len(query) > _LONGEST:
        raise QueryError(f"a query of more than {_LONGEST} bytes")
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
    """Return the rows whose fields match all filters."""
    if not filters:
        return rows
    return [row for row in rows if all(_matches(getattr(row, name), name, text) for name, text in filters.items())]


def _matches(value: Any, name: str, text: str) -> bool:
    if value is None:
        return False
    return text in value if name in CONTAINED else str(value) == text


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a table."""

    offset: int
    limit: int

    def of(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows of this part."""
        return rows[self.offset : self.offset + self.limit]
