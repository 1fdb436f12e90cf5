"""Rows of all tables in one stream: what they have in common, and one column for each table of which one is filled.

One stream, and not one for each table, since marts are made of several: what is of one poll is counted in one batch.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it
from pyspark.sql.types import StructType

from kafka_warden.history import messages
from kafka_warden.history.schema import BY_NAME, COMMON, ddl
from kafka_warden.pipeline.ops import no, yes
from kafka_warden.pipeline.rollup.samples import COLUMNS, KINDS, POLL, needed
from kafka_warden.pipeline.storage import address, literal

PLACE: Final[Mapping[str, str]] = {"file": "string", "partition": "int", "offset": "bigint"}
"""Where a row was read, with Spark's types: the file, or the partition of the topic and the offset; else null."""
HEAD: Final = ("schema_version", *POLL)
"""What all rows have in common besides; null where a message tells no poll."""
UNREADABLE: Final = ""
"""The table of a message that is none of ours."""
MESSAGE: Final = "message"
"""The table of the row that every message has besides its own, so that what a topic lost is known."""
_HEAD_DDL: Final = ", ".join(f"`{column.name}` {column.type}" for column in COMMON) + ", `table` string"
ALL_AGES: Final = "365000d"
"""Spark passes by files that are a week older than the newest; history is as old as it is."""


def of_files(spark: SparkSession, folder: Path | str) -> DataFrame:
    """Stream the files of a folder of history as they arrive, of one sidecar or of those that have a folder in it.

    A batch takes all that is there: so many files of each table would be more hours of one than of another.

    Args:
        spark: what reads them.
        folder: a path or an address.
    """
    streams = [_files_of(spark, address(folder), name) for name in COLUMNS]
    rows = streams[0]
    for stream in streams[1:]:
        rows = rows.unionByName(stream)
    return rows


def of_messages(messages_read: DataFrame) -> DataFrame:
    """Make rows of the messages of docs/history.md, and one of the table `MESSAGE` for each.

    Args:
        messages_read: stream with the columns `value` (text or bytes), `partition` and `offset`. A message that is not
            of this form becomes one row of the table `UNREADABLE`.
    """
    text = F.col("value").cast("string")
    parsed = messages_read.select(
        "partition",
        "offset",
        F.from_json(text, _HEAD_DDL).alias("head"),
        # Each message is read once more, by the form of its own table only.
        F.coalesce(*(_listed(text, name) for name in COLUMNS), F.array(_entry(None))).alias("rows"),
    )
    # The first entry stands for the message.
    entries = F.posexplode(F.concat(F.array(_entry(None)), "rows")).alias("entry", "row")
    told, entry = _tells_a_poll(), F.col("entry")
    readable = F.coalesce(_is_filled() & told, no())
    found = parsed.select("partition", "offset", "head", entries).select(
        F.when(entry == 0, MESSAGE).when(readable, F.col("head.table")).otherwise(UNREADABLE).alias("table"),
        *_place(partition=F.col("partition"), offset=F.col("offset")),
        *(F.when((entry > 0) & told, F.col(f"head.{name}")).alias(name) for name in HEAD),
        *(F.col(f"row.{name}").alias(name) for name in COLUMNS),
    )
    return found.where(_is_needed())


def table_of(rows: DataFrame, name: str) -> DataFrame:
    """Take the rows of one table out of the stream's, as `samples.narrowed` gives them."""
    return rows.where(F.col("table") == name).select(*POLL, *(f"{name}.{column}" for column in COLUMNS[name]))


def _files_of(spark: SparkSession, folder: str, name: str) -> DataFrame:
    reader = spark.readStream.schema(ddl(BY_NAME[name]))
    # Without partitions by folder, whose `hour` would be a column.
    reader = reader.option("recursiveFileLookup", "true").option("maxFileAge", ALL_AGES)
    rows = reader.option("pathGlobFilter", "*.parquet").parquet(f"{literal(folder)}/{{{name},*/{name}}}/date=*/hour=*")
    return needed(name, rows).select(
        F.lit(name).alias("table"),
        *_place(file=F.col("_metadata.file_path")),
        *HEAD,
        *(_own(name).alias(name) if other == name else _nothing(other).alias(other) for other in COLUMNS),
    )


def _place(**known: Column) -> list[Column]:
    return [known.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in PLACE.items()]


def _own(name: str) -> Column:
    return F.struct(*COLUMNS[name])


def _nothing(name: str) -> Column:
    return F.lit(None).cast(_struct_type(name))


def _struct_type(name: str) -> StructType:
    wanted = StructType.fromDDL(ddl(BY_NAME[name]))
    assert isinstance(wanted, StructType)  # noqa: S101  # for the type checker: a table is one
    return StructType([wanted[column] for column in COLUMNS[name]])


def _listed(text: Column, name: str) -> Column:
    """The rows of a message of one table, as entries with a column for each; null where it is of another."""
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


def _tells_a_poll() -> Column:
    told = yes()
    for name in POLL:
        told &= F.col(f"head.{name}").isNotNull()
    return told


def _is_filled() -> Column:
    """Tell whether a row has what its table has, where that is rolled up."""
    table = F.col("head.table")
    filled = table.isin(*BY_NAME) & ~table.isin(*COLUMNS)
    for name in COLUMNS:
        filled |= (table == name) & F.col(f"row.{name}").isNotNull()
    return filled


def _is_needed() -> Column:
    """Like `samples.needed`, and nothing of tables that no mart is made of."""
    kept = F.col("table").isin(MESSAGE, UNREADABLE, *(name for name in COLUMNS if name not in KINDS))
    for name, kind in KINDS.items():
        kept |= (F.col("table") == name) & (F.col(f"{name}.kind") == kind)
    return kept
