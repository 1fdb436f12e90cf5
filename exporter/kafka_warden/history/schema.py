"""The tables of history and their version."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

import numpy as np

from kafka_warden.history.column import DictionaryColumn, HistoryColumn, HistoryTable, Values, column
from kafka_warden.history.column_types import INT, PythonValue
from kafka_warden.history.poll import Poll
from kafka_warden.history.tables.brokers import BROKERS
from kafka_warden.history.tables.configs import CONFIGS
from kafka_warden.history.tables.moves import MOVES
from kafka_warden.history.tables.polls import POLLS, RESTORED
from kafka_warden.history.tables.quotas import QUOTAS
from kafka_warden.history.tables.replicas import PARTITIONS, REPLICAS

VERSION: Final = 5
"""Grows with any change of the tables; a test has the fingerprint of each. A reader accepts its own and older ones."""

_OTHERS: Final = (PARTITIONS, REPLICAS, BROKERS, MOVES, QUOTAS, CONFIGS, RESTORED)

_COUNTS: Final = column(
    "rows",
    each=lambda poll, _: {table.name: table.count(poll) for table in _OTHERS},
    type_=Mapping[str, int],
    text="rows by table; fewer: some were lost",
)

TABLES: Final = (*_OTHERS, replace(POLLS, columns=(*POLLS.columns, _COUNTS)))
BY_NAME: Final = {table.name: table for table in TABLES}


def _repeated(read: Callable[[Poll], PythonValue]) -> Callable[[Poll, Sequence[Any]], Values]:
    return lambda poll, rows: DictionaryColumn(np.zeros(len(rows), np.int32), [read(poll)])


def _common(name: str, path: str) -> HistoryColumn:
    return column(name, path, read=_repeated(attrgetter(path)))


COMMON: Final = (
    column("schema_version", read=_repeated(lambda _: VERSION), type_=INT, text="version of these tables"),
    _common("cluster_id", "snapshot.cluster_id"),
    _common("run", "run"),
    _common("sequence", "sequence"),
    _common("time", "snapshot.time"),
    _common("clock", "snapshot.clock"),
)
"""First columns of every table. They are equal for all rows of a poll."""


@dataclass(frozen=True, slots=True)
class Built:
    """The rows of one table in one poll."""

    table: HistoryTable
    rows: int
    columns: Mapping[str, Values]


def columns_of(table: HistoryTable) -> tuple[HistoryColumn, ...]:
    """List the columns of a table in their order."""
    return (*COMMON, *table.columns)


def build(table: HistoryTable, poll: Poll) -> Built:
    """Make the rows of one table."""
    rows = table.rows(poll)
    return Built(table, len(rows), {column.name: column.read(poll, rows) for column in columns_of(table)})


def count(poll: Poll) -> int:
    """Count the rows of all tables without making them. Fast: the thread that polls calls it when a queue is full."""
    return sum(table.count(poll) for table in TABLES)


def ddl(table: HistoryTable) -> str:
    """Return the columns of a table as Spark DDL."""
    return ", ".join(f"`{column.name}` {column.type}" for column in columns_of(table))
