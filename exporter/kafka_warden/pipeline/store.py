"""A store: the folder of Delta tables in which jobs keep what lasts (docs/pipeline-store.md).

All of it is DataFrames and SQL, so that it works through Spark Connect.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.types import StructType

from kafka_warden.errors import StoreError, StoreInUseError
from kafka_warden.history.schema import TABLES, ddl
from kafka_warden.pipeline.jars import INTERCEPTORS, PUT_IF_ABSENT
from kafka_warden.pipeline.marts import Mart, of_rows, parsed
from kafka_warden.pipeline.progress import SPARK_FAILURES

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

_OF_ANOTHER: Final = re.compile(r"DELTA_CONCURRENT_|DELTA_(METADATA|PROTOCOL)_CHANGED|RemoteFileChangedException")
"""In the message of a commit that another process has made impossible. The last one is S3A's name for status 412."""
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


TAKEN: Final = StoredTable(
    "taken",
    "place string, size bigint, `table` string, cluster_id string, run string, first bigint, last bigint,"
    " since double, until double, `rows` bigint, date date",
    ("date",),
    # Jobs read its changes.
    (("delta.enableChangeDataFeed", "true"),),
)
"""What the raw tables have: a row per file and run, with the UTC day of its first row. Of the topic: a row per
partition, table, run and hour, and one per partition with its range of offsets, which has no `table`.
"""

RUNS: Final = StoredTable(
    "runs",
    "job string, began timestamp, seconds double, version bigint, hours bigint, `rows` bigint, files bigint,"
    " newest timestamp, date date",
    ("date",),
)
"""What each run did. `version`: of `taken`, up to which a job has read it. `newest`: the newest row of the store."""

