"""The messages of the topic (docs/history.md) as rows of the tables."""

from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history import messages
from kafka_warden.history.schema import BY_NAME, COMMON
from kafka_warden.pipeline.ingest.ranges import LATEST
from kafka_warden.pipeline.timeline import POLL

HEAD: Final = tuple(column.name for column in COMMON)
_DDL: Final = (
    f"`table` string, {', '.join(f'`{column.name}` {column.type}' for column in COMMON)}, `rows` array<string>"
)


def opened(read: DataFrame) -> DataFrame:
    """Parse what is in front of the rows of each message.

    Columns: `partition`, `value` (text), `table` (null if the message is not history), those of `HEAD`, and `rows`,
    their number. `read`: `partition` and `value` (text or bytes). `schema_version` is null without a poll.
    """
    text = F.col("value").cast("string")
    head = read.select("partition", text.alias("value"), F.from_json(text, _DDL).alias("head"))
    has_poll = reduce(and_, (F.col(f"head.{name}").isNotNull() for name in (*POLL, "time")))
    in_time = (F.col("head.time") >= 0) & (F.col("head.time") < LATEST)
    is_history = F.col("head.table").isin(*BY_NAME) & has_poll & in_time & F.col("head.rows").isNotNull()
    return head.select(
        "partition",
        "value",
        F.when(is_history, F.col("head.table")).alias("table"),
        *(F.when(has_poll, F.col(f"head.{name}")).alias(name) for name in HEAD),
        F.size("head.rows").alias("rows"),
    )


def table_of(opened_messages: DataFrame, name: str) -> DataFrame:
    """Return the rows of one table: the columns of docs/history-schema.md in their order."""
    rows = F.from_json("value", messages.ddl(BY_NAME[name]))["rows"]
    mine = opened_messages.where(F.col("table") == name).select(*HEAD, F.explode(rows).alias("row"))
    return mine.where(F.col("row").isNotNull()).select(*HEAD, "row.*")
