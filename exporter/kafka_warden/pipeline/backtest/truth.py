"""Known faults of a history: `faults.json` of a generated fleet or of a person, or alerts of other tools.

One JSON object per line: `cluster_id`, `kind`, `began`, `ended` (Unix s), and the subject: `topic`, `partition`,
`broker`, or null. `calm.json` beside it has the same form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import TruthError
from kafka_warden.pipeline.backtest import alertmanager
from kafka_warden.pipeline.frames import of_rows
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.timeline import yes

FORM: Final = "cluster_id string, kind string, began double, ended double, topic string, partition int, broker int"
FILE: Final = "faults.json"
EXPORT: Final = ".json"
"""The end of a name of a file with alerts."""
NO_FAULTS: Final = "calm.json"
"""Events that are no faults but look like one, such as restarts; some rules should detect them."""

AFTERMATH: Final = 300.0
"""Seconds after a fault's end in which an alarm is still about it, while replicas catch up; at most its duration."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Where known faults are."""

    place: str
    """Folder of `faults.json`, or a file `*.json` that has alerts of Alertmanager's API."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Of alerts: name to the kind of fault."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Of alerts: label `cluster` to cluster id."""


def faults(spark: SparkSession, known: Truth) -> DataFrame:
    """Read the faults, and the events of `calm.json` if there are any.

    Raises:
        TruthError: there is no such file, or it has another form.
    """
    folder = known.place
    if folder.endswith(EXPORT):
        return of_rows(spark, _exported(known), FORM)
    place = f"{folder.rstrip('/')}/{FILE}"
    if "://" in place:
        return _read(spark, place)
    if not Path(place).is_file():
        raise TruthError(f"{place}: no such file; give --truth the folder that has {FILE}, or leave it out")
    files = [file for name in (FILE, NO_FAULTS) if (file := Path(folder) / name).is_file()]
    return reduce(DataFrame.unionByName, [_read(spark, file.absolute().as_uri()) for file in files])


def _exported(known: Truth) -> list[alertmanager.Fault]:
    try:
        text = Path(known.place).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as failure:
        raise TruthError(f"{known.place}: it cannot be read: {failure}") from None
    try:
        return alertmanager.faults(text, known.kinds, known.clusters)
    except TruthError as failure:
        raise TruthError(f"{known.place}: {failure}") from None


def _read(spark: SparkSession, place: str) -> DataFrame:
    found = spark.read.schema(f"{FORM}, broken string").option("columnNameOfCorruptRecord", "broken").json(place)
    bad = "broken is not null or cluster_id is null or kind is null or began is null"
    # Spark only finds broken lines in a cached frame. The next round of a loop reads the file again.
    with persisted(found) as cached:
        wrong = cached.where(bad).limit(1).collect()
    if wrong:
        raise TruthError(f"{place}: a line is not of the form of docs/pipeline-moves-backtest.md: {wrong[0].asDict()}")
    return found.withColumn("ended", F.coalesce("ended", F.lit(float("inf")))).drop("broken")


def expected(happened: DataFrame, trials: DataFrame, clusters: DataFrame) -> DataFrame:
    """Pair each fault with the trials that should detect it: of its kind, long enough for their rule, and polled.

    `clusters`: `cluster_id`, `what_if`, `interval` (s), and `since` and `until` (Unix s), the time with polls. Returns
    the columns of the others, and `fault`, an id.
    """
    numbered = happened.withColumn("fault", F.monotonically_increasing_id())
    seen = F.least("ended", "until") - F.greatest("began", "since")
    asked = trials.join(F.broadcast(clusters), "what_if")
    mine = asked.withColumnRenamed("cluster_id", "of_cluster")
    same = (F.col("cluster_id") == F.col("of_cluster")) & F.array_contains("detects", F.col("kind"))
    long_enough = seen > F.col("least_fault") + F.col("interval")
    return numbered.join(F.broadcast(mine), same & long_enough).drop("of_cluster", "interval", "since", "until")


def is_about(alarm: str, fault: str) -> Column:
    """Return whether an alarm is about a fault: the times overlap, and labels that both have are equal."""
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
