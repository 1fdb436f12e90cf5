"""The complete list of what is read over JMX: short name, bean, attribute, unit, in groups.

It has no per-partition beans, so it has the same length on every broker. docs/metrics.md says when each bean exists and
what it counts. A bean that is absent is looked for again every 2 s at most, with a cheap call.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from kafka_warden.clients.jmx.protocol import Kind

MILLISECONDS: Final = 1e-3
"""Factor to seconds."""


@dataclass(frozen=True, slots=True)
class Bean:
    """One number: the key in `ProcessBeans.values`, its bean and attribute, and the factor to base units."""

    name: str
    object_name: str
    attribute: str
    where: Kind = "broker"
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class ClientBeans:
    """The beans of all clients of one quota type. `attributes`: bean's attribute to (short name, factor)."""

    name: str
    pattern: str
    attributes: dict[str, tuple[str, float]]
    where: Kind


class When(Enum):
    """When a process has beans of a group."""

    ALWAYS = auto()
    FOLLOWED = auto()
    """Once a follower fetches from the broker: it is in sync only if it does."""
    SOMETIMES = auto()
    """In some versions, or while there is something to measure."""


@dataclass(frozen=True, slots=True)
class Group:
    """Beans that rules of an agent, or `metric.reporters`, give or leave out together.

    `when` is that of one of them at least. `own`: Kafka's own metrics, which JmxReporter makes
    beans; the others are Yammer's, which are beans in any case.
    """

    name: str
    beans: tuple[Bean, ...]
    when: When = When.ALWAYS
    own: bool = False

    @property
    def where(self) -> Kind:
        """The kind of process that has them."""
        return self.beans[0].where


def _counts(prefix: str, names: dict[str, str]) -> tuple[Bean, ...]:
    return tuple(Bean(name, f"{prefix},name={metric}", "Count") for name, metric in names.items())


def _values(prefix: str, names: dict[str, str], where: Kind = "broker", suffix: str = "") -> tuple[Bean, ...]:
    return tuple(Bean(name, f"{prefix},name={metric}{suffix}", "Value", where) for name, metric in names.items())


_THROTTLED_RATES = (
    Bean("leader_replication_byte_rate", "kafka.server:type=LeaderReplication", "byte-rate"),
    Bean("follower_replication_byte_rate", "kafka.server:type=FollowerReplication", "byte-rate"),
)

_BYTES = _counts(
    "kafka.server:type=BrokerTopicMetrics",
    {
        "bytes_in_total": "BytesInPerSec",
        "bytes_out_total": "BytesOutPerSec",
    },
)

_REPLICATION_BYTES = _counts(
    "kafka.server:type=BrokerTopicMetrics",
    {
        "replication_bytes_in_total": "ReplicationBytesInPerSec",
        "replication_bytes_out_total": "ReplicationBytesOutPerSec",
        "reassignment_bytes_in_total": "ReassignmentBytesInPerSec",
        "reassignment_bytes_out_total": "ReassignmentBytesOutPerSec",
    },
)

_TIERED = (
    Bean("remote_copy_byte_rate", "kafka.server:type=RLMCopy", "byte-rate"),
    Bean("remote_fetch_byte_rate", "kafka.server:type=RLMFetch", "byte-rate"),
    *(
        Bean(
            f"remote_{what}_throttle_time_{kind}",
            "kafka.server:type=RemoteLogManager",
            f"remote-{what}-throttle-time-{kind}",
            factor=MILLISECONDS,
        )
        for what in ("copy", "fetch")
        for kind in ("avg", "max")
    ),
    *_counts(
        "kafka.server:type=BrokerTopicMetrics",
        {
            "remote_copy_bytes_total": "RemoteCopyBytesPerSec",
            "remote_fetch_bytes_total": "RemoteFetchBytesPerSec",
            "remote_copy_errors_total": "RemoteCopyErrorsPerSec",
            "remote_fetch_errors_total": "RemoteFetchErrorsPerSec",
            "remote_delete_errors_total": "RemoteDeleteErrorsPerSec",
            "build_remote_log_aux_state_errors_total": "BuildRemoteLogAuxStateErrorsPerSec",
        },
    ),
    *_values(
        "kafka.server:type=BrokerTopicMetrics",
        {
            "remote_copy_lag_bytes": "RemoteCopyLagBytes",
            "remote_copy_lag_segments": "RemoteCopyLagSegments",
            "remote_delete_lag_bytes": "RemoteDeleteLagBytes",
            "remote_delete_lag_segments": "RemoteDeleteLagSegments",
        },
    ),
)

