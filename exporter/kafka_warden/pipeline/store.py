"""A store: the folder of Delta tables in which jobs keep what lasts (docs/pipeline-store.md).

All of it is DataFrames and SQL, so that it works through Spark Connect.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.types import StructType

from kafka_warden.errors import StoreError
from kafka_warden.history.schema import TABLES, ddl
from kafka_warden.pipeline import put_if_absent, writers
from kafka_warden.pipeline.addresses import address, literal
from kafka_warden.pipeline.failures import SPARK_FAILURES
from kafka_warden.pipeline.frames import of_rows
from kafka_warden.pipeline.marts import Mart, parsed

VERSION: Final = 1
"""Grows with any change of the tables that is more than a new column."""

PROPERTY: Final = "kafka_warden.store_version"

KEEP: Final[Mapping[str, int]] = {"raw": 30, "minutes": 90}
"""Days after which rows are deleted, unless a store has other numbers. Hours are kept for ever."""
_KEEP: Final = "kafka_warden.keep_{}"
"""Table property with the number of a store."""
_TAKEN_SINCE: Final = "kafka_warden.taken_since"
"""Table property: `Store.taken_since`."""

_ABSENT: Final = {"DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND"}
"""Spark's conditions for a table that was never written."""

_SHORT_LOG: Final = "DELTA_CANNOT_VACUUM_LITE"
"""Delta's condition for a log that has not all commits since the last vacuum any more."""
_NO_FILES: Final = (
    "SELECT string(NULL) AS path, bigint(NULL) AS length, boolean(NULL) AS isDir, bigint(NULL) AS modificationTime"
    " WHERE false"
)
"""An inventory, as Delta wants it."""

PROPERTIES: Final[Mapping[str, str]] = {
    # Readers outside Spark do not have them all.
    "delta.enableDeletionVectors": "false",
    # Of tables that do not list columns (`_statistics`). Those of all columns would make the log long.
    "delta.dataSkippingNumIndexedCols": "8",
    # Without `ListFrom`, each read of a table lists its whole log, and a loop writes hundreds of entries a day. But a
    # vacuum needs the entries of the last eight days, and of the days without a run before them.
    "delta.logRetentionDuration": "interval 14 days",
}
_ON_S3: Final[Mapping[str, str]] = {
    # A run reads the entries since the last checkpoint by a request each.
    "delta.checkpointInterval": "3",
}


_S3: Final = re.compile(r"s3[an]?://")
_FAST_LIST: Final = "spark.hadoop.delta.enableFastS3AListFrom"
"""Delta's setting for listings that begin at an entry. Up to Delta 4.4.0 they also have what is in nested folders, so
`VACUUM` takes the entries of a log for files of the table: tried."""

LARGEST_FILE: Final = 256 << 20
"""Bytes, about, of the largest file of a partition."""

PARTITIONS: Final = ("cluster_id", "date")
"""Columns by which tables are partitioned, as far as they have them."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table of the store."""

    name: str
    """Path below the store."""
    ddl: str
    partition_by: tuple[str, ...] = PARTITIONS
    properties: tuple[tuple[str, str], ...] = ()
    """Of Delta, besides `PROPERTIES`."""

    @property
    def schema(self) -> StructType:
        """Its columns. Spark is running."""
        return parsed(self.ddl)


LANDING: Final = StoredTable(
    "landing",
    "batch bigint, how string, `table` string, cluster_id string, run string, first bigint, last bigint,"
    " since double, until double, `rows` bigint, place string, size bigint, writer string, date date",
    ("date",),
)
"""One row per file and run of each batch, with the UTC day of the first row; and the last complete batch (`DONE`)."""

DONE: Final = "done"
"""`how` of the only row of `DONE_DAY`, whose batch and all before it are committed to all tables."""
DONE_DAY: Final = date(1970, 1, 1)
"""No row of history is of that day, so retention never deletes it."""


def raw(name: str) -> StoredTable:
    """Return the raw table of a table of history."""
    return _RAW[name]


def of_mart(mart: Mart) -> StoredTable:
    """Return the table of a mart."""
    partitions = tuple(name for name in PARTITIONS if name in mart.names)
    return StoredTable(mart.name, mart.ddl, partitions, _statistics("start") if "start" in mart.names else ())


def _statistics(*columns: str) -> tuple[tuple[str, str], ...]:
    """List the columns with statistics: those by which files are skipped. Eight take a seventh of a write's time."""
    return (("delta.dataSkippingStatsColumns", ",".join(columns)),)


_RAW: Final = {
    table.name: StoredTable(
        f"raw/{table.name}",
        f"date date, batch bigint, {ddl(table)}",
        properties=_statistics("batch", "sequence", "time"),
    )
    for table in TABLES
}


