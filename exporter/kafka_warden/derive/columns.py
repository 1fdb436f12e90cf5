"""State between polls: fields that are declared once, and one way to make, realign, write and read all of them.

A state is a dataclass. A field `Annotated[Floats, StateColumn(...)]` is a column of a snapshot, and
`Mapping[Side, Bools]` has one column per side. A field `Annotated[Mapping[...], Saved(...)]` is by key, with values
whose fields are `Saved`, too. A field may be a state itself, or a tuple of states. Other fields have no rows.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from kafka_warden.arrays import UNKNOWN, Axis, Keys, Longs, StateColumn, carry, match_partitions, match_replicas
from kafka_warden.model import SIDES, Side, Snapshot

State = TypeVar("State")

Row = Mapping[str, Any]
"""One row of a table of the state file: plain JSON values."""

Rows = Mapping[Axis, Longs]
"""The old row of each new topic, partition and replica; `UNKNOWN` if it is new."""

UNLIMITED: Final = "unlimited"
"""Infinity in the state file: JSON has none."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A mapping that is kept from poll to poll and saved as rows, or a field of its values."""

    name: str
    """Of the table, which mappings with the same keys share, or in the row."""
    parts: tuple[str, ...] = ()
    """Of a mapping: the names of the parts of a key in its row."""
    time: bool = False
    """Whether it is in monotonic seconds. The state file has Unix seconds."""


class SnapshotClock:
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
    column: StateColumn | None
    saved: Saved | None


def _find_fields(state: Any) -> tuple[_Field, ...]:
    found = []
    for name, hint in get_type_hints(state, include_extras=True).items():
        notes = getattr(hint, "__metadata__", ())
        column = next((note for note in notes if isinstance(note, StateColumn)), None)
        saved = next((note for note in notes if isinstance(note, Saved)), None)
        found.append(_Field(name, hint.__origin__ if column or saved else hint, column, saved))
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


def _realigned(value: Any, column: StateColumn | None, rows: Rows) -> Any:
    if column is None:
        return realign(value, rows)
    if isinstance(value, Mapping):
        return {side: carry(each, rows[column.axis], column.fill) for side, each in value.items()}
    return carry(value, rows[column.axis], column.fill)


def blank(kind: type[State], keys: Keys, /, **others: Any) -> State:
    """Make the state of new rows. `others`: values of fields that are neither columns nor states."""
    return _make(kind, lambda column, _: np.full(_size(keys, column.axis), column.fill), lambda *_: {}, others)


def read(
    kind: type[State], keys: Keys, tables: Mapping[Any, Sequence[Row]], clock: SnapshotClock, /, **others: Any
) -> State:
    """Make a state from the tables of a state file. Columns that are not in the file are those of new rows.

    Raises:
        AttributeError, IndexError, OverflowError, TypeError, ValueError: a value is damaged.
    """

    def values(column: StateColumn, side: Side | None) -> Sequence[Any] | np.ndarray:
        if not column.saved:
            return np.full(_size(keys, column.axis), column.fill)
        return [_read_cell(column, side, row, clock) for row in tables[column.axis]]

    return _make(kind, values, lambda kind, saved: _read_keyed(kind, saved, tables, clock), others)


def write(state: Any, axis: Axis, rows: int, clock: SnapshotClock) -> list[dict[str, Any]]:
    """Return the saved columns of an axis, by rows."""
    table: list[dict[str, Any]] = [{} for _ in range(rows)]
    for field, values in _noted(state):
        if (column := field.column) is None or column.axis is not axis or not column.saved:
            continue
        for row, value in zip(table, _written(column, values, clock), strict=True):
            row[column.saved] = value
    return table


