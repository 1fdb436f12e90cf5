"""Columns and tables as data: what each holds, where it comes from, and how it is read of a poll."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar, get_args

import numpy as np

from kafka_warden.history.poll import Poll
from kafka_warden.history.shapes import Plain, Shape, bare, hints, shape_of


class Role(StrEnum):
    """What a column is for."""

    KEY = "key"
    RAW = "raw"
    """What brokers told, or what the user set: judgement follows from it."""
    JUDGED = "judged"
    """What the sidecar made of it."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of few different values: the place of each in a list, negative where it is unknown."""

    codes: np.ndarray
    values: Sequence[Plain]

    def __len__(self) -> int:
        return len(self.codes)


Values = np.ndarray | list[Plain] | Coded
"""A column. Arrays hold unknown as the model does (`UNKNOWN`, NaN), lists as `None`."""


class Rows(Protocol):
    """What the rows of one table are read from."""

    @property
    def poll(self) -> Poll:
        """The poll."""

    def __len__(self) -> int: ...


R = TypeVar("R", bound=Rows)


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column."""

    name: str
    role: Role
    unit: str
    help: str
    sources: tuple[str, ...]
    """Places in `Poll` that it holds all of; `[]` stands for each entry of a mapping or of a tuple."""
    shape: Shape
    read: Callable[[R], Values]


@dataclass(frozen=True, slots=True)
class Table(Generic[R]):
    """One table."""

    name: str
    about: str
    key: tuple[str, ...]
    """Columns that tell the rows of one poll apart."""
    columns: tuple[Column[R], ...]
    rows: Callable[[Poll], R]
    """What the rows of a poll are read from."""
    size: Callable[[Poll], int] | None = None
    """How many they are, where to make them takes time."""

    def count(self, poll: Poll) -> int:
        """Count the rows of a poll, at next to no cost."""
        return self.size(poll) if self.size is not None else len(self.rows(poll))


def annotation_at(path: str, start: Any = Poll) -> Any:
    """Find the type of a place, such as `snapshot.brokers[].host`, with `| None` taken off."""
    found = start
    for part in path.split("."):
        name = part.removesuffix("[]")
        found, _ = bare(found)
        found = hints(found)[name]
        if part != name:
            found, _ = bare(found)
            found = next(each for each in reversed(get_args(found)) if each is not ...)
    return found


def leaves(start: Any, prefix: str) -> tuple[str, ...]:
    """List every place below a dataclass: entries of mappings and tuples are looked into where they are dataclasses."""
    found: list[str] = []
    for name, annotation in hints(start).items():
        place, (kept, _) = f"{prefix}{name}", bare(annotation)
        entries = [each for each in get_args(kept)[-2:] if is_dataclass(each)]
        if is_dataclass(kept):
            found += leaves(kept, f"{place}.")
        elif entries:
            found += leaves(entries[0], f"{place}[].")
        else:
            found.append(place)
    return tuple(found)


def taken(name: str, unit: str, text: str, source: str, role: Role = Role.RAW) -> Column[Any]:
    """Make a column that stands in the poll as it is: an array with a row for each of the table's."""
    read = attrgetter(f"poll.{source}")
    return Column(name, role, unit, text, (source,), shape_of(annotation_at(source)), read)


def judged(name: str, unit: str, text: str, source: str) -> Column[Any]:
    """Make a column of the sidecar's own judgement that stands in the poll as it is."""
    return taken(name, unit, text, source, Role.JUDGED)
