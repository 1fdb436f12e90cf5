"""Brokers, the metadata quorum, room for partitions (KIP-578), log directories."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np

from kafka_warden.catalogue.metric import Counted, Kind, Metric, Sample, View, by_broker, known, worst_first
from kafka_warden.derive.lag import as_parts
from kafka_warden.derive.limits import LogCounts, headroom
from kafka_warden.derive.topics import Topics
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
        yield (view.snapshot.cluster_id, view.snapshot.kafka_version or ""), 1


def _directory(name: str, about: str, value: Callable[[LogDir], float]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        for directory in view.snapshot.log_dirs:
            amount = value(directory)
            yield (str(directory.broker), directory.path), math.nan if amount == UNKNOWN else amount

    return Metric(name, about, ("broker", "log_dir"), read)


def _logs(name: str, about: str, value: Callable[[LogCounts], int | None]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known(((str(broker),), value(counts)) for broker, counts in view.derived.log_counts.items())

    return Metric(name, about, BROKER, read)


Column = Callable[[Topics], np.ndarray]

WORST: Final = 1_000
"""Topics with a problem that are among the last to be left out: an annotation of an alert names a few of them."""


def _samples(view: View, values: np.ndarray, rows: np.ndarray) -> Counted:
    names = view.snapshot.topics
    samples = zip(rows.tolist(), values[rows].tolist(), strict=True)
    return Counted((((names[row],), value) for row, value in samples), len(rows))


def _largest_first(view: View, values: np.ndarray) -> np.ndarray:
    return worst_first(values, view.topics & ~np.isnan(values))


def _topic(name: str, about: str, column: Column, kind: Kind = Kind.GAUGE) -> Metric:
    def read(view: View) -> Counted:
        values = column(view.derived.topics)
        return _samples(view, values, _largest_first(view, values))

    return Metric(name, about, ("topic",), read, kind)


def _problem(name: str, about: str, column: Column) -> Metric:
    """Make a gauge whose worst topics, those above 0, come before all others."""

    def read(view: View, *, worst: bool) -> Counted:
        values = column(view.derived.topics)
        rows = _largest_first(view, values)
        place = min(np.count_nonzero(values[rows] > 0), WORST)
        return _samples(view, values, rows[:place] if worst else rows[place:])

    return Metric(name, about, ("topic",), partial(read, worst=True), rest=partial(read, worst=False))


TOPICS = (
    _problem(
        "topic_offline_partitions", "Partitions of the topic without a leader (Metadata)", lambda topics: topics.offline
    ),
    _problem(
        "topic_under_min_isr_partitions",
        "Partitions of the topic with a leader and fewer in-sync replicas than min.insync.replicas; absent while that "
        "is unknown (Metadata, DescribeConfigs)",
        lambda topics: as_parts(topics.under_min_isr),
    ),
    _topic(
        "topic_non_preferred_leader_partitions",
        "Partitions of the topic that are led by another replica than the first one; absent while a leader is not "
        "known (Metadata)",
        lambda topics: as_parts(topics.non_preferred_leader),
    ),
    _topic(
        "topic_isr_shrinks_total",
        "Replicas of the topic that were in the ISR in one poll and not in the next, since the sidecar first saw the "
        "topic; replicas that a reassignment adds or removes do not count (Metadata, ListPartitionReassignments)",
        lambda topics: topics.isr_shrinks,
        Kind.COUNTER,
    ),
    _topic(
        "topic_isr_expands_total",
        "Replicas of the topic that were out of the ISR in one poll and in it in the next, since the sidecar first saw "
        "the topic; replicas that a reassignment adds do not count (Metadata, ListPartitionReassignments)",
        lambda topics: topics.isr_expands,
        Kind.COUNTER,
    ),
    _topic(
        "topic_bytes",
        "Bytes of the topic's logs on all brokers, replicas that are being added included; absent while a size is "
        "unknown (DescribeLogDirs)",
        lambda topics: topics.bytes,
    ),
    _topic(
        "topic_messages_in_per_second",
        "Offsets per second appended to the topic, transaction markers included; absent while a partition's rate is "
        "unknown, such as in the first poll of a new leader (ListOffsets)",
        lambda topics: topics.messages_in,
    ),
)


CLUSTER = (
    Metric(
        "broker_info",
        "A broker (Metadata)",
        ("broker", "host", "rack"),
        lambda view: (((str(each.id), each.host, each.rack or ""), 1) for each in view.snapshot.brokers.values()),
        Kind.INFO,
    ),
    Metric(
        "broker_state",
        "1 for the state of the broker; other states are absent (Metadata, DescribeCluster, bean KafkaServer)",
        ("broker", "state"),
        _states,
    ),
    by_broker(
        "broker_replicas",
        "Replicas that the broker hosts, adding ones included (Metadata)",
        lambda derived: derived.cluster.replicas,
    ),
    Metric(
        "broker_leaders",
        "Partitions that the broker leads (Metadata)",
        BROKER,
        lambda view: view.leaders(view.derived.cluster.leaders),
    ),
    Metric(
        "controller_info",
        "The active controller (DescribeQuorum; in ZooKeeper mode Metadata)",
        ("node",),
        lambda view: [((str(node),), 1)] if (node := view.snapshot.controller) is not None else (),
        Kind.INFO,
    ),
    Metric(
        "quorum_lag_offsets",
        "Offsets by which a node is behind the end of the metadata log (DescribeQuorum)",
        ("node", "role"),
        _quorum_lag,
    ),
    Metric(
        "quorum_last_caught_up_timestamp_seconds",
        "When a node last caught up with the metadata leader (DescribeQuorum)",
        ("node", "role"),
        _caught_up,
    ),
    Metric(
        "broker_metadata_stale_seconds",
        "Seconds for which the metadata of a broker has been old, 0 for current metadata (DescribeQuorum, Metadata)",
        BROKER,
        lambda view: (((str(broker),), age) for broker, age in view.snapshot.metadata_ages.items()),
    ),
    Metric("cluster_info", "The cluster (Metadata)", ("cluster_id", "kafka_version"), _cluster, Kind.INFO),
    by_broker(
        "broker_partitions",
        "Replicas that count against the limit of KIP-578: all except those of internal topics (Metadata)",
        lambda derived: derived.cluster.counted,
    ),
    Metric(
        "broker_partition_limit",
        "Partition limit of a broker (option limits.max_broker_partitions). KIP-578",
        BROKER,
        lambda view: view.brokers(np.full(len(view.derived.indexed.brokers), view.parameters.max_broker_partitions)),
    ),
    Metric(
        "broker_partition_headroom",
        "Limit minus partitions, negative above the limit (Metadata). KIP-578",
        BROKER,
        lambda view: view.brokers(
            headroom(view.parameters.max_broker_partitions, view.derived.cluster.counted.astype(np.float64))
        ),
    ),
    Metric(
        "cluster_partitions",
        "Partitions, each counted once, except those of internal topics (Metadata). KIP-578",
        (),
        lambda view: [((), view.derived.cluster.partitions)],
    ),
    Metric(
        "cluster_replicas", "Replicas of all topics (Metadata)", (), lambda view: [((), len(view.snapshot.replicas))]
    ),
    Metric(
        "cluster_partition_limit",
        "Partition limit of the cluster (option limits.max_partitions). KIP-578",
        (),
        lambda view: [((), view.parameters.max_partitions)],
    ),
    Metric(
        "cluster_partition_headroom",
        "Limit minus partitions, negative above the limit (Metadata). KIP-578",
        (),
        lambda view: [((), headroom(view.parameters.max_partitions, view.derived.cluster.partitions))],
    ),
    _logs(
        "broker_replicas_without_log",
        "Replicas assigned to the broker (Metadata) without a log in its log directories (DescribeLogDirs), in two "
        "answers in a row; absent while a log directory is offline. KIP-578",
        lambda counts: counts.without_log,
    ),
    _logs(
        "broker_stray_replicas",
        "Logs in the broker's log directories (DescribeLogDirs) of replicas that are not assigned to it (Metadata), in "
        "two answers in a row; those of topics that it may not describe count too; absent above 50,000. KIP-578",
        lambda counts: counts.stray,
    ),
    _directory(
        "log_dir_bytes", "Bytes of local logs in the directory (DescribeLogDirs)", lambda directory: directory.bytes
    ),
    _directory(
        "log_dir_usable_bytes",
        "Free bytes on the volume of the directory (DescribeLogDirs)",
        lambda directory: directory.usable_bytes,
    ),
    _directory(
        "log_dir_total_bytes",
        "Size of the volume of the directory (DescribeLogDirs)",
        lambda directory: directory.total_bytes,
    ),
    _directory(
        "log_dir_online", "1 while the directory is online (DescribeLogDirs)", lambda directory: int(directory.online)
    ),
    _directory(
        "log_dir_cordoned",
        "1 while cordoned.log.dirs keeps new replicas out of the directory (DescribeLogDirs, Kafka 4.3). KIP-1066",
        lambda directory: int(directory.cordoned) if directory.online else UNKNOWN,
    ),
)
