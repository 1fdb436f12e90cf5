"""Polls, their rows as Python values, and the same polls evaluated again from these rows."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from kafka_warden.derive import derive
from kafka_warden.derive.saved import from_document, to_document
from kafka_warden.history.column import Columns, python_values
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.replay import Confidence, Tables
from kafka_warden.history.replay import replay as evaluate_again
from kafka_warden.history.schema import BY_NAME, TABLES, build, columns_of
from kafka_warden.model import Parameters, Snapshot
from tests import scene

Rows = dict[str, list[Any]]
"""Values by column."""


def polls(snapshots: Iterable[Snapshot], parameters: Parameters = scene.PARAMETERS, run: str = "run") -> list[Poll]:
    """Evaluate snapshots in order, as one process does."""
    memory, evaluated = None, list[Poll]()
    for sequence, seen in enumerate(snapshots):
        remembered = Remembered.KEPT if memory is not None else Remembered.NOTHING
        memory, derived = derive(seen, memory, parameters)
        evaluated.append(Poll(seen, derived, parameters, run, sequence, remembered))
    return evaluated


def scene_polls() -> list[Poll]:
    return polls(scene.poll(float(clock)) for clock in scene.POLLS)


def restarted_polls() -> list[Poll]:
    """The polls of the scene from the sixth on, by a process that took over the state file of the first five."""
    seen = [poll.snapshot for poll in scene_polls()]
    memory = None
    for each in seen[:5]:
        memory, _ = derive(each, memory, scene.PARAMETERS)
    assert memory is not None
    document = json.loads(json.dumps(to_document(memory, seen[4])))
    memory, evaluated = from_document(document, seen[5]), list[Poll]()
    for sequence, each in enumerate(seen[5:]):
        memory, derived = derive(each, memory, scene.PARAMETERS)
        how = Remembered.KEPT if sequence else Remembered.RESTORED
        evaluated.append(Poll(each, derived, scene.PARAMETERS, "second", sequence, how, None if sequence else document))
    return evaluated


def rows(poll: Poll) -> dict[str, Rows]:
    built = (build(table, poll) for table in TABLES)
    return {each.table.name: {name: python_values(values) for name, values in each.columns.items()} for each in built}


def replay(kept: Iterable[Tables]) -> Iterator[Poll]:
    """Evaluate polls again from their rows only; none may be missing."""
    for again in evaluate_again(kept):
        assert again.poll is not None, again.problem
        assert again.confidence is Confidence.EXACT
        yield again.poll


def written(tables: Mapping[str, Columns]) -> dict[str, Rows]:
    """Return the rows as they were written: Arrow reads a map as a list of pairs."""
    types_ = {(name, column.name): column.type for name in tables for column in columns_of(BY_NAME[name])}
    return {
        name: {
            column: [types_[name, column].write(types_[name, column].read(each)) for each in values]
            for column, values in columns.items()
        }
        for name, columns in tables.items()
    }


def differences(one: Mapping[str, Rows], other: Mapping[str, Rows], but: Collection[str] = ()) -> list[tuple[str, str]]:
    """Tables and columns of one poll that are not equal, except some columns."""
    columns = ((name, column) for name in one for column in one[name] if column not in but)
    return [(name, column) for name, column in columns if one[name][column] != other[name][column]]


def in_order_of(before: dict[str, Rows], again: dict[str, Rows]) -> dict[str, Rows]:
    """Sort rows in the order that they had before."""
    return {name: _sorted_like(before[name], columns) for name, columns in again.items()}


def _sorted_like(before: Rows, columns: Rows) -> Rows:
    names = [
        name for name in ("kind", "process", "node", "topic", "partition", "broker", "position") if name in columns
    ]

    def keys(rows: Rows) -> list[Any]:
        return list(zip(*(rows[name] for name in names), strict=True)) if names else list(range(len(rows["time"])))

    place = {key: row for row, key in enumerate(keys(columns))}
    order = [place[key] for key in keys(before)]
    return {name: [values[row] for row in order] for name, values in columns.items()}
