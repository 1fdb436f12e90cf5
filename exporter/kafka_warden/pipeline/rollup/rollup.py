"""Writes all marts of the hours of a run."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from pyspark.sql import DataFrame

from kafka_warden.pipeline import marks
from kafka_warden.pipeline.marts import Mart
from kafka_warden.pipeline.marts import rollup as marts
from kafka_warden.pipeline.rollup import brokers, cluster, log_dirs, replicas, samples, topics
from kafka_warden.pipeline.rollup.series import put_days
from kafka_warden.pipeline.rollup.windows import Grain, with_folders
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import Store, of_mart


def roll_up(store: Store, work: marks.Work, step: Callable[[str], AbstractContextManager[None]]) -> None:
    """Replace these hours in every mart. `step`: reports the progress of a step."""
    read = samples.read(store, work.raw(), work.hours)

    def put(mart: Mart, windows: DataFrame) -> None:
        marks.replace(work, mart, with_folders(windows), work.windows(), gather=not work.is_one_day())

    with step("minutes of replicas"):
        put(marts.REPLICAS["minute"], replicas.minutes(read["replicas"]))
    with step("hours of replicas"):
        minutes = store.read(of_mart(marts.REPLICAS["minute"])).where(work.windows())
        put(marts.REPLICAS["hour"], replicas.hours(minutes))
    # Cached for both grains: one row per poll and topic or broker.
    with persisted(topics.partition_polls(read)) as of_partitions:
        with step("topics"), persisted(topics.replica_polls(read)) as of_replicas:
            for grain in Grain:
                put(marts.TOPICS[grain], topics.windows(of_partitions, of_replicas, grain))
        with step("clusters"), persisted(cluster.cluster_polls(read, of_partitions)) as of_clusters:
            for grain in Grain:
                put(marts.CLUSTERS[grain], cluster.windows(of_clusters, grain))
    with step("brokers"), persisted(brokers.broker_polls(read)) as of_brokers:
        for grain in Grain:
            put(marts.BROKERS[grain], brokers.windows(of_brokers, grain))
    with step("log directories"):
        put(marts.LOG_DIR_HOURS, log_dirs.windows(read["brokers"], Grain.HOUR))
    with step("days"):
        put_days(store, work)
