"""The tables of history and their version."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

import numpy as np

from kafka_warden.history.column import Column, DictionaryColumn, Role, Table, Values, array_column, column
from kafka_warden.history.column_types import BIGINT, INT, MapOf, PythonValue
from kafka_warden.history.poll import Poll
from kafka_warden.history.tables.brokers import BROKERS
from kafka_warden.history.tables.configs import CONFIGS
from kafka_warden.history.tables.moves import MOVES
from kafka_warden.history.tables.polls import POLLS, RESTORED
from kafka_warden.history.tables.quotas import QUOTAS
from kafka_warden.history.tables.replicas import PARTITIONS, REPLICAS

VERSION: Final = 3
"""Grows with any change of the tables. A reader accepts its own version and older ones."""

FINGERPRINTS: Final[Mapping[int, str]] = {
    1: "19457b5b6e6700f3",
    2: "687b9884b41a9291",
    3: "5454af53ce401569",
}
"""Version to fingerprint. A test fails if the tables change and the version does not."""

_OTHERS: Final = (PARTITIONS, REPLICAS, BROKERS, MOVES, QUOTAS, CONFIGS, RESTORED)

_COUNTS: Final = column(
    "rows",
    MapOf(BIGINT),
    "number of rows of this poll by table, except `polls`; if a table has fewer, some were lost",
    lambda poll, _: {table.name: table.count(poll) for table in _OTHERS},
)

TABLES: Final = (*_OTHERS, replace(POLLS, columns=(*POLLS.columns, _COUNTS)))
BY_NAME: Final = {table.name: table for table in TABLES}


def _repeated(read: Callable[[Poll], PythonValue]) -> Callable[[Poll, Sequence[Any]], Values]:
    return lambda poll, rows: DictionaryColumn(np.zeros(len(rows), np.int32), [read(poll)])


def _common(name: str, path: str) -> Column:
    return array_column(name, path, Role.KEY, read=_repeated(attrgetter(path)))


COMMON: Final = (
    Column("schema_version", Role.KEY, "version of these tables", "", INT, (), _repeated(lambda _: VERSION)),
    _common("cluster_id", "snapshot.cluster_id"),
    _common("run", "run"),
    _common("sequence", "sequence"),
    _common("time", "snapshot.time"),
    _common("clock", "snapshot.clock"),
)
"""First columns of every table. They are equal for all rows of a poll."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "snapshot.partitions.leader_row": "computed from `partitions.leader` and `replicas.position`",
    "snapshot.partitions.topic": "a row number: `partitions` has the topic",
    "snapshot.replicas.partition": "a row number: `replicas` has topic and partition",
    "snapshot.broker_beans[].left_out": "`kafka_warden_dropped_series` counts it",
    "snapshot.broker_beans[].every": "it says only how long the beans are shown",
    "snapshot.controller_beans[].left_out": "`kafka_warden_dropped_series` counts it",
    "snapshot.controller_beans[].every": "it says only how long the beans are shown",
    "derived.cluster.hidden": "the rows whose `partitions.leader` is -2",
    "derived.candidates": "computed from `partitions.leader`, `replicas.in_isr` and `replicas.eligible`",
    "derived.indexed": "computed from the snapshot alone",
    "derived.lag.estimate": "state of a fold, which a replay computes again",
    "derived.throttles.limits": "equal to `configs.broker_config.limits`",
    "derived.throttles.lists": "parsed from `configs.topic_config`",
    "derived.throttles.held": "computed from `replicas.leader_listed` and `replicas.follower_listed`",
    "derived.moves[].row": "a row number: `moves` has topic, partition and broker",
    "derived.moves[].lasting": "computed from the column `stuck` of `moves` in this and earlier polls",
}
"""Paths in a poll that no column holds, and why."""


@dataclass(frozen=True, slots=True)
class Built:
    """The rows of one table in one poll."""

    table: Table
    rows: int
    columns: Mapping[str, Values]


def columns_of(table: Table) -> tuple[Column, ...]:
    """List the columns of a table in their order."""
    return (*COMMON, *table.columns)


def build(table: Table, poll: Poll) -> Built:
    """Make the rows of one table."""
    rows = table.rows(poll)
    return Built(table, len(rows), {column.name: column.read(poll, rows) for column in columns_of(table)})


def count(poll: Poll) -> int:
    """Count the rows of all tables without making them. Fast: the thread that polls calls it when a queue is full."""
    return sum(table.count(poll) for table in TABLES)


def ddl(table: Table) -> str:
    """Return the columns of a table as Spark DDL."""
    return ", ".join(f"`{column.name}` {column.type}" for column in columns_of(table))


def fingerprint() -> str:
    """Return a hash of the names, keys, columns and types of all tables."""
    text = "\n".join(f"{table.name} ({', '.join(table.key)}): {ddl(table)}" for table in TABLES)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