class Store:
    """One store."""

    def __init__(self, spark: SparkSession, place: Path | str) -> None:
        self.spark = spark
        self.given = str(place)
        """As the user wrote it."""
        self.place = address(place)
        self.writer = writers.name()
        """For messages to another writer."""

    def today(self) -> date:
        """Return the UTC day by which rows and files are old."""
        return datetime.now(UTC).date()

    def open(self) -> None:
        """Check the version of an existing store.

        Raises:
            StoreError: there is none, or it is of another version, or Spark's settings would damage it.
        """
        self._check_settings()
        version = self.version()
        if version is None:
            raise StoreError(
                f"{self.place}: no store; first run kafka-warden pipeline ingest --input LANDING --store ..."
            )
        if version != VERSION:
            raise StoreError(
                f"{self.place}: a store of version {version}, and this program reads {VERSION}; update kafka-warden"
            )

    def create(self) -> None:
        """Open the store, or make it if there is none.

        Raises:
            StoreError: as of `open`.
        """
        self._check_settings()
        if self.version() is not None:
            self.open()
            return
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._sql_name(LANDING)} ({LANDING.ddl}) USING delta"
            f" PARTITIONED BY ({', '.join(LANDING.partition_by)})"
            f" TBLPROPERTIES ({_listed({**self._of_tables(), PROPERTY: str(VERSION)})})"
        )

    def _check_settings(self) -> None:
        if not _S3.match(self.place):
            return
        classes = self.spark.conf.get(put_if_absent.SETTING, "") or ""
        if put_if_absent.CLASS not in classes:
            raise StoreError(
                f"{self.place}: two processes could commit at the same time on S3; fetch the jars by kafka-warden"
                f" pipeline jars --s3, and start Spark with {put_if_absent.SETTING}={put_if_absent.CLASS}"
            )
        if (self.spark.conf.get(_FAST_LIST, "") or "").strip().lower() == "true":
            raise StoreError(
                f"{self.place}: with {_FAST_LIST} VACUUM deletes the logs of tables; start Spark without it"
            )

    def version(self) -> int | None:
        """Return the version of the store; `None` if there is none."""
        found = self._properties().get(PROPERTY)
        return None if found is None else int(found)

    def retention(self) -> Mapping[str, int]:
        """Return the days of `KEEP` of this store."""
        found = self._properties()
        return {name: int(found.get(_KEEP.format(name), days)) for name, days in KEEP.items()}

    def set_retention(self, days: Mapping[str, int]) -> None:
        """Keep days of `KEEP` as those of this store."""
        self._set({_KEEP.format(name): str(number) for name, number in days.items()})

    def taken_since(self) -> date:
        """Return the first UTC day that is taken, and of which `rollup`, `moves` and `backtest` read raw rows.

        Older ones may be there. A day in the future comes from a clock that was ahead: it is that of today.
        """
        return min(date.fromisoformat(self._properties().get(_TAKEN_SINCE, str(DONE_DAY))), self.today())

    def set_taken_since(self, day: date) -> None:
        """Set the day of `taken_since`."""
        self._set({_TAKEN_SINCE: str(day)})

    def _properties(self) -> Mapping[str, str]:
        """Return the table properties of `landing`; none if there is no store."""
        with _IfWritten():
            rows: list[Any] = self.spark.sql(f"SHOW TBLPROPERTIES {self._sql_name(LANDING)}").collect()
            return {row["key"]: row["value"] for row in rows}
        return {}

    def _set(self, properties: Mapping[str, str]) -> None:
        self.spark.sql(f"ALTER TABLE {self._sql_name(LANDING)} SET TBLPROPERTIES ({_listed(properties)})")

    def done(self) -> int:
        """Return the last complete batch; 0 if there is none."""
        rows: list[Any] = self.read(LANDING).where(F.col("how") == DONE).select("batch").collect()
        return rows[0][0] if rows else 0

    def read(self, table: StoredTable) -> DataFrame:
        """Read a table: no rows if it was never written, null in columns that were added later."""
        found = self.find(table)
        return of_rows(self.spark, [], table.ddl) if found is None else found

    def find(self, table: StoredTable) -> DataFrame | None:
        """Read a table as `read` does; `None` if it was never written."""
        with _IfWritten():
            found = self.spark.read.format("delta").load(self._address(table))
            names = set(found.columns)
            return found.select(
                *(
                    F.col(field.name) if field.name in names else F.lit(None).cast(field.dataType).alias(field.name)
                    for field in table.schema.fields
                )
            )
        return None

    def append(self, table: StoredTable, rows: DataFrame, app: str, number: int) -> None:
        """Add rows in one commit, unless `app` has committed `number` or a higher one to the table.

        Each task writes one file to each of its partitions. Use `gathered` where a task may have rows of many.
        """
        self._writer(table, rows, app, number).mode("append").save(self._address(table))

    def replace(self, table: StoredTable, rows: DataFrame, where: str, app: str, number: int) -> None:
        """Replace the rows that match an SQL condition in one commit; as `append`. All new rows match it."""
        writer = self._writer(table, rows, app, number).mode("overwrite")
        writer.option("replaceWhere", where).save(self._address(table))

    def overwrite(self, table: StoredTable, rows: DataFrame, app: str, number: int) -> None:
        """Replace all rows in one commit, without reading them; as `append`."""
        self._writer(table, rows, app, number).mode("overwrite").save(self._address(table))

    def files(self, table: StoredTable, where: str) -> list[str]:
        """Return the addresses of a table's files that may have rows of some days, in folders of the partitions."""
        return list(self.read(table).where(where).inputFiles())

    def compact(self, table: StoredTable, where: str) -> None:
        """Make one file of each partition that matches a condition, or several of about `LARGEST_FILE`."""
        self.spark.sql(f"OPTIMIZE {self._sql_name(table)} WHERE {where}").collect()

    def expire(self, table: StoredTable, before: date) -> None:
        """Delete the rows of all days before one; no commit if there are none. Files go 7 days after their rows."""
        days = f"date < '{before}' AND date > '{DONE_DAY}'"
        with _IfWritten():
            self.spark.sql(f"DELETE FROM {self._sql_name(table)} WHERE {days}").collect()  # noqa: S608  # an address of the user

    def vacuum(self, table: StoredTable, hours: int) -> None:
        """Delete the files that no version of the last hours has, by the log: a listing would cost more each night."""
        try:
            self._vacuum(table, "LITE", hours)
        except SPARK_FAILURES as failure:
            # Only the message has the condition.
            if _SHORT_LOG not in str(failure):
                raise
            self.list_and_vacuum(table, hours)
            # A full vacuum does not record a version from which LITE could continue, and no later LITE would succeed.
            # One of no files records it: `session` has made LITE the default. It is that of an hour earlier, since the
            # listing took a while.
            self._vacuum(table, f"USING INVENTORY ({_NO_FILES})", hours + 1)

    def list_and_vacuum(self, table: StoredTable, hours: int) -> None:
        """Delete the same and what was never committed, by a listing of the table."""
        self._vacuum(table, "FULL", hours)

    def _vacuum(self, table: StoredTable, how: str, hours: int) -> None:
        with _IfWritten():
            self.spark.sql(f"VACUUM {self._sql_name(table)} {how} RETAIN {hours} HOURS").collect()

    def last_number(self, table: StoredTable, app: str) -> int:
        """Return the highest number that `app` has committed to a table, 0 if there is none. It reads the whole log."""
        entries = self.spark.read.schema("txn struct<appId: string, version: bigint>")
        log, mine = f"{literal(self._address(table))}/_delta_log", F.col("txn.appId") == app
        with _IfWritten():
            parts = (
                entries.option("pathGlobFilter", "*.json").json(log),
                entries.option("pathGlobFilter", "*.checkpoint*.parquet").parquet(log),
            )
            found: list[Any] = [part.where(mine).agg(F.max("txn.version")).collect() for part in parts]
            return max(number or 0 for ((number,),) in found)
        return 0

    def _writer(self, table: StoredTable, rows: DataFrame, app: str, number: int) -> Any:
        # The first commit creates the table.
        writer = rows.select(*table.schema.names).write.format("delta").partitionBy(*table.partition_by)
        writer = writer.options(**{**self._of_tables(), **dict(table.properties)})
        return writer.option("mergeSchema", "true").option("txnAppId", app).option("txnVersion", number)

    def _of_tables(self) -> Mapping[str, str]:
        return {**PROPERTIES, **(_ON_S3 if _S3.match(self.place) else {})}

    def _address(self, table: StoredTable) -> str:
        return f"{self.place}/{table.name}"

    def _sql_name(self, table: StoredTable) -> str:
        return f"delta.`{self._address(table).replace('`', '``')}`"


class _IfWritten:
    """A block that ends without an error if its table was never written."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, failure: object, _trace: object) -> bool:
        return isinstance(failure, AnalysisException) and failure.getCondition() in _ABSENT


def gathered(table: StoredTable, rows: DataFrame) -> DataFrame:
    """Bring the rows of each partition of a table together, for one file of each, or several where it is large."""
    return rows.hint("rebalance", *map(F.col, table.partition_by)) if table.partition_by else rows


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())


def in_list(column: str, values: Iterable[str]) -> str:
    """Return an SQL condition: the column has one of these texts."""
    escaped = (value.replace("\\", "\\\\").replace("'", "\\'") for value in sorted(values))
    listed = ", ".join(f"'{value}'" for value in escaped)
    return f"{column} IN ({listed})"


def day_of(seconds: float) -> date:
    """Return the UTC day of a Unix time."""
    return datetime.fromtimestamp(seconds, UTC).date()


def unix_time(day: date) -> float:
    """Return the Unix time at which a UTC day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
