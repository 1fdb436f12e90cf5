"""The description of a mart."""

from dataclasses import dataclass


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
    """One mart: a folder of Parquet files below the output."""

    name: str
    about: str
    columns: tuple[Field, ...]
    key: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    """Columns that are folders."""

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(column.name for column in self.columns)
