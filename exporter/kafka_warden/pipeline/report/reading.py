"""How sections read marts: Unix seconds instead of timestamps, few rows, always in the same order."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.pipeline.report.parts import Missing


@dataclass(frozen=True, slots=True)
class Marts:
    """The marts of one output folder.

    Attributes:
        find: Name to mart; None where the folder does not have it.
        command: Name of a job to the command that makes its marts there.
    """

    find: Callable[[str], DataFrame | None]
    command: Callable[[str], str]

    def missing(self, mart: str, job: str) -> Missing:
        """Say that a mart is not there, and what makes it."""
        return Missing(f"There is no mart {mart} in this folder. Make it, then this report again: ", self.command(job))


def unix(column: str) -> Column:
    """Seconds since 1970 of a timestamp or a date, under its own name. Python's times are of this machine's zone."""
    return (F.unix_micros(F.col(column).cast("timestamp")) / 1e6).alias(column)
