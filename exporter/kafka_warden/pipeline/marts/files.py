"""Writes and reads marts. A mart is replaced by a rename, so readers never see half of one."""

from pathlib import Path
from typing import Final, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.types import DoubleType, StructType

from kafka_warden.errors import MartError
from kafka_warden.pipeline.marts.mart import Mart
from kafka_warden.pipeline.storage import Storage, address, literal

STAGED: Final = "_new-"
"""Prefix of the folder of a mart that is being written; Spark and Arrow ignore such folders."""


def write(mart: Mart, frame: DataFrame, output: Path | str) -> None:
    """Replace a mart in the folder `output`, a path or an address.

    `frame` has its columns in any order; others are dropped. NaN is written as null.

    Raises:
        MartError: a column is missing or of another type.
    """
    staged = f"{address(output)}/{STAGED}{mart.name}"
    _write(mart, shaped(mart, frame), staged, "static")
    place = place_of(mart, output)
    if not Storage(frame.sparkSession).replace(staged, place):
        raise MartError(f"{place}: {staged} could not be renamed to it; check the folder's permissions")


def write_parts(mart: Mart, frame: DataFrame, output: Path | str) -> None:
    """Replace only the folders of a mart that the frame has rows for. Arguments as in `write`."""
    _write(mart, shaped(mart, frame), place_of(mart, output), "dynamic")


def read(spark: SparkSession, mart: Mart, output: Path | str) -> DataFrame:
    """Read a mart.

    Raises:
        MartError: it does not exist.
    """
    place = place_of(mart, output)
    if not Storage(spark).exists(place):
        raise MartError(f"{place}: no such mart; run its job first (docs/pipeline-marts.md)")
    return spark.read.schema(mart.ddl).parquet(literal(place)).select(*mart.names)


def place_of(mart: Mart, output: Path | str) -> str:
    """Return the folder of a mart, with a scheme."""
    return f"{address(output)}/{mart.name}"


def shaped(mart: Mart, frame: DataFrame) -> DataFrame:
    """Return the columns in the order of the mart.

    Raises:
        MartError: a column is missing or of another type.
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


def _write(mart: Mart, rows: DataFrame, place: str, overwrite: str) -> None:
    # One file per folder instead of one per task; AQE splits large ones.
    balanced = rows.hint("rebalance", *(F.col(name) for name in mart.partition_by))
    writer = balanced.write.mode("overwrite").option("partitionOverwriteMode", overwrite)
    writer.partitionBy(*mart.partition_by).parquet(place)
