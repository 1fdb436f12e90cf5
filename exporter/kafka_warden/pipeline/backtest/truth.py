"""What really happened, where somebody knows: `truth/faults.json` of a generated fleet, or one that people wrote.

One JSON object a line: `cluster_id`, `kind`, `began`, `ended` (Unix s), and `topic`, `partition`, `broker` or null for
what it happened to. `calm.json` beside it is of the same form.
"""

from functools import reduce
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.errors import TruthError
from kafka_warden.pipeline.ops import yes

FORM: Final = "cluster_id string, kind string, began double, ended double, topic string, partition int, broker int"
FOLDER: Final = "truth"
FILE: Final = "faults.json"
CALM: Final = "calm.json"
"""What looks like a fault and is none: a restart, of which some rules should tell all the same."""

AFTERMATH: Final = 300.0
"""Seconds after a fault that are still its own, or as many as it lasted, if these are less.

`ended` is when its cause was gone, and catching up comes then.
"""


def find(history: Path | str) -> str | None:
    """Look for the truth beside a folder of history, or beside the one that it is in."""
    if "://" in str(history):
        return None
    folder = Path(history).absolute()
    for place in (folder.parent, folder.parent.parent):
        if (place / FOLDER / FILE).is_file():
            return str(place / FOLDER)
    return None


def faults(spark: SparkSession, folder: str) -> DataFrame:
    """Read what happened: the faults, and what looks like one, where that is told apart.

    Raises:
        TruthError: there is no such file, or one is of another form.
    """
    place = f"{folder.rstrip('/')}/{FILE}"
    if "://" in place:
        return _read(spark, place)
    if not Path(place).is_file():
        raise TruthError(f"{place}: no such file; give --truth the folder that has {FILE}, or leave it out")
    files = [file for name in (FILE, CALM) if (file := Path(folder) / name).is_file()]
    return reduce(DataFrame.unionByName, [_read(spark, file.absolute().as_uri()) for file in files])


def _read(spark: SparkSession, place: str) -> DataFrame:
    found = spark.read.schema(f"{FORM}, broken string").option("columnNameOfCorruptRecord", "broken").json(place)
    # Spark does not look for broken lines alone in what it did not keep.
    kept = found.cache()
    wrong = kept.where("broken is not null or cluster_id is null or kind is null or began is null").limit(1).collect()
    if wrong:
        raise TruthError(f"{place}: a line is not of the form of docs/pipeline-moves-backtest.md: {wrong[0].asDict()}")
    return kept.withColumn("ended", F.coalesce("ended", F.lit(float("inf")))).drop("broken")


def expected(happened: DataFrame, trials: DataFrame, clusters: DataFrame) -> DataFrame:
    """Pair each fault with the trials that should tell of it: of its kind, and long enough for their rule.

    Args:
        happened: of `faults`.
        trials: with `shows_after` (s) of their rule, which brokers take until what it goes by shows.
        clusters: `cluster_id` and `interval` (s), which passes until a poll sees it.

    Returns:
        The columns of the first two; `fault` tells pairs of one trial apart.
    """
    lasted = F.col("ended") - F.col("began")
    # A threshold in seconds has to pass, too, before the condition holds.
    of_threshold = F.when(F.col("unit") == "s", F.coalesce("threshold", F.lit(0.0))).otherwise(F.lit(0.0))
    numbered = happened.withColumn("fault", F.monotonically_increasing_id()).join(F.broadcast(clusters), "cluster_id")
    long_enough = lasted > F.col("wanted") + of_threshold + F.col("shows_after") + F.col("interval")
    found = numbered.join(F.broadcast(trials), F.array_contains("tells_of", F.col("kind")) & long_enough)
    return found.drop("interval")


def is_about(alarm: str, fault: str) -> Column:
    """Whether an alarm is about a fault: at its time, and of what both name."""
    lasted = F.col(f"{fault}.ended") - F.col(f"{fault}.began")
    over = F.col(f"{fault}.ended") + F.least(lasted, F.lit(AFTERMATH))
    while_it_lasted = (F.col(f"{alarm}.began") < over) & (
        F.coalesce(f"{alarm}.ended", F.lit(float("inf"))) > F.col(f"{fault}.began")
    )
    same = [
        F.coalesce(F.col(f"{alarm}.{name}") == F.col(f"{fault}.{name}"), yes())
        for name in ("topic", "partition", "broker")
    ]
    return while_it_lasted & same[0] & same[1] & same[2]
