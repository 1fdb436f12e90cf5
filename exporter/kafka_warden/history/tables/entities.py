"""Tables whose rows are objects: a table lists the objects of a poll, and a column reads one value of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kafka_warden.history.column import Column, Role, role_of
from kafka_warden.history.column_types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, ColumnType, PythonValue, Scalar
from kafka_warden.history.poll import Poll

E = TypeVar("E")

OPTIONAL_BIGINT = Scalar(BIGINT.kind, optional=True)
OPTIONAL_DOUBLE = Scalar(DOUBLE.kind, optional=True)
OPTIONAL_STRING = Scalar(STRING.kind, optional=True)
OPTIONAL_BOOLEAN = Scalar(BOOLEAN.kind, optional=True)
OPTIONAL_INT = Scalar(INT.kind, optional=True)


@dataclass(frozen=True, slots=True)
class Entities(Generic[E]):
    """The rows of one poll."""

    poll: Poll
    items: Sequence[E]

    def __len__(self) -> int:
        return len(self.items)


def column(
    name: str,
    type_: ColumnType,
    text: str,
    sources: tuple[str, ...] = (),
    read: Callable[[Poll, Any], Any] | None = None,
    *,
    unit: str = "",
    role: Role | None = None,
) -> Column[Any]:
    """Make a column; `read` returns a value of the model, by default the attribute of the item with the same name."""
    value = read or (lambda _, item: getattr(item, name))

    def values(rows: Entities[Any]) -> list[PythonValue]:
        return [type_.write(value(rows.poll, item)) for item in rows.items]

    return Column(name, role or role_of(sources), text, sources, type_, values, unit)
