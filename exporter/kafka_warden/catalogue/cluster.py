"""Brokers, the metadata quorum, room for partitions (KIP-578), log directories."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np

from kafka_warden.catalogue.metric import Counted, Kind, Metric, Sample, View, by_broker, known, worst_first
from kafka_warden.derive.cluster import Topics
from kafka_warden.derive.lag import as_parts
from kafka_warden.derive.limits import LogCounts, headroom
from kafka_warden.model import UNKNOWN
from kafka_warden.replies import LogDir

BROKER = ("broker",)


def _states(view: View) -> Iterator[Sample]:
    for broker, current in view.derived.cluster.states.items():
        yield (str(broker), current), 1


def _quorum_lag(view: View) -> Iterator[Sample]:
    quorum = view.snapshot.quorum
    if quorum is None:
        return
    end = max((replica.log_end_offset for replica in quorum.replicas), default=0)
    for replica in quorum.replicas:
        if replica.log_end_offset >= 0:
            yield (str(replica.node), "voter" if replica.voter else "observer"), end - replica.log_end_offset


def _caught_up(view: View) -> Iterator[Sample]:
    for replica in view.snapshot.quorum.replicas if view.snapshot.quorum else ():
        if replica.last_caught_up_time is not None:
            yield (str(replica.node), "voter" if replica.voter else "observer"), replica.last_caught_up_time


def _cluster(view: View) -> Iterator[Sample]:
    if view.snapshot.cluster_id is not None:
        yield (view.snapshot.cluster_id, view.parameters.cluster_name or "", view.snapshot.kafka_version or ""), 1


def _directory(name: str, about: str, value: Callable[[LogDir], float], *, source: str) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        for directory in view.snapshot.log_dirs:
            amount = value(directory)
            yield (str(directory.broker), directory.path), math.nan if amount == UNKNOWN else amount

    return Metric(name, about, ("broker", "log_dir"), read, source=source)


def _logs(name: str, about: str, value: Callable[[LogCounts], int | None], *, source: str) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known(((str(broker),), value(counts)) for broker, counts in view.derived.log_counts.items())

    return Metric(name, about, BROKER, read, source=source)


Column = Callable[[Topics], np.ndarray]

WORST: Final = 1_000
"""Topics with a problem that are among the last to be left out: an annotation of an alert names a few of them."""


def _samples(view: View, values: np.ndarray, rows: np.ndarray) -> Counted:
    names = view.snapshot.topics
    samples = zip(rows.tolist(), values[rows].tolist(), strict=True)
    return Counted((((names[row],), value) for row, value in samples), len(rows))


def _largest_first(view: View, values: np.ndarray) -> np.ndarray:
    return worst_first(values, view.topics & ~np.isnan(values))


def _topic(name: str, about: str, column: Column, kind: Kind = Kind.GAUGE, *, source: str) -> Metric:
    def read(view: View) -> Counted:
        values = column(view.derived.topics)
        return _samples(view, values, _largest_first(view, values))

    return Metric(name, about, ("topic",), read, kind, source=source)


def _problem(name: str, about: str, column: Column, *, source: str) -> Metric:
    """Make a gauge whose worst topics, those above 0, come before all others."""

    def read(view: View, *, worst: bool) -> Counted:
        values = column(view.derived.topics)
        rows = _largest_first(view, values)
        place = min(np.count_nonzero(values[rows] > 0), WORST)
        return _samples(view, values, rows[:place] if worst else rows[place:])

    return Metric(name, about, ("topic",), partial(read, worst=True), rest=partial(read, worst=False), source=source)


TOPICS = (
    _problem(
        "topic_offline_partitions",
        "Partitions without a leader",
        lambda topics: topics.offline,
        source="Metadata",
    ),
    _problem(
        "topic_under_min_isr_partitions",
        "Partitions with a leader and an ISR below min.insync.replicas; absent while that is unknown",
        lambda topics: as_parts(topics.under_min_isr),
        source="Metadata, DescribeConfigs",
    ),
    _topic(
        "topic_non_preferred_leader_partitions",
        "Partitions not led by their first replica; absent while a leader is unknown",
        lambda topics: as_parts(topics.non_preferred_leader),
        source="Metadata",
    ),
    _topic(
        "topic_isr_shrinks_total",
        "Replicas that left the ISR from one poll to the next, without those that a move adds or removes",
        lambda topics: topics.isr_shrinks,
        Kind.COUNTER,
        source="Metadata, ListPartitionReassignments",
    ),
    _topic(
        "topic_isr_expands_total",
        "Replicas that joined the ISR from one poll to the next, without those that a move adds",
        lambda topics: topics.isr_expands,
        Kind.COUNTER,
        source="Metadata, ListPartitionReassignments",
    ),
    _topic(
        "topic_bytes",
        "Bytes of all logs, of adding replicas, too; absent while a size is unknown",
        lambda topics: topics.bytes,
        source="DescribeLogDirs",
    ),
    _topic(
        "topic_messages_in_per_second",
        "Offsets appended per second, transaction markers included; absent while a part is unknown",
        lambda topics: topics.messages_in,
        source="ListOffsets",
    ),
)


CLUSTER = (
    Metric(
        "broker_info",
        "A broker",
        ("broker", "host", "rack"),
        lambda view: (((str(each.id), each.host, each.rack or ""), 1) for each in view.snapshot.brokers.values()),
        Kind.INFO,
        source="Metadata",
    ),
    Metric(
        "broker_state",
        "1 for the present state",
        ("broker", "state"),
        _states,
        source="Metadata, DescribeCluster, bean KafkaServer",
    ),
    by_broker(
        "broker_replicas",
        "Hosted replicas, adding ones included",
        lambda derived: derived.cluster.replicas,
        source="Metadata",
    ),
    Metric(
        "broker_leaders",
        "Led partitions",
        BROKER,
        lambda view: view.leaders(view.derived.cluster.leaders),
        source="Metadata",
    ),
    Metric(
        "controller_info",
        "The active controller",
        ("node",),
        lambda view: [((str(node),), 1)] if (node := view.snapshot.controller) is not None else (),
        Kind.INFO,
        source="DescribeQuorum; in ZooKeeper mode Metadata",
    ),
    Metric(
        "quorum_lag_offsets",
        "Offsets by which a node lacks the end of the metadata log",
        ("node", "role"),
        _quorum_lag,
        source="DescribeQuorum",
    ),
    Metric(
        "quorum_last_caught_up_timestamp_seconds",
        "When a node last caught up with the metadata leader",
        ("node", "role"),
        _caught_up,
        source="DescribeQuorum",
    ),
    Metric(
        "broker_metadata_stale_seconds",
        "Seconds for which a broker's metadata has been old; 0 is current",
        BROKER,
        lambda view: (((str(broker),), age) for broker, age in view.snapshot.metadata_ages.items()),
        source="DescribeQuorum, Metadata",
    ),
    Metric(
        "cluster_info",
        "The cluster, with its name from the option cluster.name",
        ("cluster_id", "cluster_name", "kafka_version"),
        _cluster,
        Kind.INFO,
        source="Metadata, option cluster.name",
    ),
    by_broker(
        "broker_partitions",
        "Replicas that count against the limit: all except those of internal topics",
        lambda derived: derived.cluster.counted,
        source="Metadata",
    ),
    Metric(
        "broker_partition_limit",
        "Partition limit of a broker",
        BROKER,
        lambda view: view.brokers(np.full(len(view.derived.indexed.brokers), view.parameters.max_broker_partitions)),
        source="option limits.max_broker_partitions. KIP-578",
    ),
    Metric(
        "broker_partition_headroom",
        "Limit minus partitions, negative above the limit",
        BROKER,
        lambda view: view.brokers(
            headroom(view.parameters.max_broker_partitions, view.derived.cluster.counted.astype(np.float64))
        ),
        source="Metadata. KIP-578",
    ),
    Metric(
        "cluster_partitions",
        "Partitions except those of internal topics",
        (),
        lambda view: [((), view.derived.cluster.partitions)],
        source="Metadata. KIP-578",
    ),
    Metric(
        "cluster_replicas",
        "Replicas of all topics",
        (),
        lambda view: [((), len(view.snapshot.replicas))],
        source="Metadata",
    ),
    Metric(
        "cluster_partition_limit",
        "Partition limit of the cluster",
        (),
        lambda view: [((), view.parameters.max_partitions)],
        source="option limits.max_partitions. KIP-578",
    ),
    Metric(
        "cluster_partition_headroom",
        "Limit minus partitions, negative above the limit",
        (),
        lambda view: [((), headroom(view.parameters.max_partitions, view.derived.cluster.partitions))],
        source="Metadata. KIP-578",
    ),
    _logs(
        "broker_replicas_without_log",
        "Assigned replicas without a log, in two answers in a row; absent while a log directory is offline",
        lambda counts: counts.without_log,
        source="Metadata, DescribeLogDirs. KIP-578",
    ),
    _logs(
        "broker_stray_replicas",
        "Logs of replicas not assigned to the broker, in two answers in a row; absent above 50,000",
        lambda counts: counts.stray,
        source="DescribeLogDirs, Metadata. KIP-578",
    ),
    _directory(
        "log_dir_bytes",
        "Bytes of local logs; absent while the directory is offline",
        lambda directory: directory.bytes,
        source="DescribeLogDirs",
    ),
    _directory(
        "log_dir_usable_bytes",
        "Free bytes of the volume",
        lambda directory: directory.usable_bytes,
        source="DescribeLogDirs",
    ),
    _directory(
        "log_dir_total_bytes",
        "Size of the volume",
        lambda directory: directory.total_bytes,
        source="DescribeLogDirs",
    ),
    _directory(
        "log_dir_online",
        "1 while the directory is online",
        lambda directory: int(directory.online),
        source="DescribeLogDirs",
    ),
    _directory(
        "log_dir_cordoned",
        "1 while cordoned.log.dirs keeps new replicas out",
        lambda directory: int(directory.cordoned) if directory.online else UNKNOWN,
        source="DescribeLogDirs, Kafka 4.3. KIP-1066",
    ),
)
