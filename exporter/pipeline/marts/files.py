"""Writes and reads marts. A mart is replaced as a whole: who reads meets the old one or the new one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it
from pyspark.sql.types import DoubleType, StructType

from exporter.errors import MartError
from exporter.pipeline.marts.mart import Mart

STAGED: Final = "_new-"
"""In front of the name of a mart that is being written: Spark and Arrow pass over such folders."""


def write(mart: Mart, frame: DataFrame, output: Path | str) -> None:
    """Replace a mart.

    Args:
        mart: which one.
        frame: has its columns, in any order; others are left out. A NaN is written as unknown.
        output: folder of the marts, a path or an address.

    Raises:
        MartError: a column is missing or of another type.
    """
    rows = shaped(mart, frame)
    staged, place = f"{_address(output)}/{STAGED}{mart.name}", place_of(mart, output)
    # Files by the day, not a small one of every task for every day; AQE splits days that are large.
    columns = [F.col(name) for name in mart.partition_by]
    spread = rows.hint("rebalance", *columns) if columns else rows.hint("rebalance")
    spread.write.mode("overwrite").partitionBy(*mart.partition_by).parquet(staged)
    _replace(frame.sparkSession, staged, place)


def read(spark: SparkSession, mart: Mart, output: Path | str) -> DataFrame:
    """Read a mart.

    Raises:
        MartError: it is not there.
    """
    place = place_of(mart, output)
    if not _exists(spark, place):
        raise MartError(f"{place}: no such mart; run the job that makes it first (docs/pipeline-marts.md)")
    return spark.read.schema(mart.ddl).parquet(place).select(*mart.names)


def place_of(mart: Mart, output: Path | str) -> str:
    """Where a mart stands, as Spark takes it."""
    return f"{_address(output)}/{mart.name}"


def shaped(mart: Mart, frame: DataFrame) -> DataFrame:
    """Bring the columns into the order of the mart.

    Raises:
        MartError: a column is missing or of another type: a mistake of the job.
    """
    wanted = cast("StructType", StructType.fromDDL(mart.ddl))
    types = {field.name: field.dataType for field in frame.schema.fields}
    for field in wanted.fields:
        found = types.get(field.name)
        if found is None or found.simpleString() != field.dataType.simpleString():
            raise MartError(
                f"{mart.name}: {field.name} is {found.simpleString() if found else 'missing'},"
                f" not {field.dataType.simpleString()}"
            )
    return frame.select(
        *(
            F.when(~F.isnan(field.name), F.col(field.name)).alias(field.name)
            if isinstance(field.dataType, DoubleType)
            else F.col(field.name)
            for field in wanted.fields
        )
    )


def _address(output: Path | str) -> str:
    text = str(output).rstrip("/")
    return text if "://" in text else Path(text).absolute().as_uri()


def _exists(spark: SparkSession, place: str) -> bool:
    path, system = _hadoop(spark)(place)
    return bool(system.exists(path))


def _replace(spark: SparkSession, staged: str, place: str) -> None:
    find = _hadoop(spark)
    old, system = find(place)
    new, _ = find(staged)
    system.delete(old, True)  # noqa: FBT003  # Java takes it by place: with all that is in it
    if not system.rename(new, old):
        raise MartError(f"{place}: {staged} could not take its place; look at the rights of the folder")


def _hadoop(spark: SparkSession) -> Callable[[str], tuple[Any, Any]]:
    """Hadoop's path of an address, and its file system: what Spark itself writes by, wherever that is."""
    context = spark.sparkContext
    make: Any = context._jvm  # noqa: SLF001  # pyspark has no other way to Hadoop's file systems
    settings: Any = context._jsc  # noqa: SLF001  # the same

    def find(address: str) -> tuple[Any, Any]:
        path = make.org.apache.hadoop.fs.Path(address)
        return path, path.getFileSystem(settings.hadoopConfiguration())

    return find
