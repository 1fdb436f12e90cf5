"""Makes frames of rows that the driver has."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from kafka_warden.pipeline.marts import parsed


def of_rows(spark: SparkSession, rows: Iterable[Sequence[Any]], ddl: str) -> DataFrame:
    """Return rows, in the order of the columns of Spark's DDL, as a frame.

    Spark takes a table of Arrow into its plan. To read a list of rows it would start a worker in Python.
    """
    columns = to_arrow_schema(parsed(ddl))
    found = [dict(zip(columns.names, row, strict=True)) for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(found, columns), parsed(ddl))
