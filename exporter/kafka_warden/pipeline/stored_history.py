"""The raw rows of a store, for jobs that read history."""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.rollup.windows import HOUR
from kafka_warden.pipeline.store import Store, raw
from kafka_warden.pipeline.timeline import DAY


class StoredHistory(History):
    """The rows of complete batches, each of which is there once."""

    def __init__(
        self,
        store: Store,
        start: float = 0.0,
        end: float = float("inf"),
        only: Callable[[str], str] = lambda _: "true",
        done: int | None = None,
    ) -> None:
        """Choose the rows.

        `start` and `end`: Unix seconds, as of `History`. `only`: table to an SQL condition on its rows. `done`: the
        last batch; None for the last complete one.
        """
        super().__init__(store.spark, store.place, start, end)
        self._store, self._only, self._done = store, only, done

    def rows(self, name: str) -> int:
        """Count the rows of a table."""
        return self.table(name).count()

    def table(self, name: str, *, distinct: bool = True) -> DataFrame:
        """Read one table: its columns, unknown as null. Rows are distinct either way."""
        del distinct
        if self._done is None:
            self._done = self._store.done()
        first, after = (hour * HOUR for hour in self.hours)
        # A day is a partition, so Spark opens no others.
        day = F.unix_date("date") * DAY
        rows = self._store.read(raw(name)).where(f"batch <= {self._done}").where(self._only(name))
        if not self.whole:
            rows = rows.where((day > first - DAY) & (day < after) & (F.col("time") >= first) & (F.col("time") < after))
        return rows.drop("date", "batch")
