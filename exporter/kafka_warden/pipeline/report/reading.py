"""Reads marts for sections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.report.parts import Missing


@dataclass(frozen=True, slots=True)
class Marts:
    """The marts of one output folder.

    Attributes:
        find: Name to mart; None if it does not exist.
        command: Name of a job to the command that makes its marts.
    """

    find: Callable[[str], DataFrame | None]
    command: Callable[[str], str]

    def of(self, cluster_id: str) -> "Marts":
        """Return the rows of one cluster."""

        def find(name: str) -> DataFrame | None:
            frame = self.find(name)
            return None if frame is None else frame.where(F.col("cluster_id") == cluster_id)

        return Marts(find, self.command)

    def missing(self, mart: str, job: str) -> Missing:
        """Report that a mart is missing, with the command that makes it."""
        return Missing(f"There is no mart {mart} in this folder. Make it, then this report again: ", self.command(job))


def by_index(frame: DataFrame, index: str, time: str) -> dict[int, list[Any]]:
    """Collect rows by their index, in order of time; an index with a single row is left out."""
    found: dict[int, list[Any]] = {}
    for row in frame.orderBy(index, time).collect():
        found.setdefault(row[index], []).append(row)
    return {place: rows for place, rows in found.items() if len(rows) > 1}


def floats(rows: Sequence[Any], name: str) -> tuple[float, ...]:
    """Return a column of collected rows, NaN for null."""
    return tuple(float("nan") if row[name] is None else row[name] for row in rows)


def unix(column: str) -> Column:
    """Return a timestamp or date as Unix s, under its own name; Spark would return datetimes in the local time zone."""
    return (F.unix_micros(F.col(column).cast("timestamp")) / 1e6).alias(column)
