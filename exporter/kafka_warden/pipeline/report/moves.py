"""Moves for the page, from the marts `moves` and `move_samples`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.report.reading import by_index, floats, unix

MOST: Final = 1500
"""Moves that are read, the longest first."""

MOST_REASSIGNMENTS: Final = 200
"""Reassignments that are read, the newest first."""

_POINTS: Final = 240
"""Points of a move's plot; more samples are combined."""

_TIMES: Final = ("began", "ended")


@dataclass(frozen=True, slots=True)
class Move:
    """One move of a replica. Times in Unix s, sizes in bytes, rates in bytes/s; None is unknown."""

    cluster_id: str
    topic: str
    partition: int
    broker: int
    kind: str
    leader: int | None
    outcome: str
    began: float
    ended: float | None
    seconds: float | None
    bytes_copied: float | None
    rate_mean: float | None
    limit_mean: float | None
    use_mean: float | None
    stalled_seconds: float | None
    stuck_seconds: float | None
    causes: Mapping[str, float]
    predicted_seconds: float | None
    eta_first: float | None
    eta_error: float | None

    @property
    def name(self) -> str:
        """Partition and target."""
        return f"{self.topic}-{self.partition} → {self.broker}"

    @property
    def rest(self) -> float | None:
        """Seconds that it took from its first ETA; None where that is unknown, 0 or infinite."""
        if not self.eta_first or self.eta_error is None or math.isinf(self.eta_first):
            return None
        return self.eta_first / (1 + self.eta_error)


@dataclass(frozen=True, slots=True)
class Reassignment:
    """The moves of a cluster that overlap in time. Times in Unix s; None is unknown."""

    cluster_id: str
    began: float
    ended: float | None
    seconds: float
    planned_seconds: float | None
    replicas: int
    completed: int
    cancelled: int
    waves: int
    bytes_copied: float | None
    stuck_seconds: float | None
    bottleneck_broker: int | None
    bottleneck_side: str | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """Totals of all moves, read or not.

    `bytes_copied` is unknown for `unknown` of them; `causes`: cause to the seconds stuck by it.
    """

    count: int
    outcomes: Mapping[str, int]
    bytes_copied: float | None
    unknown: int
    median_error: float | None
    causes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Samples:
    """A move over time: Unix s, rates and limits in bytes/s (NaN: unknown; infinite: no limit), and whether stuck."""

    times: tuple[float, ...]
    rates: tuple[float, ...]
    limits: tuple[float, ...]
    stuck: tuple[bool, ...]


def summed_up(moves: DataFrame) -> Fleet:
    """Sum over all moves."""
    outcomes = {row["outcome"]: row["count"] for row in moves.groupBy("outcome").count().orderBy("outcome").collect()}
    causes = (
        moves.select(F.explode("causes").alias("cause", "seconds")).groupBy("cause").agg(F.sum("seconds").alias("s"))
    )
    whole = moves.agg(
        F.sum("bytes_copied").alias("bytes"),
        F.count_if(F.col("bytes_copied").isNull()).alias("unknown"),
        F.percentile(F.abs("eta_error"), 0.5).alias("error"),
    ).first()
    assert whole is not None  # noqa: S101  # an aggregate without keys has one row
    found = {row["cause"]: row["s"] for row in causes.orderBy(F.desc("s"), "cause").collect() if row["s"]}
    return Fleet(sum(outcomes.values()), outcomes, whole["bytes"], whole["unknown"], whole["error"], found)


def longest(moves: DataFrame) -> list[Move]:
    """Read the `MOST` longest moves, running ones included."""
    order: list[Any] = [F.desc_nulls_last("seconds"), "cluster_id", "began", "topic", "partition", "broker", "kind"]
    columns = (unix(field.name) if field.name in _TIMES else F.col(field.name) for field in fields(Move))
    rows = moves.select(*columns).orderBy(*order).limit(MOST).collect()
    return [Move(**{**row.asDict(), "causes": dict(row["causes"] or {})}) for row in rows]


def newest(reassignments: DataFrame) -> tuple[list[Reassignment], int]:
    """Read the `MOST_REASSIGNMENTS` newest reassignments, and count the others."""
    columns = (unix(field.name) if field.name in _TIMES else F.col(field.name) for field in fields(Reassignment))
    rows = reassignments.select(*columns).orderBy(F.desc("began"), "cluster_id").limit(MOST_REASSIGNMENTS).collect()
    read = [Reassignment(**row.asDict()) for row in rows]
    return read, reassignments.count() - len(read) if len(read) == MOST_REASSIGNMENTS else 0


def chosen(moves: Sequence[Move], most: int) -> list[Move]:
    """Choose the moves with a plot of their own: the longest stuck, then the worst ETA, then the longest."""

    def interest(move: Move) -> tuple[float, float, float]:
        return (move.stuck_seconds or 0.0, abs(move.eta_error or 0.0), move.seconds or 0.0)

    return sorted(moves, key=interest, reverse=True)[:most]


def samples_of(samples: DataFrame, moves: Sequence[Move]) -> dict[int, Samples]:
    """Read the samples of these moves: index to samples, for those with two or more."""
    if not moves:
        return {}
    owner = F.coalesce(*(F.when(_of(move), F.lit(place)) for place, move in enumerate(moves)))
    owned = samples.select(owner.alias("move"), unix("time"), "rate", "limit", "stuck").where("move IS NOT NULL")
    widths = F.array(*(F.lit(max((move.seconds or 0.0) / _POINTS, 1.0)) for move in moves))
    begins = F.array(*(F.lit(move.began) for move in moves))
    step = F.floor((F.col("time") - begins[F.col("move")]) / widths[F.col("move")])
    points = owned.groupBy("move", step.alias("step")).agg(
        F.min("time").alias("time"),
        F.avg("rate").alias("rate"),
        F.min("limit").alias("limit"),
        F.max(F.col("stuck").isNotNull()).alias("stuck"),
    )
    return {
        place: Samples(
            floats(rows, "time"), floats(rows, "rate"), floats(rows, "limit"), tuple(row["stuck"] for row in rows)
        )
        for place, rows in by_index(points, "move", "time").items()
    }


def _of(move: Move) -> Column:
    same = F.unix_micros("began") == round(move.began * 1e6)
    for name in ("cluster_id", "kind", "topic", "partition", "broker"):
        same &= F.col(name) == getattr(move, name)
    return same
