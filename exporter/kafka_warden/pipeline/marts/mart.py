"""The description of a mart."""

from dataclasses import dataclass
from functools import cache
from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.types import DoubleType, StructType

from kafka_warden.errors import StoreError


@dataclass(frozen=True, slots=True)
class Field:
    """One column."""

    name: str
    type: str
    """Of Spark SQL: `double`, `timestamp`, `map<string,bigint>`."""
    unit: str
    """`bytes`, `bytes/s`, `s`, `ratio`, or empty."""
    text: str


@dataclass(frozen=True, slots=True)
class Mart:
    """One mart: a table of the store."""

    name: str
    about: str
    columns: tuple[Field, ...]
    key: tuple[str, ...]

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(column.name for column in self.columns)


@cache
def parsed(ddl: str) -> StructType:
    """Return the columns of Spark's DDL, which it parses once: a commit needs them several times."""
    return cast("StructType", StructType.fromDDL(ddl))


def shaped(mart: Mart, frame: DataFrame) -> DataFrame:
    """Return the columns of a mart in their order, without others; NaN becomes null.

    Raises:
        StoreError: a column is missing or of another type.
    """
    wanted = parsed(mart.ddl)
    types = {field.name: field.dataType for field in frame.schema.fields}
    for field in wanted.fields:
        found = types.get(field.name)
        if found is None or found.simpleString() != field.dataType.simpleString():
            raise StoreError(
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
