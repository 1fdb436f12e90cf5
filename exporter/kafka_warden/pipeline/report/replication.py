"""Followers that were not in sync, by state, from the marts by cluster and by replica.

The mean number of replicas in a state is the number of their samples in it, divided by the polls of that time: a
replica that was slow in half of an hour's polls counts half.
"""

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.pipeline.report import colours
from kafka_warden.pipeline.report.colours import Colour
from kafka_warden.pipeline.report.reading import unix
from kafka_warden.pipeline.session import persisted

SECONDS: Final[Mapping[str, int]] = {"minute": 60, "hour": 3600}
"""Grain of the marts to its length."""

_STEPS: Final = 120
"""Points of a plot over time."""

TOPICS: Final = 15
"""Topics that are read, those with the most time first."""

STATES: Final[Mapping[str, tuple[Colour, str]]] = {
    ReplicaState.OFFLINE: (colours.RED, "its broker is gone or fenced, or its log directory is offline"),
    ReplicaState.LEADER_UNAVAILABLE: (colours.BROWN, "it has no leader, or the leader does not answer"),
    ReplicaState.STUCK: (colours.PURPLE, "it fetches nothing, though it should"),
    ReplicaState.SLOW: (colours.ORANGE, "it fetches less than is produced"),
    ReplicaState.THROTTLED: (colours.YELLOW, "a replication throttle limits it"),
    ReplicaState.RECOVERING: (colours.GREEN, "it is catching up"),
    ReplicaState.BOOTSTRAPPING: (colours.SKY, "it is new and copies its first bytes"),
    ReplicaState.MOVING: (colours.BLUE, "a reassignment moves it on purpose"),
    ReplicaState.UNKNOWN: (colours.GREY, "there are too few polls, or its broker did not answer"),
}
"""Why a follower is not in sync, the most urgent first: state to its colour and meaning."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster's part of the history. Times in Unix s."""

    cluster_id: str
    begins: float
    ends: float
    polls: int
    brokers: int | None
    partitions: int | None


@dataclass(frozen=True, slots=True)
class Span:
    """Start and end of the history (Unix s), the step of plots (s), and the grain of the marts that they read."""

    begins: float
    ends: float
    step: int
    grain: str


@dataclass(frozen=True, slots=True)
class Health:
    """Values by step.

    Attributes:
        times: Start of each step (Unix s).
        under: Cluster to its highest number of under-replicated partitions in each step; None without a poll.
        states: State to the mean number of replicas in it in each step, in all clusters.
        topics: Cluster and topic to replica seconds by state, the highest sum first; at most `TOPICS`.
        seconds: State to its replica seconds in all topics.
        topics_in_all: Number of topics with any.
    """

    times: tuple[float, ...]
    under: Mapping[str, tuple[int | None, ...]]
    states: Mapping[str, tuple[float, ...]]
    topics: Mapping[tuple[str, str], Mapping[str, float]]
    seconds: Mapping[str, float]
    topics_in_all: int


def clusters_of(cluster: DataFrame, grain: str) -> list[Cluster]:
    """Read the clusters and their times."""
    rows = cluster.select("cluster_id", unix("start"), "polls", "brokers_max", "partitions_max")
    found = rows.groupBy("cluster_id").agg(
        F.min("start").alias("begins"),
        (F.max("start") + SECONDS[grain]).alias("ends"),
        F.sum("polls").alias("polls"),
        F.max("brokers_max").alias("brokers"),
        F.max("partitions_max").alias("partitions"),
    )
    return [Cluster(**row.asDict()) for row in found.orderBy("cluster_id").collect()]


