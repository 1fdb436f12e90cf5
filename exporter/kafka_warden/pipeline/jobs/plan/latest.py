"""A cluster in its last complete poll, and its produce rates over the history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ConfigError, HistoryRowsError, IncompleteError
from kafka_warden.history.replay import parameters_of, snapshot_of
from kafka_warden.history.schema import TABLES
from kafka_warden.model import Floats, Parameters, Snapshot
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.timeline import timeline
from kafka_warden.planning.inbound import Percentile

TRIED: Final = 10
"""Polls that are tried: the last ones may not be completely written yet."""
ACCURACY: Final = 10_000
"""Of Spark's `percentile_approx`: the error is at most 1 / ACCURACY of the polls."""
RESTORED: Final = "restored"


@dataclass(frozen=True, slots=True)
class Latest:
    """A cluster in its last complete poll."""

    snapshot: Snapshot
    parameters: Parameters
    topic_ids: Mapping[str, str]
    """By topic name."""


def latest(history: History, cluster: str | None) -> Latest:
    """Restore the last complete poll of a cluster.

    Raises:
        ConfigError: there are several clusters, or not this one.
        IncompleteError: none of the last polls is complete.
    """
    polls = history.table("polls")
    mine = timeline(polls.where(F.col("cluster_id") == _cluster(polls, cluster)))
    last = mine.orderBy(F.desc("at")).select("cluster_id", "run", "sequence").limit(TRIED).collect()
    problem = ""
    for poll in last:
        try:
            return _restored(history, poll.asDict())
        except HistoryRowsError as failure:
            problem = problem or str(failure)
    raise IncompleteError(f"none of the last {len(last)} polls is complete: {problem}")


def percentiles(history: History, found: Latest, shares: Sequence[float]) -> tuple[Percentile, ...]:
    """Return percentiles of each partition's inbound rate; the rates of a topic's former ids do not count."""
    cluster = found.snapshot.cluster_id
    rows = history.table("partitions").where((F.col("cluster_id") == cluster) & F.col("bytes_in").isNotNull())
    polls, first, last = rows.agg(F.countDistinct("run", "sequence"), F.min("time"), F.max("time")).collect()[0]
    of_each = F.percentile_approx("bytes_in", [float(share) for share in shares], ACCURACY).alias("rates")
    named = rows.groupBy("topic", "topic_id", "partition").agg(of_each).collect()
    rates = _by_row(found, named, len(shares))
    span = (found.snapshot.time,) * 2 if first is None else (first, last)
    return tuple(Percentile(share, rates[:, index], polls, *span) for index, share in enumerate(shares))


def _by_row(found: Latest, named: Sequence[Any], shares: int) -> Floats:
    """Return the rates in the order of the snapshot, of shape (P, shares)."""
    partitions, topics = found.snapshot.partitions, found.snapshot.topics
    keys = zip(partitions.topic.tolist(), partitions.number.tolist(), strict=True)
    row_of = {(topics[topic], number): row for row, (topic, number) in enumerate(keys)}
    rates = np.full((len(row_of), shares), np.nan)
    for each in named:
        row = row_of.get((each.topic, each.partition))
        if row is not None and found.topic_ids[each.topic] == each.topic_id:
            rates[row] = each.rates
    return rates


def _cluster(polls: Any, cluster: str | None) -> str:
    ids = sorted(row.cluster_id for row in polls.select("cluster_id").distinct().collect())
    if cluster is None and len(ids) == 1:
        return str(ids[0])
    if cluster is None or cluster not in ids:
        asked = "name one with --cluster" if cluster is None else f"--cluster: there is no {cluster}"
        raise ConfigError(f"{asked}; the history has {', '.join(map(str, ids)) or 'none'}")
    return cluster


def _restored(history: History, poll: Mapping[str, Any]) -> Latest:
    tables = {}
    for table in TABLES:
        if table.name != RESTORED:
            rows = history.table(table.name)
            for name, value in poll.items():
                rows = rows.where(F.col(name) == F.lit(value))
            tables[table.name] = rows.toArrow().to_pydict()
    configs = tables["configs"]
    ids = {topic: uid for topic, uid in zip(configs["topic"], configs["topic_id"], strict=True) if uid is not None}
    return Latest(snapshot_of(tables), parameters_of(tables), ids)
