"""State between polls: columns that are declared once, and one way to make, realign, write and read all of them.

A state is a dataclass. A field `Annotated[Floats, Column(...)]` is a column of a snapshot, and `Mapping[Side, Bools]`
has one column per side. A field may be a state itself, or a tuple of states. Other fields have no rows.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from kafka_warden.arrays import UNKNOWN, Axis, Column, Keys, Longs, carry, match_partitions, match_replicas
from kafka_warden.model import SIDES, Side, Snapshot

State = TypeVar("State")

Row = Mapping[str, Any]
"""One row of a table of the state file: plain JSON values."""

Rows = Mapping[Axis, Longs]
"""The old row of each new topic, partition and replica; `UNKNOWN` if it is new."""


class Clock:
    """Monotonic seconds of one process to Unix seconds and back; `None` and NaN mean unknown."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._zero = snapshot.time - snapshot.clock
        self._now = snapshot.clock

    def write(self, at: float) -> float | None:
        """Convert monotonic seconds into Unix seconds."""
        return None if at != at else self._zero + at  # noqa: PLR0124  # NaN is the one value that is not itself

    def read(self, time: float | None) -> float:
        """Convert Unix seconds into monotonic seconds, which may lie before the start of this process.

        Raises:
            ValueError: it is before 1970.
        """
        if time is None:
            return np.nan
        if not time >= 0:
            raise ValueError(f"the time {time}")
        # The wall clock may have been set back since: no condition started later than now.
        return min(float(time) - self._zero, self._now)


class _Field(NamedTuple):
    """A field of a state."""

    name: str
    kind: Any
    """Its type."""
    column: Column | None
    required: bool
    """It has no default."""


def _find_fields(state: Any) -> tuple[_Field, ...]:
    hints, found = get_type_hints(state, include_extras=True), []
    for field in fields(state):
        hint = hints[field.name]
        column = next((note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Column)), None)
        required = field.default is MISSING and field.default_factory is MISSING
        found.append(_Field(field.name, hint if column is None else hint.__origin__, column, required))
    return tuple(found)


_fields: Callable[[Any], tuple[_Field, ...]] = lru_cache(_find_fields)


class Timed(Protocol):
    """What one poll leaves for the next ones."""

    @property
    def clock(self) -> float:
        """Monotonic seconds of the poll."""


Kept = TypeVar("Kept", bound=Timed)


def append(history: tuple[Kept, ...], now: Kept, reach: float, grain: float, dense: int = 0) -> tuple[Kept, ...]:
    """Keep polls within the reach in seconds and one beyond it; before the last `dense` ones, one per grain."""
    samples = (*history, now)
    first = max((index for index, seen in enumerate(samples) if now.clock - seen.clock >= reach), default=0)
    kept = samples[first:]
    leaving = len(kept) - 2 - dense
    if leaving > 0 and kept[leaving].clock - kept[leaving - 1].clock < grain:
        return kept[:leaving] + kept[leaving + 1 :]
    return kept


def match(old: Keys, new: Keys) -> Rows:
    """Match the rows of two snapshots."""
    partitions = match_partitions(old, new)
    return rows_of(old, new, partitions, match_replicas(old, new, partitions))


def rows_of(old: Keys, new: Keys, partitions: Longs, replicas: Longs) -> Rows:
    """Add the old row of each topic to those of partitions and replicas. A topic is the same if a partition is."""
    topics, kept = np.full(len(new.topics), UNKNOWN, np.int64), np.flatnonzero(partitions != UNKNOWN)
    topics[new.topic[kept]] = old.topic[partitions[kept]]
    return {Axis.TOPIC: topics, Axis.PARTITION: partitions, Axis.REPLICA: replicas}


def realign(state: Any, rows: Rows) -> Any:
    """Bring a state to other rows. A value without rows stays the same."""
    if isinstance(state, tuple):
        return tuple(realign(each, rows) for each in state) if state and is_dataclass(state[0]) else state
    if not is_dataclass(state):
        return state
    moved = {field.name: _realigned(getattr(state, field.name), field.column, rows) for field in _fields(type(state))}
    return replace(state, **moved)  # type: ignore[type-var]  # a dataclass: asked above


