"""Replication throttles, KIP-73."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from kafka_warden.catalogue.metric import (
    Kind,
    Metric,
    Sample,
    View,
    broker_counter,
    broker_gauge,
    by_broker,
    keyed,
    known,
)
from kafka_warden.derive.throttle import Throttles
from kafka_warden.model import SIDES, Side

BROKER = ("broker",)
BROKER_SIDE = ("broker", "side")


def _sides(name: str, about: str, columns: Callable[[Throttles], Mapping[Side, np.ndarray]]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        for side in SIDES:
            for (broker,), value in view.brokers(columns(view.derived.throttles)[side]):
                yield (broker, side), value

    return Metric(name, about, BROKER_SIDE, read)


def _counter(name: str, bean: str, what: str) -> Metric:
    return broker_counter(f"broker_{name}", f"{what} (bean {bean}, Count)")


REPLICATION = (
    broker_gauge(
        "leader_replication_throttled_bytes_per_second",
        "LeaderReplicationThrottledRate of KIP-73: bytes per second sent to replicas of the throttled lists, in-sync "
        "replicas included (bean LeaderReplication, byte-rate). It is above 0 without any throttle, too",
        "leader_replication_byte_rate",
    ),
    broker_gauge(
        "follower_replication_throttled_bytes_per_second",
        "FollowerReplicationThrottledRate of KIP-73: bytes per second received for replicas of the throttled lists "
        "(bean FollowerReplication, byte-rate)",
        "follower_replication_byte_rate",
    ),
    Metric(
        "broker_catch_up_bytes_per_second",
        "Bytes per second that adding replicas copy, by target (side follower) and by leader (DescribeLogDirs). KIP-73",
        BROKER_SIDE,
        lambda view: keyed(view.derived.totals.catch_up.items()),
    ),
    Metric(
        "replication_throttle_bytes_per_second",
        "Effective limit: config of the broker, else cluster default, else +Inf (DescribeConfigs). KIP-73, KIP-113",
        BROKER_SIDE,
        lambda view: keyed((key, limit.value) for key, limit in view.derived.throttles.limits.items()),
    ),
    Metric(
        "replication_throttle_origin_info",
        "Where the effective limit comes from (DescribeConfigs)",
        ("broker", "side", "origin"),
        lambda view: keyed(((*key, limit.origin), 1) for key, limit in view.derived.throttles.limits.items()),
        Kind.INFO,
    ),
    _sides(
        "replication_throttled_replicas",
        "Replicas of this broker in the throttled lists of topics (DescribeConfigs). KIP-73",
        lambda throttles: throttles.throttled,
    ),
    _sides(
        "replication_throttle_floor_bytes_per_second",
        "In-sync traffic that counts against the limit but is never throttled (ListOffsets, DescribeLogDirs, "
        "DescribeConfigs). KIP-73, amendment",
        lambda throttles: throttles.floor,
    ),
    _sides(
        "replication_throttle_headroom_bytes_per_second",
        "Limit minus floor: the rate left to catch up (DescribeConfigs, ListOffsets). docs/spec/throttles.md#headroom",
        lambda throttles: throttles.headroom,
    ),
    by_broker(
        "replication_throttle_lower_bound_bytes_per_second",
        "Lowest throttle that KIP-73 advises: bytes in of all replicas that the broker hosts (ListOffsets)",
        lambda derived: derived.throttles.lower_bound,
    ),
    Metric(
        "replication_throttle_upper_bound_bytes_per_second",
        "Highest throttle that KIP-73 advises; absent without the option network.bytes_per_second (ListOffsets)",
        BROKER,
        lambda view: () if (bound := view.derived.throttles.upper_bound) is None else view.brokers(bound),
    ),
    Metric(
        "replication_throttle_recommended_bytes_per_second",
        "Lowest throttle for all brokers with which the moves end within the option moves.deadline, inside the bounds "
        "of KIP-73; absent without moves, or if no throttle is enough (DescribeLogDirs, ListOffsets, DescribeConfigs). "
        "docs/spec/throttles.md#recommended-throttle",
        (),
        lambda view: known([((), view.derived.throttling.recommended)]),
    ),
    Metric(
        "replication_throttle_problem_seconds",
        "Seconds for which a throttle has had a problem, shown from the third poll on (DescribeConfigs, "
        "ListPartitionReassignments, ListOffsets, beans LeaderReplication and FollowerReplication). "
        "docs/spec/throttles.md#problems",
        ("broker", "side", "problem"),
        lambda view: keyed(view.derived.throttling.problems.items()),
    ),
    by_broker(
        "broker_sum_replica_lag_messages",
        "SumReplicaLag of KIP-73 over the follower replicas that the broker hosts (ListOffsets); "
        "absent while a part is unknown",
        lambda derived: derived.lag.sum_messages.values,
    ),
    by_broker(
        "broker_sum_replica_lag_bytes",
        "SumReplicaLag of KIP-73 in bytes (ListOffsets, DescribeLogDirs); absent while a part is unknown",
        lambda derived: derived.lag.sum_bytes.values,
    ),
    Metric(
        "broker_led_replica_lag_bytes",
        "Lag in bytes of the followers of partitions that the broker leads (ListOffsets, DescribeLogDirs); absent "
        "while a part is unknown. KIP-73",
        BROKER,
        lambda view: view.leaders(view.derived.lag.led_bytes.values),
    ),
    Metric(
        "broker_replica_lag_unknown_replicas",
        "Follower replicas with unknown lag, the reason for an absent sum (ListOffsets)",
        BROKER,
        lambda view: view.brokers(
            np.maximum(view.derived.lag.sum_messages.unknown, view.derived.lag.sum_bytes.unknown)
        ),
    ),
    _counter("bytes_in_total", "BytesInPerSec", "Bytes that clients produced to the broker"),
    _counter("bytes_out_total", "BytesOutPerSec", "Bytes that consumers fetched from the broker"),
    _counter("replication_bytes_in_total", "ReplicationBytesInPerSec", "Bytes that the broker replicated from leaders"),
    _counter(
        "replication_bytes_out_total", "ReplicationBytesOutPerSec", "Bytes that followers replicated from the broker"
    ),
    _counter(
        "reassignment_bytes_in_total", "ReassignmentBytesInPerSec", "Bytes that the broker's adding replicas replicated"
    ),
    _counter(
        "reassignment_bytes_out_total",
        "ReassignmentBytesOutPerSec",
        "Bytes that adding replicas replicated from the broker",
    ),
)