def span_of(clusters: Sequence[Cluster], grain: str) -> Span:
    """Choose the steps of the plots: whole minutes or hours, at most `_STEPS`."""
    begins, ends = min(one.begins for one in clusters), max(one.ends for one in clusters)
    grains = max(1, -(-int(ends - begins) // (SECONDS[grain] * _STEPS)))
    return Span(begins, ends, grains * SECONDS[grain], grain)


def health_of(cluster: DataFrame, replica: DataFrame, span: Span) -> Health:
    """Sum up states and under-replication, by step and by topic."""
    with persisted(_samples(replica, cluster, span)) as samples:
        states = samples.groupBy("state", "step").agg(F.sum("seconds").alias("seconds")).collect()
        by_topic = samples.groupBy("cluster_id", "topic", "state").agg(F.sum("seconds").alias("seconds"))
        topics, in_all = _topics(by_topic)
    under = (
        cluster.select("cluster_id", _step(span), "under_replicated_max")
        .groupBy("cluster_id", "step")
        .agg(F.max("under_replicated_max").alias("most"))
        .orderBy("cluster_id", "step")
        .collect()
    )
    steps = sorted({row["step"] for row in (*states, *under)})
    return Health(
        tuple(span.begins + step * span.step for step in steps),
        _by_step(under, "cluster_id", "most", steps, None),
        {name: tuple(value / span.step for value in row) for name, row in _seconds(states, steps).items()},
        topics,
        {state: sum(row["seconds"] for row in states if row["state"] == state) for state in _seconds(states, steps)},
        in_all,
    )


def _seconds(states: Sequence[Any], steps: Sequence[int]) -> dict[str, tuple[float, ...]]:
    found = _by_step(states, "state", "seconds", steps, 0.0)
    return {state: found[state] for state in STATES if state in found}


def _by_step(
    rows: Sequence[Any], key: str, value: str, steps: Sequence[int], nothing: Any
) -> dict[str, tuple[Any, ...]]:
    found = {(row[key], row["step"]): row[value] for row in rows}
    return {
        name: tuple(found.get((name, step), nothing) for step in steps) for name in sorted({row[key] for row in rows})
    }


def _step(span: Span) -> Column:
    return F.floor((unix("start") - span.begins) / span.step).alias("step")


def _samples(replica: DataFrame, cluster: DataFrame, span: Span) -> DataFrame:
    """Return replica seconds by cluster, topic, state and step, of states that are not in sync."""
    states = replica.select("cluster_id", "start", "topic", F.explode(_outside()).alias("state", "samples"))
    bad = (
        states.where("samples > 0")
        .groupBy("cluster_id", "start", "topic", "state")
        .agg(F.sum("samples").alias("samples"))
    )
    polls = cluster.select("cluster_id", "start", "polls").where("polls > 0")
    share = F.col("samples") / F.col("polls") * float(SECONDS[span.grain])
    joined = bad.join(F.broadcast(polls), ["cluster_id", "start"], how="inner")
    return joined.select("cluster_id", "topic", "state", _step(span), share.alias("seconds"))


def _outside() -> Column:
    """Return samples by state as a map. Unknown ones count only as far as no other state explains being out of sync.

    A sidecar that has just started knows no states, also not of replicas in sync.
    """
    counts = {str(state): F.coalesce(F.col("states")[str(state)], F.lit(0)) for state in STATES}
    unknown = counts.pop(str(ReplicaState.UNKNOWN))
    others = functools.reduce(operator.add, counts.values())
    counts[str(ReplicaState.UNKNOWN)] = F.least(unknown, F.greatest(F.col("out_of_sync_samples") - others, F.lit(0)))
    return F.create_map(*(part for state, count in counts.items() for part in (F.lit(state), count)))


def _topics(by_topic: DataFrame) -> tuple[dict[tuple[str, str], dict[str, float]], int]:
    sums = by_topic.groupBy("cluster_id", "topic").agg(
        F.sum("seconds").alias("all"), F.map_from_entries(F.collect_list(F.struct("state", "seconds"))).alias("states")
    )
    rows = sums.orderBy(F.desc("all"), "cluster_id", "topic").limit(TOPICS).collect()
    return {(row["cluster_id"], row["topic"]): dict(sorted(row["states"].items())) for row in rows}, sums.count()