_ISR = (
    *_counts(
        "kafka.server:type=ReplicaManager",
        {
            "isr_shrinks_total": "IsrShrinksPerSec",
            "isr_expands_total": "IsrExpandsPerSec",
        },
    ),
    *_values(
        "kafka.server:type=ReplicaManager",
        {
            "under_min_isr_partition_count": "UnderMinIsrPartitionCount",
        },
    ),
)

_FETCHERS = _values(
    "kafka.server:type=ReplicaFetcherManager",
    {
        "fetcher_failed_partitions_count": "FailedPartitionsCount",
        "fetcher_dead_thread_count": "DeadThreadCount",
    },
    suffix=",clientId=Replica",
)

_BROKER_STATE = _values("kafka.server:type=KafkaServer", {"broker_state": "BrokerState"})

_CONTROLLER = _values(
    "kafka.controller:type=KafkaController",
    {
        "active_controller_count": "ActiveControllerCount",
        "active_broker_count": "ActiveBrokerCount",
        "fenced_broker_count": "FencedBrokerCount",
        "offline_partitions_count": "OfflinePartitionsCount",
    },
    where="controller",
)

_UNCLEAN_ELECTIONS = (
    Bean(
        "unclean_leader_elections_total",
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
        "Count",
        "controller",
    ),
)

_EVENT_QUEUE = tuple(
    Bean(
        f"event_queue_time_p{percentile}",
        "kafka.controller:type=ControllerEventManager,name=EventQueueTimeMs",
        f"{percentile}thPercentile",
        "controller",
        MILLISECONDS,
    )
    for percentile in (50, 75, 95, 98, 99, 999)
)

_START_TIME = tuple(
    Bean("process_start_time", "java.lang:type=Runtime", "StartTime", where, MILLISECONDS)
    for where in ("broker", "controller")
)
"""Unix seconds. It changes with every restart, which resets counts to 0."""

GROUPS: Final = (
    Group("replication throttles", _THROTTLED_RATES, When.FOLLOWED, own=True),
    Group("bytes in and out", _BYTES),
    Group("bytes of replication", _REPLICATION_BYTES),
    Group("tiered storage", _TIERED, When.SOMETIMES),
    Group("ISR changes", _ISR),
    Group("replica fetchers", _FETCHERS),
    Group("broker state", _BROKER_STATE),
    Group("controller state", _CONTROLLER),
    Group("unclean leader elections", _UNCLEAN_ELECTIONS, When.SOMETIMES),
    Group("controller event queue", _EVENT_QUEUE),
)

BEANS: Final[tuple[Bean, ...]] = (*(bean for group in GROUPS for bean in group.beans), *_START_TIME)

MUTATIONS: Final = ClientBeans(
    "controller mutations",
    "kafka.server:type=ControllerMutation,*",
    {
        "tokens": ("tokens", 1.0),
        "mutation-rate": ("mutation_rate", 1.0),
        "throttle-time": ("throttle_time", MILLISECONDS),
    },
    where="controller",
)
"""KIP-599, on the active controller; the bean without a client, which has `queue-size` only, gives nothing."""

REQUESTS: Final = ClientBeans(
    "throttled requests",
    "kafka.server:type=Request,*",
    {"throttle-time": ("throttle_time", MILLISECONDS)},
    where="broker",
)
"""Throttle time of clients on the broker that they are connected to: request quotas, and in KRaft mutation quotas."""

CLIENTS: Final = (MUTATIONS, REQUESTS)
