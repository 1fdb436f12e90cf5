"""Alarms that rules would have raised, from the marts `rules` and `alarms`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.backtest.rules import BY_MESSAGES, BY_TIME
from kafka_warden.pipeline.report.reading import unix

MOST: Final = 2000
"""Alarms that are drawn, the longest first."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The alarms of a trial of a rule. None: faults are unknown."""

    rule: str
    threshold: float | None
    what_if: bool
    unit: str | None
    for_seconds: float | None
    alarms: int
    short: int
    """Times that its condition did not hold for long enough."""
    alarm_seconds: float
    true_alarms: int | None
    false_alarms: int | None
    events: int | None
    missed: int | None
    delay_seconds: float | None
    """Also None if it detected no fault."""

    @property
    def precision(self) -> float | None:
        """Share of its alarms that were true, `None` without alarms."""
        if self.true_alarms is None or self.false_alarms is None:
            return None
        alarms = self.true_alarms + self.false_alarms
        return self.true_alarms / alarms if alarms else None

    @property
    def recall(self) -> float | None:
        """Share of the faults that it detected, `None` without faults."""
        if self.events is None or self.missed is None:
            return None
        return (self.events - self.missed) / self.events if self.events else None


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm that would have fired, until its end or the last poll. Times in Unix s; None: faults are unknown."""

    rule: str
    began: float
    ended: float
    true_alarm: bool | None


def rules_of(rules: DataFrame) -> list[Rule]:
    """Read the rules of all clusters, the two that are compared first. A sum with an unknown part is unknown."""

    def whole(name: str) -> Any:
        return F.when(F.count(name) == F.count("*"), F.sum(name)).alias(name)

    sums = rules.groupBy("rule", "threshold", "what_if", "unit", "for_seconds").agg(
        *(
            whole(name)
            for name in ("alarms", "short", "alarm_seconds", "true_alarms", "false_alarms", "events", "missed")
        ),
        # A median has no sum.
        F.when(F.count("*") == 1, F.first("delay_seconds")).alias("delay_seconds"),
    )
    read = [Rule(**row.asDict()) for row in sums.where("alarms IS NOT NULL").collect()]
    first = (BY_MESSAGES, BY_TIME)
    return sorted(
        read,
        key=lambda rule: (
            first.index(rule.rule) if rule.rule in first else len(first),
            rule.rule,
            rule.what_if,
            rule.threshold or 0.0,
            rule.for_seconds or 0.0,
        ),
    )


def alarms_of(alarms: DataFrame) -> tuple[list[Alarm], int]:
    """Read the `MOST` longest alarms, without what-ifs, and count the others."""
    firing = alarms.where("would_fire AND NOT what_if")
    order: list[Any] = [F.desc_nulls_first("seconds"), "began", "rule", "cluster_id", F.to_json(F.struct("subject"))]
    rows = firing.orderBy(*order).limit(MOST).select("rule", unix("began"), "seconds", "true_alarm").collect()
    read = [Alarm(row["rule"], row["began"], row["began"] + row["seconds"], row["true_alarm"]) for row in rows]
    return read, firing.count() - len(read) if len(read) == MOST else 0


def missed_by_time(alarms: DataFrame) -> tuple[int, int]:
    """Count the alarms by messages, and those without an alarm by time of the same replica at that time."""
    firing = alarms.where("would_fire AND NOT what_if").withColumn("about", F.to_json(F.struct("subject")))
    by_messages = firing.where(F.col("rule") == BY_MESSAGES).alias("messages")
    by_time = firing.where(F.col("rule") == BY_TIME).alias("time")
    meet = (
        (F.col("messages.cluster_id") == F.col("time.cluster_id"))
        & (F.col("messages.about") == F.col("time.about"))
        & (F.col("messages.began") <= F.coalesce(F.col("time.ended"), F.col("messages.began")))
        & (F.col("time.began") <= F.coalesce(F.col("messages.ended"), F.col("time.began")))
    )
    return by_messages.count(), by_messages.join(by_time, meet, how="left_anti").count()


def pair_of(rules: Sequence[Rule]) -> tuple[Rule, Rule] | None:
    """Return the rule by messages and the rule by time if faults are known for both."""
    found = {rule.rule: rule for rule in rules if rule.false_alarms is not None and not rule.what_if}
    return (found[BY_MESSAGES], found[BY_TIME]) if {BY_MESSAGES, BY_TIME} <= found.keys() else None
