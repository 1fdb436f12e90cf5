"""Replication throttles, KIP-73."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from kafka_warden.catalogue.metric import (
    PREFIX,
    Kind,
    Metric,
    Rank,
    Sample,
    View,
    broker_counter,
    broker_gauge,
    by_broker,
    keyed,
    known,
)
from kafka_warden.derive.mutation import QUOTA_KEY, ClientMutations, active_controller
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


CLIENT = ("user", "client_id")
DEFAULT: Final = "<default>"
QUANTILES: Final = {
    "event_queue_time_p50": "0.5",
    "event_queue_time_p75": "0.75",
    "event_queue_time_p95": "0.95",
    "event_queue_time_p98": "0.98",
    "event_queue_time_p99": "0.99",
    "event_queue_time_p999": "0.999",
}


def _each(name: str, about: str, value: Callable[[ClientMutations], float | None]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known(((client.user, client.client_id), value(client)) for client in view.derived.mutations)

    return Metric(name, about, CLIENT, read)


def _configured(view: View) -> Iterator[Sample]:
    for entity in view.snapshot.quotas or ():
        if QUOTA_KEY in entity.values:
            names = (entity.user, entity.client_id)
            labels = tuple("" if name is None else name or DEFAULT for name in names)
            yield labels, entity.values[QUOTA_KEY]


def _request_throttle(view: View) -> Iterator[Sample]:
    for broker, beans in view.snapshot.broker_beans.items():
        for client in beans.requests:
            if "throttle_time" in client.values:
                yield (str(broker), client.user or "", client.client_id or ""), client.values["throttle_time"]


def _queue(view: View) -> Iterator[Sample]:
    beans = active_controller(view.snapshot)
    for short, quantile in QUANTILES.items():
        if beans is not None and short in beans.values:
            yield (quantile,), beans.values[short]


def clients_left_out(view: View) -> dict[tuple[str, Rank], int]:
    """Return family, rank, and number of the clients whose beans were not read, because a process has too many."""
    controller = active_controller(view.snapshot)
    counts = {
        f"{PREFIX}controller_mutation_tokens": controller.left_out if controller is not None else 0,
        f"{PREFIX}client_request_throttle_seconds": sum(each.left_out for each in view.snapshot.broker_beans.values()),
    }
    return {(family, Rank.CLIENTS): count for family, count in counts.items() if count}


MUTATIONS = (
    _each(
        "controller_mutation_tokens",
        "K of KIP-599: tokens left, below 0 while requests of the client are refused, +Inf without a quota "
        "(bean ControllerMutation of the active controller, tokens)",
        lambda client: client.tokens,
    ),
    _each(
        "controller_mutations_per_second",
        "Partitions created, deleted or added per second (bean ControllerMutation, mutation-rate). KIP-599",
        lambda client: client.rate,
    ),
    _each(
        "controller_mutation_throttle_seconds",
        "Mean throttle time (bean ControllerMutation, throttle-time); unknown in KRaft. KIP-599",
        lambda client: client.throttle,
    ),
    _each(
        "controller_mutation_quota_per_second",
        "R of KIP-599: the quota that applies to the client (DescribeClientQuotas), +Inf without one",
        lambda client: client.quota,
    ),
    _each(
        "controller_mutation_burst_tokens",
        "B of KIP-599: quota x controller.quota.window.num x controller.quota.window.size.seconds (DescribeConfigs)",
        lambda client: client.burst,
    ),
    _each(
        "controller_mutation_admission_delay_seconds",
        "Seconds until the client's next mutation is admitted: -K / R, 0 while tokens are left "
        "(bean ControllerMutation, tokens; DescribeClientQuotas). KIP-599",
        lambda client: client.delay,
    ),
    Metric(
        "controller_mutation_quota_config_per_second",
        "Configured controller_mutation_rate (DescribeClientQuotas); <default> is the default entity. KIP-599",
        CLIENT,
        _configured,
    ),
    Metric(
        "client_request_throttle_seconds",
        "Mean throttle time of clients on the broker, request quotas included (bean Request, throttle-time)",
        ("broker", "user", "client_id"),
        _request_throttle,
    ),
    Metric(
        "controller_event_queue_seconds",
        "Time that events wait in the active controller's queue (bean EventQueueTimeMs)",
        ("quantile",),
        _queue,
        Kind.SUMMARY,
    ),
)
