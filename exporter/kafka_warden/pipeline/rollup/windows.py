"""Words that all marts of a roll-up share: windows, and aggregates that say nothing where a part is unknown."""

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.pipeline.ops import no, yes
from kafka_warden.pipeline.rollup.samples import POLL

HOUR: Final = 3600
DAY: Final = 86400


class Grain(StrEnum):
    """How long a window is."""

    MINUTE = "minute"
    HOUR = "hour"

    @property
    def seconds(self) -> int:
        """Its length."""
        return 60 if self is Grain.MINUTE else HOUR


def start_of(grain: Grain) -> Column:
    """When the window of a row begins: by its wall clock, and by no time zone of a session."""
    length = grain.seconds
    return F.timestamp_seconds(F.floor(F.col("time") / length) * length)


def with_folders(marts: DataFrame) -> DataFrame:
    """Add the day and the hour of day in which windows begin, UTC: the folders of a mart."""
    seconds = F.unix_seconds("start")
    return marts.withColumns(
        {
            "date": F.date_from_unix_date(F.floor(seconds / DAY).cast("int")),
            "hour": F.pmod(F.floor(seconds / HOUR), F.lit(24)).cast("int"),
        }
    )


def whole_sum(value: Column, counted: Column | None = None) -> Column:
    """The sum where no part of it is unknown, else null; 0 of nothing.

    Args:
        value: what is summed up.
        counted: rows that are part of it; all when not given.
    """
    part = yes() if counted is None else counted
    known = F.count_if(part & value.isNull()) == 0
    return F.when(known, F.coalesce(F.sum(F.when(part, value)), F.lit(0).cast("double")))


def only_if(condition: Column, value: Column) -> Column:
    """The value where the condition holds, else null."""
    return F.when(condition, value)


def last(value: Column) -> Column:
    """What the last poll of a window tells, also where that is unknown. Two processes may poll at one time."""
    return F.max_by(value, F.struct("time", "run", "sequence"))


def mean_and_max(name: str, value: Column | None = None) -> list[Column]:
    """The mean and the greatest of a window, `NAME_mean` and `NAME_max`; of the column `name` if none is given."""
    of = F.col(name) if value is None else value
    return [F.avg(of).alias(f"{name}_mean"), F.max(of).alias(f"{name}_max")]


def with_whole(counts: DataFrame, polls: DataFrame, table: str, *flags: str) -> DataFrame:
    """Tell for each row whether its poll is there with all rows of a table: a sum without some would be wrong.

    Args:
        counts: `found`, the rows of the table that each row here was made of.
        polls: of `samples.COLUMNS`.
        table: its name.
        flags: columns of `polls` that are wanted, too.

    Returns:
        `counts` with the flags and `whole`; false where nobody knows how many rows there should be.
    """
    expected = polls.select(*POLL, *flags, F.col("rows")[table].alias("expected"))
    found = F.sum("found").over(Window.partitionBy(*POLL))
    joined = counts.withColumn("found", found).join(expected, list(POLL), "left")
    whole = F.coalesce(F.col("found") == F.col("expected"), no())
    return joined.withColumn("whole", whole).drop("found", "expected")
