"""The cluster that everything is measured on: three brokers, one controller, and as many partitions as asked for."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Self

from confluent_kafka import Producer
from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.metadata import MetadataRequest

from sandbox import Cluster, ClusterSettings, wait_for

PARTITIONS_A_TOPIC = 15
REPLICATION_FACTOR = 3
TOPICS_A_REQUEST = 100
"""A request of more than 10,000 records is refused; a partition is one, a topic another."""

TOPIC_ALREADY_EXISTS = 36
PREFIX = "bench-"
RECORDS = 100
RECORD_BYTES = 100
READY_SECONDS = 600.0

SETTINGS = ClusterSettings(
    profile="default",
    broker_heap=1024,
    controller_heap=256,
    # Kafka maps two indices for each of 10,005 logs: of 10 MiB each by default, of which nothing is used here.
    broker_properties={"log.index.size.max.bytes": 1 << 20},
)
"""Kafka's defaults, except for settings that 30,000 replicas on one machine need."""


@dataclass(frozen=True)
class Target:
    """The properties of a cluster that the measurements need.

    Attributes:
        bootstrap: `host:port,...` of the brokers.
        jmx: `host:port` by broker id.
        jmx_controllers: The same by controller id.
        pids: Process id of the JVM by broker id.
        partitions: How many partitions the benchmark made.
    """

    bootstrap: str
    jmx: Mapping[int, str]
    jmx_controllers: Mapping[int, str]
    pids: Mapping[int, int]
    partitions: int

    @classmethod
    def of(cls, cluster: Cluster, partitions: int) -> Self:
        """Describe a running cluster."""
        pids = {node: pid for node, pid in cluster.pids().items() if node in cluster.broker_ids}
        return cls(cluster.bootstrap, cluster.jmx_brokers, cluster.jmx_controllers, pids, partitions)


@contextmanager
def bench_cluster(partitions: int) -> Iterator[Cluster]:
    """Start the cluster, fill it, and wait until every replica is in sync; removes everything at the end."""
    with Cluster(SETTINGS) as cluster:
        topics = list(_topics(partitions))
        for first in range(0, len(topics), TOPICS_A_REQUEST):
            _create(cluster, topics[first : first + TOPICS_A_REQUEST])
        _wait(cluster, partitions)
        _fill(cluster, topics)
        _wait(cluster, partitions)
        yield cluster


def _topics(partitions: int) -> Iterator[tuple[str, int]]:
    for index in range(math.ceil(partitions / PARTITIONS_A_TOPIC)):
        yield f"{PREFIX}{index:04d}", min(PARTITIONS_A_TOPIC, partitions - index * PARTITIONS_A_TOPIC)


def _create(cluster: Cluster, topics: list[tuple[str, int]]) -> None:
    topic = CreateTopicsRequest.CreatableTopic
    wanted = [
        topic(name=name, num_partitions=count, replication_factor=REPLICATION_FACTOR, assignments=[], configs=[])
        for name, count in topics
    ]
    reply = cluster.admin.ask(CreateTopicsRequest(topics=wanted, timeout_ms=60_000, validate_only=False))
    # The first answer came too late, and the request was repeated: the topic exists.
    errors = (result for result in reply.topics if result.error_code not in {0, TOPIC_ALREADY_EXISTS})
    refused = [f"{result.name}: {result.error_message}" for result in errors]
    if refused:
        raise RuntimeError(f"the cluster refused {len(refused)} topics, the first one: {refused[0]}")


def _fill(cluster: Cluster, topics: list[tuple[str, int]]) -> None:
    """Give one partition of each topic some records, through one producer, since each asks for all the metadata.

    Not every partition: the first record of each makes three brokers write and sync a leader epoch.
    """
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 50, "log_level": 2})
    for name, _ in topics:
        for _ in range(RECORDS):
            producer.produce(name, bytes(RECORD_BYTES), partition=0)
    left = producer.flush(READY_SECONDS)
    if left:
        raise RuntimeError(f"{left} records were not acknowledged within {READY_SECONDS:g} s")


def _wait(cluster: Cluster, partitions: int) -> None:
    """Wait until every broker knows every partition and its leader, and every replica is in sync."""
    for node in cluster.broker_ids:
        known = partial(_knows, cluster, node, partitions)
        wait_for(known, READY_SECONDS, f"broker {node} knows the leaders of {partitions} partitions", interval=1.0)
    wait_for(lambda: not cluster.admin.out_of_sync(), READY_SECONDS, "every replica is in sync", interval=1.0)


def _knows(cluster: Cluster, node: int, partitions: int) -> bool:
    """Return whether a broker knows that many partitions of the benchmark, each with a leader."""
    reply = cluster.admin.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), node)
    ours = (topic for topic in reply.topics if topic.name.startswith(PREFIX))
    led: int = sum(partition.leader_id >= 0 for topic in ours for partition in topic.partitions)
    return led == partitions
