"""History as Spark reads it: checked before, and each row once."""

from functools import cache, cached_property
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.history.parquet.footers import Footer, Inventory, hours_of, inventory
from kafka_warden.history.schema import BY_NAME, ddl
from kafka_warden.pipeline.storage import literal

ROW: Final = ("cluster_id", "run", "sequence")
"""With the key of a table: what tells its rows apart."""


class History:
    """The files of history below a folder: of one sidecar, or of many with a folder each.

    They are listed when the first table is asked for; that raises `EmptyHistoryError` where there is none.
    """

    def __init__(self, spark: SparkSession, folder: Path | str, start: float = 0.0, end: float = float("inf")) -> None:
        """Name the files.

        Args:
            spark: what reads them.
            folder: a path, or an address such as `s3a://bucket/history`.
            start: Unix seconds of the first rows, by the hour.
            end: Unix seconds before which the last ones are, by the hour.
        """
        self.spark = spark
        self._span = (start, end)
        self.folder = folder
        self.whole = start <= 0.0 and end == float("inf")
        """Whether no part of it was chosen."""

    @property
    def hours(self) -> tuple[float, float]:
        """The first hour that is read and the one after the last, since 1970; 0 and infinity of all."""
        return hours_of(*self._span)

    @cached_property
    def _files(self) -> Inventory:
        return inventory(self.folder).between(*self._span)

    @cache  # noqa: B019  # a command has one history
    def _footers(self, name: str) -> list[Footer]:
        return self._files.footers(name)

    def rows(self, name: str) -> int:
        """Count the rows of a table, duplicates included, by what the ends of its files tell.

        Raises:
            HistoryFileError: as `table`.
        """
        return sum(footer.rows for footer in self._footers(name))

    def table(self, name: str, *, distinct: bool = True) -> DataFrame:
        """Read one table: the columns of docs/history-schema.md in their order, unknown as null.

        A column that is younger than a file is null in its rows. A table may have no rows while others have.

        Args:
            name: of the table.
            distinct: take duplicates away. A job that compares whole rows anyway does that cheaper.

        Raises:
            HistoryFileError: one that names the file and says what is wrong with it.
        """
        found = [footer.file.place for footer in self._footers(name) if footer.rows]
        schema = ddl(BY_NAME[name])
        if not found:
            return self.spark.createDataFrame([], schema)
        rows = self.spark.read.schema(schema).parquet(*map(literal, found))
        return rows.dropDuplicates(row_key(name)) if distinct else rows


def row_key(name: str) -> list[str]:
    """Name the columns that tell the rows of a table apart."""
    return [*ROW, *BY_NAME[name].key]
