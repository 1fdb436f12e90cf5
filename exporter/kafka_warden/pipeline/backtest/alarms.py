"""Turns the signals of single polls into alarms, as Prometheus' rules do.

A stretch is a series of polls in which a condition holds. It fires once it lasts for `for`. A stretch within
`keep_firing_for` of an alarm, or after polls that do not know, continues the alarm. Before it fires, it starts again.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.backtest.rules import UNKNOWN_FOR
from kafka_warden.pipeline.backtest.signals import SUBJECT
from kafka_warden.pipeline.timeline import no

KEY: Final = ("cluster_id", "trial", *SUBJECT)
"""The columns of an alarm's subject."""

_ROUNDING: Final = 1e-6
"""Seconds: clocks are floats."""


def alarms(timed: DataFrame) -> DataFrame:
    """Combine signals into alarms.

    `timed`: signals with `n`, `at`, `next_at` and `held` of `timeline.informative_polls`, and their rule's `wanted` and
    `keep_seconds`. Returns `KEY`; `began`, `fired`, `ended` and `last_until` (Unix s); `seconds`, `polls`, `value_max`,
    `would_fire`.
    """
    return _alarms(_stretches(_chains(timed)))


def _since(name: str, *of: str) -> Column:
    return F.col(name) - F.lag(name).over(Window.partitionBy(*KEY, *of).orderBy("n"))


def _numbered(together: Column, order: str, *of: str) -> Column:
    """Number groups of rows: each row that is not `together`, or where that is null, begins a group."""
    return F.sum(F.when(together, 0).otherwise(1)).over(Window.partitionBy(*KEY, *of).orderBy(order))


def _chains(timed: DataFrame) -> DataFrame:
    """Number chains of polls in which the condition is never known to be false, and find each chain's end."""
    together = (_since("n") == 1) & (_since("at") <= UNKNOWN_FOR)
    marked = timed.withColumn("together", together)
    numbered = marked.withColumn("chain", _numbered(F.col("together"), "n"))
    of_chain = Window.partitionBy(*KEY, "chain")
    over = F.least(F.max_by("next_at", "n").over(of_chain), F.max("at").over(of_chain) + UNKNOWN_FOR)
    # `least` ignores nulls; a null `next_at` means that the chain continues.
    goes_on = F.max_by("next_at", "n").over(of_chain).isNull()
    return numbered.withColumn("chain_over", F.when(~goes_on, over))


def _stretches(chains: DataFrame) -> DataFrame:
    holds = chains.where("on")
    held_until = F.lag(F.col("at") + F.col("held")).over(Window.partitionBy(*KEY).orderBy("n"))
    together = (_since("n") == 1) & (F.col("at") <= held_until + _ROUNDING)
    numbered = holds.withColumn("together", together).withColumn("stretch", _numbered(F.col("together"), "n"))
    return (
        numbered.groupBy(*KEY, "stretch", "wanted", "keep_seconds")
        .agg(
            F.min("at").alias("began"),
            F.max(F.col("at") + F.col("held")).alias("until"),
            F.max_by("next_at", "n").alias("next_at"),
            F.min("chain").alias("chain"),
            F.max_by("chain_over", "n").alias("chain_over"),
            F.count("*").alias("polls"),
            F.max("value").alias("value_max"),
        )
        .withColumn("fires", F.col("until") - F.col("began") >= F.col("wanted"))
    )


def _alarms(stretches: DataFrame) -> DataFrame:
    before = Window.partitionBy(*KEY).orderBy("began")
    bridged = F.col("chain") == F.lag("chain").over(before)
    soon = F.col("began") - F.lag("until").over(before) <= F.col("keep_seconds")
    numbered = stretches.withColumn("together", bridged | soon).withColumn(
        "group", _numbered(F.col("together"), "began")
    )
    of_group = Window.partitionBy(*KEY, "group")
    first = F.min(F.when(F.col("fires"), F.col("began"))).over(of_group)
    marked = numbered.withColumn("firing", F.coalesce(F.col("began") >= first, no()))
    # A stretch before the first that fires is an alarm of its own.
    alone = F.when(~F.col("firing"), F.col("stretch")).otherwise(-1)
    over = F.when(F.col("firing"), F.col("chain_over")).otherwise(F.when(F.col("next_at").isNotNull(), F.col("until")))
    return (
        marked.withColumns({"alone": alone, "over": over})
        .groupBy(*KEY, "group", "alone")
        .agg(
            F.min("began").alias("began"),
            F.min(F.when(F.col("fires"), F.col("began") + F.col("wanted"))).alias("fired"),
            F.max_by("over", "began").alias("ended"),
            F.max("until").alias("last_until"),
            F.sum("polls").alias("polls"),
            F.max("value_max").alias("value_max"),
            F.max("firing").alias("would_fire"),
        )
        .withColumn("seconds", F.coalesce("ended", "last_until") - F.col("began"))
        .drop("group", "alone")
    )
