"""The raw rows of a store, for jobs that read history."""

import math
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.parquet.reader import hours_of
from kafka_warden.history.schema import BY_NAME
from kafka_warden.pipeline.store import Store, raw
from kafka_warden.pipeline.timeline import DAY, HOUR, POLL

ALL_TIME = (0.0, math.inf)
"""Start and end of all rows, Unix seconds."""


class History:
    """The rows of the raw tables, each of which is there once."""

    def __init__(
        self,
        store: Store,
        span: tuple[float, float] = ALL_TIME,
        only: Callable[[str], str] = lambda _: "true",
    ) -> None:
        """Choose the rows.

        `span`: start and end, Unix seconds; whole hours are read, and the end is exclusive. `only`: table to an SQL
        condition on its rows.
        """
        self.spark: SparkSession = store.spark
        self._store, self._span, self._only = store, span, only

    def table(self, name: str) -> DataFrame:
        """Read one table: the columns of docs/history-schema.md in their order, unknown as null."""
        rows = self._store.read(raw(name)).where(self._only(name))
        if self._span != ALL_TIME:
            first, after = (hour * HOUR for hour in hours_of(*self._span))
            # A day is a partition, so Spark opens no others.
            day = F.unix_date("date") * DAY
            rows = rows.where((day > first - DAY) & (day < after) & (F.col("time") >= first) & (F.col("time") < after))
        return rows.drop("date")


def row_key(name: str) -> list[str]:
    """Return the columns that identify a row of a table."""
    return [*POLL, *BY_NAME[name].key]
