"""Reads marts for sections."""

from collections.abc import Callable
from dataclasses import dataclass

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

    def missing(self, mart: str, job: str) -> Missing:
        """Report that a mart is missing, with the command that makes it."""
        return Missing(f"There is no mart {mart} in this folder. Make it, then this report again: ", self.command(job))


def unix(column: str) -> Column:
    """Return a timestamp or date as Unix s, under its own name; Spark would return datetimes in the local time zone."""
    return (F.unix_micros(F.col(column).cast("timestamp")) / 1e6).alias(column)
