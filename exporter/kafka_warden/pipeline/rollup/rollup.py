"""Makes all marts of samples: of a whole history, or of the hours that a stream has touched."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pyspark.sql import DataFrame

from kafka_warden.pipeline.marts import Mart
from kafka_warden.pipeline.marts import rollup as marts
from kafka_warden.pipeline.rollup import brokers, cluster, replicas, topics
from kafka_warden.pipeline.rollup.samples import Samples
from kafka_warden.pipeline.rollup.windows import Grain, with_folders
from kafka_warden.pipeline.session import kept


@dataclass(frozen=True, slots=True)
class Target:
    """Where marts go."""

    put: Callable[[Mart, DataFrame], None]
    """Writes the windows given, in place of what was there of them."""
    get: Callable[[Mart], DataFrame]
    """Reads back what was just put."""


def roll_up(samples: Samples, target: Target, step: Callable[[str], AbstractContextManager[None]]) -> None:
    """Make every mart.

    Args:
        samples: of whole hours; an hour of which some rows are missing would be made of the others.
        target: where marts go.
        step: entered for each step, with what it is.
    """
    with step("minutes of replicas"):
        _put(target, marts.REPLICAS["minute"], replicas.minutes(samples["replicas"]))
    with step("hours of replicas"):
        _put(target, marts.REPLICAS["hour"], replicas.hours(target.get(marts.REPLICAS["minute"])))
    # Kept for both grains, a row per poll and topic or broker: few beside the samples.
    with kept(topics.partition_polls(samples)) as of_partitions:
        with step("topics"), kept(topics.replica_polls(samples)) as of_replicas:
            for grain in Grain:
                _put(target, marts.TOPICS[grain], topics.windows(of_partitions, of_replicas, grain))
        with step("clusters"), kept(cluster.cluster_polls(samples, of_partitions)) as of_clusters:
            for grain in Grain:
                _put(target, marts.CLUSTERS[grain], cluster.windows(of_clusters, grain))
    with step("brokers"), kept(brokers.broker_polls(samples)) as of_brokers:
        for grain in Grain:
            _put(target, marts.BROKERS[grain], brokers.windows(of_brokers, grain))


def _put(target: Target, mart: Mart, windows: DataFrame) -> None:
    target.put(mart, with_folders(windows))
