"""Columns of numpy: their types, unknown values, and which row of an older table is a row of a newer one.

A partition is the same when topic name, topic id and number are: a topic created again with an old name is another.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

Value = TypeVar("Value", float, Floats)
"""A number, or a column of them."""

UNKNOWN: Final = -1
"""In integer arrays: not known, because no answer came."""


class Axis(Enum):
    """What the rows of a column are."""

    TOPIC = "topic"
    PARTITION = "partition"
    REPLICA = "replica"


@dataclass(frozen=True, slots=True)
class StateColumn:
    """A column that is kept from poll to poll: `kafka_warden.derive.columns`."""

    axis: Axis
    fill: float
    """The value of a new row."""
    saved: str = ""
    """Its key in the state file, empty if it is not saved."""
    time: bool = False
    """Whether it is in monotonic seconds. The state file has Unix seconds."""
    names: Sequence[str] = ()
    """If it is an index into these: the state file has the names."""


def as_known(value: float) -> float | None:
    """One element of an array: None where it is NaN."""
    return None if math.isnan(value) else float(value)


def listed(column: NDArray[Any]) -> list[Any]:
    """Turn a column into Python values: `None` for `UNKNOWN` in integers and for NaN."""
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and np.isnan(column).any():
        return [None if math.isnan(value) else value for value in values]
    if column.dtype.kind == "i" and (column == UNKNOWN).any():
        return [None if value == UNKNOWN else value for value in values]
    return values


def as_finite(value: float) -> float | None:
    """One element of an array: None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def sum_known(parts: Sequence[float | None]) -> float | None:
    """Add the parts up: None while one of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


@dataclass(frozen=True, slots=True)
class Keys:
    """The identity of rows. P partitions, R replicas."""

    topics: tuple[str, ...]
    topic_ids: tuple[bytes, ...]
    topic: Ints
    """(P,) index into `topics`."""
    number: Ints
    """(P,) partition number."""
    partition: Ints
    """(R,) row of the partition."""
    broker: Ints
    """(R,) broker id."""

    def same(self, other: "Keys") -> bool:
        """Return whether both have the same partitions and replicas in the same rows."""
        pairs = (
            (self.topic, other.topic),
            (self.number, other.number),
            (self.partition, other.partition),
            (self.broker, other.broker),
        )
        names = self.topic_ids == other.topic_ids and self.topics == other.topics
        return names and all(mine is theirs or np.array_equal(mine, theirs) for mine, theirs in pairs)


def match_partitions(old: Keys, new: Keys) -> Longs:
    """For each partition row of `new` its row in `old`, or `UNKNOWN`. Shape (P of new,)."""
    known = {identity: index for index, identity in enumerate(zip(old.topics, old.topic_ids, strict=True))}
    same = [known.get(identity, UNKNOWN) for identity in zip(new.topics, new.topic_ids, strict=True)]
    return _match((old.topic, old.number), (new.topic, new.number), np.array(same, np.int64))


def match_replicas(old: Keys, new: Keys, partitions: Longs) -> Longs:
    """For each replica row of `new` its row in `old`, or `UNKNOWN`, given `match_partitions`. Shape (R of new,)."""
    return _match((old.partition, old.broker), (new.partition, new.broker), partitions)


def _match(old: tuple[Ints, Ints], new: tuple[Ints, Ints], same: Longs) -> Longs:
    """For each row of `new` its row in `old`, or `UNKNOWN`.

    Rows are given by their group and their member of it. `same`: for each group of `new` that of `old`.
    """
    (group, member), (new_group, new_member) = old, new
    wanted = same[new_group]
    found = np.full(len(wanted), UNKNOWN, np.int64)
    known = np.flatnonzero(wanted != UNKNOWN)
    if not len(known) or not len(group):
        return found
    # Most rows have the same place in their group, whose rows stand together. Only the others are searched for.
    size = 1 + int(max(group.max(), wanted.max()))
    place = known - _firsts(new_group, len(same))[new_group[known]]
    candidate = np.minimum(_firsts(group, size)[wanted[known]] + place, len(group) - 1)
    alike = (group[candidate] == wanted[known]) & (member[candidate] == new_member[known])
    found[known[alike]] = candidate[alike]
    rest = known[~alike]
    searched = np.flatnonzero(np.bincount(wanted[rest], minlength=size)[group])
    among = _find(_pair(group[searched], member[searched]), _pair(wanted[rest], new_member[rest]))
    found[rest[among != UNKNOWN]] = searched[among[among != UNKNOWN]]
    return found


def carry(column: np.ndarray, rows: Longs, missing: float) -> np.ndarray:
    """The column with row i taken from the old row `rows[i]`, `missing` where that is `UNKNOWN`."""
    if not len(column):
        return np.full(len(rows), missing, column.dtype)
    taken = column.take(rows, mode="clip")
    taken[rows == UNKNOWN] = missing
    return taken


def _firsts(group: Ints, groups: int) -> Longs:
    """Return the first row of each group, where those of a group stand together, in ascending order of the groups."""
    counts = np.bincount(group, minlength=groups)
    firsts: Longs = np.cumsum(counts) - counts
    return firsts


def _pair(high: Ints | Longs, low: Ints | Longs) -> Longs:
    paired: Longs = (high.astype(np.int64) << 32) | low
    return paired


def _find(keys: Longs, wanted: Longs) -> Longs:
    if not len(keys):
        return np.full(len(wanted), UNKNOWN, np.int64)
    order = np.argsort(keys, kind="stable")
    candidate = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[candidate] == wanted, candidate, UNKNOWN)
