"""Replays history in Spark: every poll is evaluated again by the functions that the sidecar runs, run by run.

    replayed(gathered(history), "moves").where("confidence = 'exact'")

A run is a fold, so one task takes it from its first poll to its last; runs are replayed in parallel. Rows come sorted,
in Arrow batches, and a task holds one poll and the fold's state, whatever the length of the history.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import groupby
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.pandas.types import to_arrow_schema

from kafka_warden.history.parquet.arrow import schema_of, to_arrow
from kafka_warden.history.replay import Tables, replay
from kafka_warden.history.schema import BY_NAME, TABLES, build, columns_of, ddl
from kafka_warden.pipeline.marts import parsed
from kafka_warden.pipeline.timeline import POLL, History

CONFIDENCE: Final = "confidence"
"""The column with a row's confidence, a value of `kafka_warden.history.replay.Confidence`."""

NOTES: Final = "cluster_id string, run string, sequence bigint, time double, confidence string, problem string"
"""What `notes` returns."""

_PLACE: Final = "place"
"""A row's table, by its index in `TABLES`."""

Batches = Iterable[pa.RecordBatch]


def gathered(history: History) -> DataFrame:
    """Return the rows of all tables, one column per table, sorted by poll within each run.

    Persist them for several uses: Spark plans the union of all tables for seconds.
    """
    frames = []
    for place, table in enumerate(TABLES):
        rows = history.table(table.name)
        frames.append(rows.select(*POLL, F.lit(place).alias(_PLACE), F.struct(*rows.columns).alias(table.name)))
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    return together.repartition("cluster_id", "run").sortWithinPartitions(*POLL, _PLACE)


def replayed(rows: DataFrame, table: str) -> DataFrame:
    """Evaluate every poll again; return the columns of one table and `CONFIDENCE`.

    `rows`: of `gathered`. An incomplete poll has no rows; `notes` lists it.
    """

    def remake(batches: Batches) -> Iterator[pa.RecordBatch]:
        for again in replay(_polls(batches)):
            if again.poll is not None:
                made = to_arrow(build(BY_NAME[table], again.poll)).cast(schema_of(BY_NAME[table]))
                confidence = pa.array([again.confidence] * len(made), pa.string())
                yield from made.append_column(CONFIDENCE, confidence).to_batches()

    return rows.mapInArrow(remake, f"{ddl(BY_NAME[table])}, {CONFIDENCE} string")


def notes(rows: DataFrame) -> DataFrame:
    """Return the confidence of every poll's replay, and what is missing where a poll is incomplete: `NOTES`.

    `rows`: of `gathered`.
    """
    schema = to_arrow_schema(parsed(NOTES))

    def note(batches: Batches) -> Iterator[pa.RecordBatch]:
        for again in replay(_polls(batches)):
            values = {name: getattr(again, name) for name in schema.names if name != CONFIDENCE}
            yield pa.RecordBatch.from_pylist([{**values, CONFIDENCE: str(again.confidence)}], schema)

    return rows.mapInArrow(note, NOTES)


def _polls(batches: Batches) -> Iterator[Tables]:
    """Gather the rows of each poll."""
    for _, mine in groupby(_stretches(batches), key=lambda stretch: stretch[0][:-1]):
        tables: dict[str, dict[str, list[Any]]] = {
            table.name: {column.name: [] for column in columns_of(table)} for table in TABLES
        }
        for key, rows in mine:
            for field, values in zip(rows.type, rows.flatten(), strict=True):
                tables[TABLES[key[-1]].name][field.name] += values.to_pylist()
        yield tables


def _stretches(batches: Batches) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Cut batches where the poll or the table changes."""
    for batch in batches:
        keys = zip(*(batch.column(name).to_pylist() for name in (*POLL, _PLACE)), strict=True)
        start = 0
        for key, same in groupby(keys):
            length = sum(1 for _ in same)
            yield key, batch.column(TABLES[key[-1]].name).slice(start, length)
            start += length
