"""Writes all marts from samples: of a whole history, or of some hours of a stream."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pyspark.sql import DataFrame

from kafka_warden.pipeline.marts import Mart
from kafka_warden.pipeline.marts import rollup as marts
from kafka_warden.pipeline.rollup import brokers, cluster, log_dirs, replicas, topics
from kafka_warden.pipeline.rollup.samples import Samples
from kafka_warden.pipeline.rollup.windows import Grain, with_folders
from kafka_warden.pipeline.session import persisted


@dataclass(frozen=True, slots=True)
class Target:
    """Where marts are written."""

    put: Callable[[Mart, DataFrame], None]
    """Replaces the given windows."""
    get: Callable[[Mart], DataFrame]
    """Reads the windows that were just written."""


def roll_up(samples: Samples, target: Target, step: Callable[[str], AbstractContextManager[None]]) -> None:
    """Write every mart. `samples`: of whole hours. `step`: reports the progress of a step."""

    def put(mart: Mart, windows: DataFrame) -> None:
        target.put(mart, with_folders(windows))

    with step("minutes of replicas"):
        put(marts.REPLICAS["minute"], replicas.minutes(samples["replicas"]))
    with step("hours of replicas"):
        put(marts.REPLICAS["hour"], replicas.hours(target.get(marts.REPLICAS["minute"])))
    # Cached for both grains: one row per poll and topic or broker.
    with persisted(topics.partition_polls(samples)) as of_partitions:
        with step("topics"), persisted(topics.replica_polls(samples)) as of_replicas:
            for grain in Grain:
                put(marts.TOPICS[grain], topics.windows(of_partitions, of_replicas, grain))
        with step("clusters"), persisted(cluster.cluster_polls(samples, of_partitions)) as of_clusters:
            for grain in Grain:
                put(marts.CLUSTERS[grain], cluster.windows(of_clusters, grain))
    with step("brokers"), persisted(brokers.broker_polls(samples)) as of_brokers:
        for grain in Grain:
            put(marts.BROKERS[grain], brokers.windows(of_brokers, grain))
    with step("log directories"):
        put(marts.LOG_DIR_HOURS, log_dirs.windows(samples["brokers"], Grain.HOUR))
