"""Rows that are objects, not columns: each table lists them once a poll, and a column reads one value of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kafka_warden.history.column import Column, Role
from kafka_warden.history.poll import Poll
from kafka_warden.history.shapes import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Plain, Scalar, Shape

E = TypeVar("E")

MAYBE_NUMBER = Scalar(BIGINT.kind, optional=True)
MAYBE_REAL = Scalar(DOUBLE.kind, optional=True)
MAYBE_TEXT = Scalar(STRING.kind, optional=True)
MAYBE = Scalar(BOOLEAN.kind, optional=True)
MAYBE_BROKER = Scalar(INT.kind, optional=True)


@dataclass(frozen=True, slots=True)
class Entities(Generic[E]):
    """The rows of one poll."""

    poll: Poll
    items: Sequence[E]

    def __len__(self) -> int:
        return len(self.items)


def column(
    name: str,
    shape: Shape,
    unit: str,
    text: str,
    sources: tuple[str, ...],
    read: Callable[[Poll, Any], Any],
    role: Role = Role.RAW,
) -> Column[Any]:
    """Make a column of such a table; `read` returns a value of the model."""

    def values(rows: Entities[Any]) -> list[Plain]:
        return [shape.write(read(rows.poll, item)) for item in rows.items]

    return Column(name, role, unit, text, sources, shape, values)


def judged(
    name: str, shape: Shape, unit: str, text: str, sources: tuple[str, ...], read: Callable[[Poll, Any], Any]
) -> Column[Any]:
    """Make one of the sidecar's own judgement."""
    return column(name, shape, unit, text, sources, read, Role.JUDGED)
