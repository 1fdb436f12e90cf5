"""Rows of all tables in one stream: the common columns, and one column per table, of which one is filled.

Marts combine several tables, so all rows of a poll should be in one batch.
"""

from collections.abc import Mapping
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Final, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.types import StructType

from kafka_warden.history import messages
from kafka_warden.history.schema import BY_NAME, COMMON, ddl
from kafka_warden.pipeline.ops import no
from kafka_warden.pipeline.rollup.samples import COLUMNS, KINDS, POLL, needed
from kafka_warden.pipeline.storage import address, literal

PLACE: Final[Mapping[str, str]] = {"file": "string", "partition": "int", "offset": "bigint"}
"""A row's file, or its partition and offset, with Spark's types; the others are null."""
HEAD: Final = ("schema_version", *POLL)
"""The other common columns; null if a message names no poll."""
UNREADABLE: Final = ""
"""The table of a message that is not history."""
MESSAGE: Final = "message"
"""The table of an extra row per message, from which lost messages are counted."""
_HEAD_DDL: Final = ", ".join(f"`{column.name}` {column.type}" for column in COMMON) + ", `table` string"
ALL_AGES: Final = "365000d"
"""By default Spark ignores files that are a week older than the newest one."""


def of_files(spark: SparkSession, folder: Path | str) -> DataFrame:
    """Stream the files of a history folder, of one sidecar or of several with a folder each.

    A batch reads all new files: a limit per table would read different hours of each.
    """
    return reduce(DataFrame.unionByName, (_files_of(spark, address(folder), name) for name in COLUMNS))


def of_messages(messages_read: DataFrame) -> DataFrame:
    """Return the rows of the messages of docs/history.md, and one row of the table `MESSAGE` for each.

    `messages_read`: stream with the columns `value` (text or bytes), `partition` and `offset`. A message of another
    form becomes one row of the table `UNREADABLE`.
    """
    text = F.col("value").cast("string")
    parsed = messages_read.select(
        "partition",
        "offset",
        F.from_json(text, _HEAD_DDL).alias("head"),
        # Parsed again with the schema of the message's table.
        F.coalesce(*(_listed(text, name) for name in COLUMNS), F.array(_entry(None))).alias("rows"),
    )
    # The first entry is for the message itself.
    entries = F.posexplode(F.concat(F.array(_entry(None)), "rows")).alias("entry", "row")
    has_poll = reduce(and_, (F.col(f"head.{name}").isNotNull() for name in POLL))
    entry = F.col("entry")
    readable = F.coalesce(_is_filled() & has_poll, no())
    found = parsed.select("partition", "offset", "head", entries).select(
        F.when(entry == 0, MESSAGE).when(readable, F.col("head.table")).otherwise(UNREADABLE).alias("table"),
        *_place(partition=F.col("partition"), offset=F.col("offset")),
        *(F.when((entry > 0) & has_poll, F.col(f"head.{name}")).alias(name) for name in HEAD),
        *(F.col(f"row.{name}").alias(name) for name in COLUMNS),
    )
    # As `samples.needed`, without tables that no mart uses.
    needed_rows = F.col("table").isin(MESSAGE, UNREADABLE, *(name for name in COLUMNS if name not in KINDS))
    for name, kind in KINDS.items():
        needed_rows |= (F.col("table") == name) & (F.col(f"{name}.kind") == kind)
    return found.where(needed_rows)


def table_of(rows: DataFrame, name: str) -> DataFrame:
    """Return the rows of one table, as `samples.narrowed` does."""
    return rows.where(F.col("table") == name).select(*POLL, *(f"{name}.{column}" for column in COLUMNS[name]))


def _files_of(spark: SparkSession, folder: str, name: str) -> DataFrame:
    reader = spark.readStream.schema(ddl(BY_NAME[name]))
    # Without partition discovery, which would add the column `hour`.
    reader = reader.option("recursiveFileLookup", "true").option("maxFileAge", ALL_AGES)
    rows = reader.option("pathGlobFilter", "*.parquet").parquet(f"{literal(folder)}/{{{name},*/{name}}}/date=*/hour=*")
    return needed(name, rows).select(
        F.lit(name).alias("table"),
        *_place(file=F.col("_metadata.file_path")),
        *HEAD,
        *((F.struct(*COLUMNS[name]) if other == name else _nothing(other)).alias(other) for other in COLUMNS),
    )


def _place(**known: Column) -> list[Column]:
    return [known.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in PLACE.items()]


def _nothing(name: str) -> Column:
    wanted = cast("StructType", StructType.fromDDL(ddl(BY_NAME[name])))
    return F.lit(None).cast(StructType([wanted[column] for column in COLUMNS[name]]))


def _listed(text: Column, name: str) -> Column:
    """Return the rows of a message as an array of `_entry`; null if the message is of another table."""
    rows = F.from_json(text, messages.ddl(BY_NAME[name]))["rows"]
    is_mine = F.get_json_object(text, "$.table") == name
    return F.when(is_mine, F.transform(rows, lambda row: _entry(name, row)))


def _entry(name: str | None, row: Column | None = None) -> Column:
    mine = None if row is None or name is None else F.struct(*(row[column].alias(column) for column in COLUMNS[name]))
    return F.struct(
        *(
            mine.alias(other) if mine is not None and other == name else _nothing(other).alias(other)
            for other in COLUMNS
        )
    )


def _is_filled() -> Column:
    """Return whether the column of the row's table is filled, or no mart uses that table."""
    table = F.col("head.table")
    filled = table.isin(*BY_NAME) & ~table.isin(*COLUMNS)
    for name in COLUMNS:
        filled |= (table == name) & F.col(f"row.{name}").isNotNull()
    return filled
