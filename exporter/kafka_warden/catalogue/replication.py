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


def _sides(name: str, about: str, columns: Callable[[Throttles], Mapping[Side, np.ndarray]], *, source: str) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        for side in SIDES:
            for (broker,), value in view.brokers(columns(view.derived.throttles)[side]):
                yield (broker, side), value

    return Metric(name, about, BROKER_SIDE, read, source=source)


def _counter(name: str, bean: str, what: str) -> Metric:
    return broker_counter(f"broker_{name}", what, source=f"bean {bean}, Count")


REPLICATION = (
    broker_gauge(
        "leader_replication_throttled_bytes_per_second",
        "LeaderReplicationThrottledRate of KIP-73: bytes per second sent to listed replicas, in-sync ones "
        "included; above 0 without a throttle, too",
        "leader_replication_byte_rate",
        source="bean LeaderReplication, byte-rate",
    ),
    broker_gauge(
        "follower_replication_throttled_bytes_per_second",
        "FollowerReplicationThrottledRate of KIP-73: bytes per second received for listed replicas",
        "follower_replication_byte_rate",
        source="bean FollowerReplication, byte-rate",
    ),
    Metric(
        "broker_catch_up_bytes_per_second",
        "Bytes per second that adding replicas copy, by target (side follower) and by leader",
        BROKER_SIDE,
        lambda view: keyed(view.derived.totals.catch_up.items()),
        source="DescribeLogDirs. KIP-73",
    ),
    Metric(
        "replication_throttle_bytes_per_second",
        "Effective limit: of the broker, else cluster default, else +Inf",
        BROKER_SIDE,
        lambda view: keyed((key, limit.value) for key, limit in view.derived.throttles.limits.items()),
        source="DescribeConfigs. KIP-73, KIP-113",
    ),
    Metric(
        "replication_throttle_origin_info",
        "Where the effective limit comes from",
        ("broker", "side", "origin"),
        lambda view: keyed(((*key, limit.origin), 1) for key, limit in view.derived.throttles.limits.items()),
        Kind.INFO,
        source="DescribeConfigs",
    ),
    _sides(
        "replication_throttled_replicas",
        "Replicas of this broker in throttled lists",
        lambda throttles: throttles.throttled,
        source="DescribeConfigs. KIP-73",
    ),
    _sides(
        "replication_throttle_floor_bytes_per_second",
        "In-sync traffic that counts against the limit, never throttled",
        lambda throttles: throttles.floor,
        source="ListOffsets, DescribeLogDirs, DescribeConfigs. KIP-73, amendment",
    ),
    _sides(
        "replication_throttle_headroom_bytes_per_second",
        "Limit minus floor: the rate left to catch up",
        lambda throttles: throttles.headroom,
        source="DescribeConfigs, ListOffsets",
    ),
    by_broker(
        "replication_throttle_lower_bound_bytes_per_second",
        "Lowest throttle that KIP-73 advises: bytes in of all hosted replicas",
        lambda derived: derived.throttles.lower_bound,
        source="ListOffsets",
    ),
    Metric(
        "replication_throttle_upper_bound_bytes_per_second",
        "Highest throttle that KIP-73 advises; absent without the option network.bytes_per_second",
        BROKER,
        lambda view: () if (bound := view.derived.throttles.upper_bound) is None else view.brokers(bound),
        source="ListOffsets",
    ),
    Metric(
        "replication_throttle_recommended_bytes_per_second",
        "Lowest throttle for all brokers, inside the bounds, with which moves end within moves.deadline; "
        "absent without moves, or if none is enough",
        (),
        lambda view: known([((), view.derived.throttling.recommended)]),
        source="DescribeLogDirs, ListOffsets, DescribeConfigs",
    ),
    Metric(
        "replication_throttle_problem_seconds",
        "Seconds for which a throttle has had a problem, shown from the third poll on",
        ("broker", "side", "problem"),
        lambda view: keyed(view.derived.throttling.problems.items()),
        source="DescribeConfigs, ListPartitionReassignments, ListOffsets, beans LeaderReplication, FollowerReplication",
    ),
    by_broker(
        "broker_sum_replica_lag_messages",
        "SumReplicaLag of KIP-73, over hosted followers; absent while a part is unknown",
        lambda derived: derived.lag.sum_messages.values,
        source="ListOffsets",
    ),
    by_broker(
        "broker_sum_replica_lag_bytes",
        "SumReplicaLag of KIP-73 in bytes; absent while a part is unknown",
        lambda derived: derived.lag.sum_bytes.values,
        source="ListOffsets, DescribeLogDirs",
    ),
    Metric(
        "broker_led_replica_lag_bytes",
        "Lag in bytes of followers of led partitions; absent while a part is unknown",
        BROKER,
        lambda view: view.leaders(view.derived.lag.led_bytes.values),
        source="ListOffsets, DescribeLogDirs. KIP-73",
    ),
    Metric(
        "broker_replica_lag_unknown_replicas",
        "Follower replicas with unknown lag, the reason for an absent sum",
        BROKER,
        lambda view: view.brokers(
            np.maximum(view.derived.lag.sum_messages.unknown, view.derived.lag.sum_bytes.unknown)
        ),
        source="ListOffsets",
    ),
    _counter("bytes_in_total", "BytesInPerSec", "Bytes produced to the broker"),
    _counter("bytes_out_total", "BytesOutPerSec", "Bytes consumed from the broker"),
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
QUANTILES: Final = {f"event_queue_time_p{each}": str(float(f"0.{each}")) for each in (50, 75, 95, 98, 99, 999)}


def _each(name: str, about: str, value: Callable[[ClientMutations], float | None], *, source: str) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known(((client.user, client.client_id), value(client)) for client in view.derived.mutations)

    return Metric(name, about, CLIENT, read, source=source)


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
        "K of KIP-599: tokens left, below 0 while requests are refused, +Inf without a quota",
        lambda client: client.tokens,
        source="bean ControllerMutation of the active controller, tokens",
    ),
    _each(
        "controller_mutations_per_second",
        "Partitions created, deleted or added per second",
        lambda client: client.rate,
        source="bean ControllerMutation, mutation-rate. KIP-599",
    ),
    _each(
        "controller_mutation_throttle_seconds",
        "Mean throttle time; unknown in KRaft",
        lambda client: client.throttle,
        source="bean ControllerMutation, throttle-time. KIP-599",
    ),
    _each(
        "controller_mutation_quota_per_second",
        "R of KIP-599: the quota that applies, +Inf without one",
        lambda client: client.quota,
        source="DescribeClientQuotas",
    ),
    _each(
        "controller_mutation_burst_tokens",
        "B of KIP-599: quota x controller.quota.window.num x controller.quota.window.size.seconds",
        lambda client: client.burst,
        source="DescribeConfigs",
    ),
    _each(
        "controller_mutation_admission_delay_seconds",
        "Seconds until the client's next mutation is admitted: -K / R, 0 while tokens are left",
        lambda client: client.delay,
        source="bean ControllerMutation, tokens; DescribeClientQuotas. KIP-599",
    ),
    Metric(
        "controller_mutation_quota_config_per_second",
        "Configured controller_mutation_rate; <default> is the default entity",
        CLIENT,
        _configured,
        source="DescribeClientQuotas. KIP-599",
    ),
    Metric(
        "client_request_throttle_seconds",
        "Mean throttle time of clients on the broker, request quotas included",
        ("broker", "user", "client_id"),
        _request_throttle,
        source="bean Request, throttle-time",
    ),
    Metric(
        "controller_event_queue_seconds",
        "Wait of events in the active controller's queue",
        ("quantile",),
        _queue,
        Kind.SUMMARY,
        source="bean EventQueueTimeMs",
    ),
)
