"""Polls of a cluster in one order, whoever made them: when each was, which one came next, and for how long it speaks.

Runs follow each other where a sidecar was restarted, and run side by side where there are two. A poll that cannot tell
about something (reassignments, say) is no poll in that respect: `telling` takes those that can, of one run at a time.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.formulas import samples
from kafka_warden.pipeline.ops import COLUMNS

POLL: Final = ("cluster_id", "run", "sequence")
"""What tells polls apart."""


def timeline(polls: DataFrame) -> DataFrame:
    """Put polls on one axis.

    Args:
        polls: rows of the table `polls`, each once.

    Returns:
        The columns of `polls`, and `at` (Unix s) and `silent_after` (s).
    """
    between = F.col("clock") - F.lag("clock").over(Window.partitionBy("cluster_id", "run").orderBy("sequence"))
    runs = (
        polls.select("cluster_id", "run", (F.col("time") - F.col("clock")).alias("off"), between.alias("between"))
        .groupBy("cluster_id", "run")
        .agg(F.median("off").alias("offset"), F.median("between").alias("usual"))
    )
    interval = F.col("parameters.poll_interval")
    at = samples.steady_time(COLUMNS, F.col("time"), F.col("clock"), F.col("offset"))
    silent_after = samples.silence(COLUMNS, F.coalesce("usual", interval), interval)
    return (
        polls.join(F.broadcast(runs), ["cluster_id", "run"])
        .withColumns({"at": at, "silent_after": silent_after})
        .drop("offset", "usual")
    )


def one_voice(polls: DataFrame, of: Sequence[str] = ("cluster_id",)) -> DataFrame:
    """Leave out polls that a run made while an elder one spoke: two sidecars see each thing twice, a poll apart.

    The one that began first remembers furthest back, and who speaks changes only when it falls silent.

    Args:
        polls: as `telling`.
        of: the same.
    """
    spans = _spans(polls, of)
    elder, younger = spans.alias("elder"), spans.alias("younger")
    same = [F.col(f"elder.{name}") == F.col(f"younger.{name}") for name in of]
    is_elder = F.struct("elder.began", "elder.run") < F.struct("younger.began", "younger.run")
    meets = (F.col("elder.since") <= F.col("younger.until")) & (F.col("elder.until") >= F.col("younger.since"))
    spoken = elder.join(younger, [*same, is_elder & meets]).select(
        *(F.col(f"younger.{name}") for name in (*of, "run")), "elder.since", "elder.until"
    )
    mine = [F.col(f"poll.{name}") == F.col(f"spoken.{name}") for name in (*of, "run")]
    meanwhile = F.col("poll.at").between(F.col("spoken.since"), F.col("spoken.until"))
    return polls.alias("poll").join(F.broadcast(spoken.alias("spoken")), [*mine, meanwhile], "left_anti")


def _spans(polls: DataFrame, of: Sequence[str]) -> DataFrame:
    """Times through which each run spoke without a silence: `since`, `until`, and `began`, its first poll."""
    own = Window.partitionBy(*of, "run").orderBy("at", "sequence")
    goes_on = F.col("at") - F.lag("at").over(own) <= F.lag("silent_after").over(own)
    numbered = polls.withColumn("fresh", F.when(goes_on, 0).otherwise(1)).withColumn("span", F.sum("fresh").over(own))
    spans = numbered.groupBy(*of, "run", "span").agg(F.min("at").alias("since"), F.max("at").alias("until"))
    return spans.withColumn("began", F.min("since").over(Window.partitionBy(*of, "run")))


def telling(polls: DataFrame, of: Sequence[str] = ("cluster_id",)) -> DataFrame:
    """Number the polls that tell about something, and look at the ones before and after each.

    Of runs that speak at the same time the elder one counts: `one_voice`.

    Args:
        polls: rows of `timeline` that tell about it, those of each `of` apart.
        of: `cluster_id`, and `broker` where brokers tell by themselves.

    Returns:
        `run`, `sequence` and the columns `of`; `n`, counted from 1; `at`, `previous_at` and `next_at` (Unix s, null
        where there is none); `next_run` and `next_sequence`; `held` (s), for which what it told is taken to hold: until
        the next one, but not through a silence, and 0 for the last one.
    """
    order = Window.partitionBy(*of).orderBy("at", "run", "sequence")
    return one_voice(polls, of).select(
        *of,
        "run",
        "sequence",
        F.row_number().over(order).alias("n"),
        "at",
        F.lag("at").over(order).alias("previous_at"),
        F.lead("at").over(order).alias("next_at"),
        F.lead("run").over(order).alias("next_run"),
        F.lead("sequence").over(order).alias("next_sequence"),
        F.coalesce(_held(F.lead("at").over(order)), F.lit(0.0)).alias("held"),
    )


def _held(next_at: Column) -> Column:
    return samples.held(COLUMNS, next_at - F.col("at"), F.col("silent_after"))


def moment(seconds: str) -> Column:
    """Turn Unix seconds into a timestamp, under the same name."""
    return F.timestamp_micros(F.round(F.col(seconds) * 1e6).cast("bigint")).alias(seconds)