NO_DAY: Final = date(1970, 1, 1)
"""Before any row of history."""


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
        f"date date, {ddl(table)}",
        properties=_statistics("sequence", "time"),
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
        # What jobs have read is versions of another `taken`, which was lost.
        self.expire(RUNS, date.max)
        self.make(TAKEN, {PROPERTY: str(VERSION)})

    def make(self, table: StoredTable, more: Mapping[str, str] | None = None) -> None:
        """Make a table unless it is there. `more`: properties of Delta besides the table's own."""
        properties = {**self._of_tables(), **dict(table.properties), **(more or {})}
        with self._commit(table):
            self.spark.sql(
                f"CREATE TABLE IF NOT EXISTS {self._sql_name(table)} ({table.ddl}) USING delta"
                f" PARTITIONED BY ({', '.join(table.partition_by)}) TBLPROPERTIES ({_listed(properties)})"
            )

    def _check_settings(self) -> None:
        if not _S3.match(self.place):
            return
        classes = self.spark.conf.get(INTERCEPTORS, "") or ""
        if PUT_IF_ABSENT not in classes:
            raise StoreError(
                f"{self.place}: two processes could commit at the same time on S3; fetch the jars by kafka-warden"
                f" pipeline jars --s3, and start Spark with {INTERCEPTORS}={PUT_IF_ABSENT}"
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
        return min(date.fromisoformat(self._properties().get(_TAKEN_SINCE, str(NO_DAY))), self.today())

    def set_taken_since(self, day: date) -> None:
        """Set the day of `taken_since`."""
        self._set({_TAKEN_SINCE: str(day)})

    def _properties(self) -> Mapping[str, str]:
        """Return the table properties of `taken`; none if there is no store."""
        with _IfWritten():
            rows: list[Any] = self.spark.sql(f"SHOW TBLPROPERTIES {self._sql_name(TAKEN)}").collect()
            return {row["key"]: row["value"] for row in rows}
        return {}

    def _set(self, properties: Mapping[str, str]) -> None:
        with self._commit(TAKEN):
            self.spark.sql(f"ALTER TABLE {self._sql_name(TAKEN)} SET TBLPROPERTIES ({_listed(properties)})")

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

    def append(self, table: StoredTable, rows: DataFrame) -> None:
        """Add rows in one commit; the first one makes the table.

        Each task writes one file to each of its partitions. Use `gathered` where a task may have rows of many.

        Raises:
            StoreInUseError: another process has written to the table at the same time.
        """
        with self._commit(table):
            self._writer(table, rows).mode("append").save(self._address(table))

    def replace(self, table: StoredTable, rows: DataFrame, where: str) -> int:
        """Replace the rows that match an SQL condition in one commit; as `append`. All new rows match it.

        Return their number.
        """
        seen = Observation()
        counted = rows.select(*table.schema.names).observe(seen, F.count("*").alias("rows"))
        with self._commit(table):
            self._writer(table, counted).mode("overwrite").option("replaceWhere", where).save(self._address(table))
        return int(seen.get["rows"])

    def insert_missing(self, table: StoredTable, rows: DataFrame, key: Iterable[str], where: str) -> None:
        """Add the rows whose key the table does not have, in one commit; as `append`.

        It may be repeated by any process. `rows` have each key once. `where`: an SQL condition on columns of the table,
        `t.NAME`, that all rows with one of these keys match: files that have none of them are not opened.
        """
        self.make(table)
        rows.select(*table.schema.names).createOrReplaceTempView(view := f"new_{table.name.replace('/', '_')}")
        same = " AND ".join(f"t.`{name}` <=> s.`{name}`" for name in key)
        with self._commit(table):
            rows.sparkSession.sql(
                f"MERGE WITH SCHEMA EVOLUTION INTO {self._sql_name(table)} t USING {view} s ON ({where}) AND {same}"
                " WHEN NOT MATCHED THEN INSERT *"
            ).collect()

    def newest_row(self) -> float | None:
        """Return the Unix time of the newest row that was taken; `None` without any."""
        rows: list[Any] = self.read(TAKEN).agg(F.max("until")).collect()
        newest: float | None = rows[0][0]
        return newest

    def newest_version(self, table: StoredTable) -> int:
        """Return the number of the last commit of a table that exists."""
        rows: list[Any] = self.spark.sql(f"DESCRIBE HISTORY {self._sql_name(table)} LIMIT 1").collect()
        version: int = rows[0]["version"]
        return version

    def added(self, table: StoredTable, after: int, until: int) -> DataFrame:
        """Return the rows that were added after one version and until another one.

        The table has a change data feed. Reading it fails if Delta has deleted a part of the log or of the files.
        """
        changes = self.spark.read.format("delta").option("readChangeFeed", "true")
        span = changes.option("startingVersion", after + 1).option("endingVersion", until)
        return span.load(self._address(table)).where("_change_type = 'insert'").select(*table.schema.names)

    def files(self, table: StoredTable, where: str) -> list[str]:
        """Return the addresses of a table's files that may have rows of some days, in folders of the partitions."""
        return list(self.read(table).where(where).inputFiles())

    def compact(self, table: StoredTable, where: str) -> None:
        """Make one file of each partition that matches a condition, or several of about `LARGEST_FILE`."""
        with self._commit(table):
            self.spark.sql(f"OPTIMIZE {self._sql_name(table)} WHERE {where}").collect()

    def expire(self, table: StoredTable, before: date) -> int:
        """Delete the rows of all days before one; no commit if there are none. Files go 7 days after their rows.

        Return their number.
        """
        with _IfWritten(), self._commit(table):
            rows: list[Any] = self.spark.sql(f"DELETE FROM {self._sql_name(table)} WHERE date < '{before}'").collect()  # noqa: S608  # an address of the user
            return int(rows[0][0])
        return 0

    def vacuum(self, table: StoredTable, hours: int) -> None:
        """Delete the files that no version of the last hours has, by the log: a listing would cost more each night."""
        try:
            self._vacuum(table, "LITE", hours)
        except SPARK_FAILURES as failure:
            # Only the message has the condition.
            if _SHORT_LOG not in str(failure):
                raise
            self._vacuum(table, "FULL", hours)
            # A full vacuum does not record a version from which LITE could continue, and no later LITE would succeed.
            # One of no files records it: `session` has made LITE the default. It is that of an hour earlier, since the
            # listing took a while.
            self._vacuum(table, f"USING INVENTORY ({_NO_FILES})", hours + 1)

    def _vacuum(self, table: StoredTable, how: str, hours: int) -> None:
        with _IfWritten():
            self.spark.sql(f"VACUUM {self._sql_name(table)} {how} RETAIN {hours} HOURS").collect()

    @contextmanager
    def _commit(self, table: StoredTable) -> Iterator[None]:
        try:
            yield
        except SPARK_FAILURES as failure:
            if not _OF_ANOTHER.search(str(failure)):
                raise
            raise StoreInUseError(
                f"{self.place}: another process has written to {table.name} at the same time, and this one has not;"
                " run one at a time. Nothing is lost: the next run takes what is missing"
            ) from failure

    def _writer(self, table: StoredTable, rows: DataFrame) -> Any:
        writer = rows.select(*table.schema.names).write.format("delta").partitionBy(*table.partition_by)
        return writer.options(**{**self._of_tables(), **dict(table.properties), "mergeSchema": "true"})

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


def address(folder: Path | str) -> str:
    """Return a folder as Spark expects it: with a scheme, without a final slash."""
    text = str(folder).rstrip("/")
    # Not `as_uri`: Hadoop does not decode `%20`.
    return text if "://" in text else f"file://{Path(text).absolute()}"


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
