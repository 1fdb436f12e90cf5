"""The tables of history, and what changes with them: their version."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kafka_warden.history.column import Coded, Column, Role, Table, Values
from kafka_warden.history.poll import Poll
from kafka_warden.history.shapes import BIGINT, DOUBLE, INT, STRING, MapOf, Plain, Shape
from kafka_warden.history.tables.brokers import BROKERS
from kafka_warden.history.tables.configs import CONFIGS
from kafka_warden.history.tables.moves import MOVES
from kafka_warden.history.tables.partitions import PARTITIONS
from kafka_warden.history.tables.polls import POLLS, RESTORED
from kafka_warden.history.tables.quotas import QUOTAS
from kafka_warden.history.tables.replicas import REPLICAS

VERSION: Final = 1
"""Grows with any change of the tables. A reader takes its own and older ones."""

FINGERPRINTS: Final[Mapping[int, str]] = {1: "19457b5b6e6700f3"}
"""Version to the fingerprint of its columns: a test holds that one does not change without the other."""

_OTHERS: Final[tuple[Table[Any], ...]] = (PARTITIONS, REPLICAS, BROKERS, MOVES, QUOTAS, CONFIGS, RESTORED)


def _counts(rows: Any) -> list[Plain]:
    return [{table.name: table.count(rows.poll) for table in _OTHERS}]


_COUNTS: Final[Column[Any]] = Column(
    "rows", Role.RAW, "", "other table to its rows in this poll: with fewer some were lost", (), MapOf(BIGINT), _counts
)

TABLES: Final[tuple[Table[Any], ...]] = (*_OTHERS, replace(POLLS, columns=(*POLLS.columns, _COUNTS)))
BY_NAME: Final = {table.name: table for table in TABLES}


def _common(
    name: str, shape: Shape, unit: str, text: str, sources: tuple[str, ...], read: Callable[[Poll], Plain]
) -> Column[Any]:
    def values(rows: Any) -> Coded:
        return Coded(np.zeros(len(rows), np.int32), [read(rows.poll)])

    return Column(name, Role.KEY, unit, text, sources, shape, values)


COMMON: Final[tuple[Column[Any], ...]] = (
    _common("schema_version", INT, "", "version of these tables", (), lambda _: VERSION),
    _common(
        "cluster_id",
        STRING,
        "",
        "of the cluster, as Kafka tells it",
        ("snapshot.cluster_id",),
        lambda poll: poll.snapshot.cluster_id,
    ),
    _common("run", STRING, "", "the process that wrote it; monotonic times compare within one", (), lambda p: p.run),
    _common(
        "sequence",
        BIGINT,
        "",
        "judged polls of this run before this one; a gap is a poll that was left out or lost",
        (),
        lambda poll: poll.sequence,
    ),
    _common("time", DOUBLE, "Unix s", "when the poll began", ("snapshot.time",), lambda poll: poll.snapshot.time),
    _common(
        "clock",
        DOUBLE,
        "monotonic s",
        "the same on the monotonic clock of this run",
        ("snapshot.clock",),
        lambda poll: poll.snapshot.clock,
    ),
)
"""What every row of every table begins with. Rows of one poll have these in common."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "snapshot.partitions.leader_row": "follows from `partitions.leader` and `replicas.position`",
    "snapshot.replicas.partition": "a row number: `replicas` has topic and partition",
    "derived.frame": "columns that follow from the snapshot alone",
    "derived.lag.weights": "the state of a fold, which comes back in a replay",
    "derived.throttles.limits": "the same as `configs.broker_config.limits`",
    "derived.throttles.lists": "parsed from `configs.topic_config`",
    "derived.throttles.held": "follows from `replicas.leader_listed` and `replicas.follower_listed`",
    "derived.moves[].row": "a row number: `moves` has topic, partition and broker",
}
"""Places in a poll that no column holds, and why none needs to."""


@dataclass(frozen=True, slots=True)
class Built:
    """The rows of one table in one poll."""

    table: Table[Any]
    rows: int
    columns: Mapping[str, Values]


def columns_of(table: Table[Any]) -> tuple[Column[Any], ...]:
    """List the columns of a table in their order."""
    return (*COMMON, *table.columns)


def build(table: Table[Any], poll: Poll) -> Built:
    """Make the rows of one table."""
    rows = table.rows(poll)
    return Built(table, len(rows), {column.name: column.read(rows) for column in columns_of(table)})


def count(poll: Poll) -> int:
    """Count the rows of all tables without making them: a poll that waits for nobody does so when a queue is full."""
    return sum(table.count(poll) for table in TABLES)


def ddl(table: Table[Any]) -> str:
    """Write the columns of a table as Spark's DDL."""
    return ", ".join(f"`{column.name}` {column.shape}" for column in columns_of(table))


def fingerprint() -> str:
    """Tell this form of the tables from any other."""
    text = "\n".join(f"{table.name} ({', '.join(table.key)}): {ddl(table)}" for table in TABLES)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
