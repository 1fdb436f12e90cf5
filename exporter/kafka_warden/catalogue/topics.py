"""Values by topic."""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from kafka_warden.catalogue.metric import Counted, Kind, Metric, View, worst_first
from kafka_warden.derive.lag import as_parts
from kafka_warden.derive.topics import Topics

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
