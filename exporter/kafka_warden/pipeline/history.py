"""Reads history with Spark: files are checked first, duplicates are dropped."""

from functools import cache, cached_property
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.history.parquet.footers import Footer, Inventory, hours_of, inventory
from kafka_warden.history.schema import BY_NAME, ddl
from kafka_warden.pipeline.storage import literal
from kafka_warden.pipeline.timeline import POLL


class History:
    """The files of history below a folder: of one sidecar, or of many with a folder each.

    They are listed when the first table is read, which raises `EmptyHistoryError` if there are none.
    """

    def __init__(self, spark: SparkSession, folder: Path | str, start: float = 0.0, end: float = float("inf")) -> None:
        """Choose the files. `folder`: a path, or an address such as `s3a://bucket/history`.

        `start` and `end`: Unix seconds; whole hours are read, and `end` is exclusive.
        """
        self.spark = spark
        self.span = (start, end)
        """Start and end."""
        self.folder = folder
        self.whole = start <= 0.0 and end == float("inf")
        """Whether all hours are read."""

    @property
    def hours(self) -> tuple[float, float]:
        """The first hour and the one after the last, counted since 1970; 0 and infinity without limits."""
        return hours_of(*self.span)

    @cached_property
    def _files(self) -> Inventory:
        return inventory(self.folder).between(*self.span)

    @cache  # noqa: B019  # a command has one history
    def _footers(self, name: str) -> list[Footer]:
        return self._files.footers(name)

    def rows(self, name: str) -> int:
        """Count the rows of a table, duplicates included, by its files' footers.

        Raises:
            HistoryFileError: as `table`.
        """
        return sum(footer.rows for footer in self._footers(name))

    def table(self, name: str, *, distinct: bool = True) -> DataFrame:
        """Read one table: the columns of docs/history-schema.md in their order, unknown as null.

        A column that was added after a file was written is null in its rows. `distinct` drops duplicates; some callers
        can drop them cheaper.

        Raises:
            HistoryFileError: names the file and what is wrong with it.
        """
        found = [footer.file.place for footer in self._footers(name) if footer.rows]
        schema = ddl(BY_NAME[name])
        if not found:
            return self.spark.createDataFrame([], schema)
        rows = self.spark.read.schema(schema).parquet(*map(literal, found))
        return rows.dropDuplicates(row_key(name)) if distinct else rows


def row_key(name: str) -> list[str]:
    """Return the columns that identify a row of a table."""
    return [*POLL, *BY_NAME[name].key]