def _realigned(value: Any, column: Column | None, rows: Rows) -> Any:
    if column is None:
        return realign(value, rows)
    if isinstance(value, Mapping):
        return {side: carry(each, rows[column.axis], column.fill) for side, each in value.items()}
    return carry(value, rows[column.axis], column.fill)


def blank(kind: type[State], keys: Keys, /, **others: Any) -> State:
    """Make the state of new rows. `others`: values of fields that are neither columns nor states."""
    return _make(kind, lambda column, _: np.full(_size(keys, column.axis), column.fill), others)


def read(kind: type[State], keys: Keys, tables: Mapping[Axis, Sequence[Row]], clock: Clock, /, **others: Any) -> State:
    """Make a state from the tables of a state file. Columns that are not in the file are those of new rows.

    Raises:
        AttributeError, IndexError, OverflowError, TypeError, ValueError: a value is damaged.
    """

    def values(column: Column, side: Side | None) -> Sequence[Any] | np.ndarray:
        if not column.saved:
            return np.full(_size(keys, column.axis), column.fill)
        return [_read(column, side, row, clock) for row in tables[column.axis]]

    return _make(kind, values, others)


def write(state: Any, axis: Axis, rows: int, clock: Clock) -> list[dict[str, Any]]:
    """Return the saved columns of an axis, by rows."""
    table: list[dict[str, Any]] = [{} for _ in range(rows)]
    for column, values in _saved(state, axis):
        for row, value in zip(table, _written(column, values, clock), strict=True):
            if column.place is None:
                row[column.saved] = value
            else:
                row.setdefault(column.saved, []).append(value)
    return table


def _make(
    kind: type[State],
    values: Callable[[Column, Side | None], Sequence[Any] | np.ndarray],
    others: Mapping[str, Any],
) -> State:
    made = dict(others)
    for field in _fields(kind):
        if (column := field.column) is not None:
            if get_origin(field.kind) is Mapping:
                dtype = _dtype(get_args(field.kind)[1])
                made[field.name] = {side: np.asarray(values(column, side), dtype) for side in SIDES}
            else:
                made[field.name] = np.asarray(values(column, None), _dtype(field.kind))
        elif field.required and field.name not in others:
            made[field.name] = _make(field.kind, values, {})
    return kind(**made)


def _dtype(array: Any) -> Any:
    """Return the type of the elements, from the type of an array."""
    return get_args(get_args(array)[1])[0]


def _size(keys: Keys, axis: Axis) -> int:
    return len({Axis.TOPIC: keys.topics, Axis.PARTITION: keys.topic, Axis.REPLICA: keys.broker}[axis])


def _read(column: Column, side: Side | None, row: Row, clock: Clock) -> Any:
    if column.saved not in row:
        return column.fill
    value = row[column.saved] if column.place is None else row[column.saved][column.place]
    if side is not None:
        return side in value
    if column.time:
        return clock.read(value)
    if value is None:
        return column.fill
    return column.names.index(value) if column.names else value


def _saved(state: Any, axis: Axis) -> Iterator[tuple[Column, Any]]:
    for field in _fields(type(state)):
        value = getattr(state, field.name)
        if field.column is None and is_dataclass(value):
            yield from _saved(value, axis)
        elif field.column is not None and field.column.saved and field.column.axis is axis:
            yield field.column, value


def _written(column: Column, values: Any, clock: Clock) -> Iterable[Any]:
    if isinstance(values, Mapping):
        rows = zip(*(each.tolist() for each in values.values()), strict=True)
        return [list(itertools.compress(values, row)) for row in rows]
    if column.time:
        return map(clock.write, values.tolist())
    if column.names:
        return (None if code == UNKNOWN else column.names[code] for code in values.tolist())
    return (None if value != value else value for value in values.tolist())  # noqa: PLR0124  # NaN