def _make(
    kind: type[State],
    values: Callable[[StateColumn, Side | None], Sequence[Any] | np.ndarray],
    keyed: Callable[[Any, Saved], Mapping[Any, Any]],
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
        elif field.saved is not None:
            made[field.name] = keyed(field.kind, field.saved)
        elif isinstance(field.kind, type) and is_dataclass(field.kind) and field.name not in others:
            made[field.name] = _make(field.kind, values, keyed, {})
    return kind(**made)


def _dtype(array: Any) -> Any:
    """Return the type of the elements, from the type of an array."""
    return get_args(get_args(array)[1])[0]


def _size(keys: Keys, axis: Axis) -> int:
    return len({Axis.TOPIC: keys.topics, Axis.PARTITION: keys.topic, Axis.REPLICA: keys.broker}[axis])


def _read_cell(column: StateColumn, side: Side | None, row: Row, clock: SnapshotClock) -> Any:
    if column.saved not in row:
        return column.fill
    value = row[column.saved]
    if side is not None:
        return side in value
    if column.time:
        return clock.read(value)
    if value is None:
        return column.fill
    return column.names.index(value) if column.names else value


def _noted(state: Any) -> Iterator[tuple[_Field, Any]]:
    """All columns and saved mappings of a state and of the states in it."""
    for field in _fields(type(state)):
        value = getattr(state, field.name)
        if field.column or field.saved:
            yield field, value
        elif is_dataclass(value):
            yield from _noted(value)


def _written(column: StateColumn, values: Any, clock: SnapshotClock) -> Iterable[Any]:
    if isinstance(values, Mapping):
        rows = zip(*(each.tolist() for each in values.values()), strict=True)
        return [list(itertools.compress(values, row)) for row in rows]
    if column.time:
        return map(clock.write, values.tolist())
    if column.names:
        return (None if code == UNKNOWN else column.names[code] for code in values.tolist())
    return (None if value != value else value for value in values.tolist())  # noqa: PLR0124  # NaN


def write_keyed(state: Any, clock: SnapshotClock) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of the saved mappings, in the order of their keys. A missing value has empty fields."""
    tables: dict[str, dict[Any, dict[str, Any]]] = {}
    found = [(field.saved, get_args(field.kind)[1], values) for field, values in _noted(state) if field.saved]
    for saved, _, values in found:
        rows = tables.setdefault(saved.name, {})
        rows |= {key: dict(zip(saved.parts, _plain(tuple(key), clock), strict=True)) for key in values}
    for saved, kind, values in found:
        for key, row in tables[saved.name].items():
            row.update(_plain_fields(kind, values.get(key), clock))
    return {name: [rows[key] for key in sorted(rows)] for name, rows in tables.items()}


def _saved_fields(kind: Any) -> list[tuple[_Field, Saved]]:
    return [(field, field.saved) for field in _fields(kind) if field.saved]


def _plain_fields(kind: Any, value: Any, clock: SnapshotClock) -> Row:
    fields = _saved_fields(kind)
    return {saved.name: _plain(getattr(value, field.name, None), clock, time=saved.time) for field, saved in fields}


def _plain(value: Any, clock: SnapshotClock, *, time: bool = False) -> Any:
    """Convert to JSON values: bytes to hexadecimal digits, a mapping to lists of the parts of a key and its value."""
    if time and value is not None:
        return clock.write(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(each, clock) for each in value]
    if isinstance(value, Mapping):
        return [[*_plain(key, clock), each] for key, each in value.items()]
    if is_dataclass(value):
        return _plain_fields(type(value), value, clock)
    return UNLIMITED if value == np.inf else value


def _read_keyed(kind: Any, saved: Saved, tables: Mapping[Any, Sequence[Row]], clock: SnapshotClock) -> dict[Any, Any]:
    key, value = get_args(kind)
    names = [field.name for _, field in _saved_fields(value)]
    rows = (row for row in tables[saved.name] if any(row[name] is not None for name in names))
    return {_read_tuple(key, [row[part] for part in saved.parts], clock): _read(value, row, clock) for row in rows}


def _read_tuple(kind: Any, parts: Sequence[Any], clock: SnapshotClock) -> Any:
    kinds = get_args(kind) or get_type_hints(kind).values()
    values = [_read(each, part, clock) for each, part in zip(kinds, parts, strict=True)]
    return getattr(kind, "_make", tuple)(values)  # a named tuple, or a plain one


def _read(kind: Any, value: Any, clock: SnapshotClock, *, time: bool = False) -> Any:
    """Convert from JSON values, the reverse of `_plain`."""
    parts = get_args(kind)
    if type(None) in parts:
        return None if value is None else _read(parts[0], value, clock, time=time)
    if time:
        return clock.read(value)
    if get_origin(kind) is tuple:
        return _read_tuple(kind, value, clock)
    if get_origin(kind) is Mapping:
        return {_read_tuple(parts[0], key, clock): parts[1](each) for *key, each in value}
    if fields := _saved_fields(kind):
        read = ((field, value[saved.name], saved.time) for field, saved in fields)
        return kind(**{field.name: _read(field.kind, each, clock, time=time) for field, each, time in read})
    convert = bytes.fromhex if kind is bytes else kind
    return np.inf if value == UNLIMITED else convert(value)
