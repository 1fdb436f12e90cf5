"""Replays history in Spark: every poll judged again by the functions that the sidecar runs, run by run.

    replayed(history, "moves").where("told = 'exact'")

A run is a fold, so one task takes it from its first poll to its last; many runs go side by side. A task holds one poll
and what is remembered from one to the next, whatever the length of the history: rows come sorted, in Arrow batches.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.history.parquet.arrow import schema_of, to_arrow
from kafka_warden.history.poll import Poll
from kafka_warden.history.replay import Replayed, Tables, replay
from kafka_warden.history.schema import BY_NAME, TABLES, build, columns_of, ddl
from kafka_warden.pipeline.history import History

TOLD: Final = "told"
"""The column that says how far a row can be believed: a value of `kafka_warden.history.replay.Confidence`."""

NOTES: Final = "cluster_id string, run string, sequence bigint, time double, told string, problem string"
"""What `notes` returns."""

_OF: Final = ("cluster_id", "run", "sequence")
_PLACE: Final = "place"
"""Which table a row is of."""

Batches = Iterable[pa.RecordBatch]


def replayed(history: History, table: str) -> DataFrame:
    """Judge every poll again, and make the rows of one table anew.

    Args:
        history: all tables of it are read.
        table: whose rows are wanted.

    Returns:
        The columns of the table and `told`. A poll that is incomplete has no rows; `notes` tells which.
    """
    return _rows(history).mapInArrow(_remake(table), f"{ddl(BY_NAME[table])}, {TOLD} string")


def notes(history: History) -> DataFrame:
    """Tell of every poll how far its replay can be believed, and what is missing where it is incomplete: `NOTES`."""
    return _rows(history).mapInArrow(_note, NOTES)


def _rows(history: History) -> DataFrame:
    """Put the rows of all tables into one frame, a column for each table, the polls of a run one after the other."""
    frames = [_tagged(history, place) for place in range(len(TABLES))]
    together = frames[0]
    for frame in frames[1:]:
        together = together.unionByName(frame, allowMissingColumns=True)
    return together.repartition("cluster_id", "run").sortWithinPartitions(*_OF, _PLACE)


def _tagged(history: History, place: int) -> DataFrame:
    name = TABLES[place].name
    # Rows of a poll are told apart where they are put together, without a shuffle for each table.
    rows = history.table(name, distinct=False)
    return rows.select(*_OF, F.lit(place).alias(_PLACE), F.struct(*rows.columns).alias(name))


def _remake(table: str) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def remake(batches: Batches) -> Iterator[pa.RecordBatch]:
        for again in replay(_polls(batches)):
            if again.poll is not None:
                yield from _made(table, again.poll, again.confidence)

    return remake


def _made(table: str, poll: Poll, told: str) -> Iterator[pa.RecordBatch]:
    rows = to_arrow(build(BY_NAME[table], poll)).cast(schema_of(BY_NAME[table]))
    marked = rows.append_column(TOLD, pa.array([told] * len(rows), pa.string()))
    yield from marked.to_batches()


def _note(batches: Batches) -> Iterator[pa.RecordBatch]:
    for again in replay(_polls(batches)):
        yield pa.RecordBatch.from_pylist([_as_note(again)], _notes_schema())


def _notes_schema() -> Any:
    kinds = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
    return pa.schema([(name, kinds[kind]) for name, kind in (field.split(" ") for field in NOTES.split(", "))])


def _as_note(again: Replayed) -> dict[str, Any]:
    names = ("cluster_id", "run", "sequence", "time", "problem")
    return {**{name: getattr(again, name) for name in names}, TOLD: str(again.confidence)}


def _polls(batches: Batches) -> Iterator[Tables]:
    """Put the rows of one poll together, poll by poll."""
    poll: tuple[Any, ...] | None = None
    tables = _empty()
    for key, rows in _stretches(batches):
        if key[:-1] != poll:
            if poll is not None:
                yield _distinct(tables)
            poll, tables = key[:-1], _empty()
        for name, values in _columns(rows).items():
            tables[TABLES[key[-1]].name][name] += values
    if poll is not None:
        yield _distinct(tables)


def _distinct(tables: dict[str, dict[str, list[Any]]]) -> Tables:
    """Take each row once: files may have been copied."""
    return {name: _first_of_each(columns, BY_NAME[name].key) for name, columns in tables.items()}


def _first_of_each(columns: dict[str, list[Any]], key: tuple[str, ...]) -> dict[str, list[Any]]:
    keys = list(zip(*(columns[name] for name in key), strict=True)) if key else [()] * len(columns["run"])
    first = {each: row for row, each in reversed(list(enumerate(keys)))}
    if len(first) == len(keys):
        return columns
    rows = sorted(first.values())
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _empty() -> dict[str, dict[str, list[Any]]]:
    return {table.name: {column.name: [] for column in columns_of(table)} for table in TABLES}


def _stretches(batches: Batches) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Cut batches where the poll or the table changes."""
    for batch in batches:
        keys = zip(*(batch.column(name).to_pylist() for name in (*_OF, _PLACE)), strict=True)
        start = 0
        for key, same in groupby(keys):
            length = sum(1 for _ in same)
            yield key, batch.column(TABLES[key[-1]].name).slice(start, length)
            start += length


def _columns(rows: Any) -> dict[str, list[Any]]:
    names = (field.name for field in rows.type)
    return {name: values.to_pylist() for name, values in zip(names, rows.flatten(), strict=True)}
