"""The complete list of what is read over JMX: short name, bean, attribute, unit, in groups.

It has no per-partition beans, so it has the same length on every broker. docs/metrics.md says when each bean exists and
what it counts. A bean that is absent is looked for again in each poll, with a cheap call.
"""

import re
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


def _yammer(prefix: str, *metrics: str, where: Kind = "broker", of: str = "", suffix: str = "") -> tuple[Bean, ...]:
    """Yammer's metrics, named in snake case after `of`. Those that end with PerSec count, the others have a value."""
    found = []
    for metric in metrics:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", metric.removesuffix("PerSec")).lower()
        name, attribute = (f"{words}_total", "Count") if metric.endswith("PerSec") else (words, "Value")
        found.append(Bean(of + name, f"{prefix},name={metric}{suffix}", attribute, where))
    return tuple(found)


_THROTTLED_RATES = (
    Bean("leader_replication_byte_rate", "kafka.server:type=LeaderReplication", "byte-rate"),
    Bean("follower_replication_byte_rate", "kafka.server:type=FollowerReplication", "byte-rate"),
)

_BYTES = _yammer("kafka.server:type=BrokerTopicMetrics", "BytesInPerSec", "BytesOutPerSec")

_REPLICATION_BYTES = _yammer(
    "kafka.server:type=BrokerTopicMetrics",
    "ReplicationBytesInPerSec",
    "ReplicationBytesOutPerSec",
    "ReassignmentBytesInPerSec",
    "ReassignmentBytesOutPerSec",
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
    *_yammer(
        "kafka.server:type=BrokerTopicMetrics",
        "RemoteCopyBytesPerSec",
        "RemoteFetchBytesPerSec",
        "RemoteCopyErrorsPerSec",
        "RemoteFetchErrorsPerSec",
        "RemoteDeleteErrorsPerSec",
        "BuildRemoteLogAuxStateErrorsPerSec",
        "RemoteCopyLagBytes",
        "RemoteCopyLagSegments",
        "RemoteDeleteLagBytes",
        "RemoteDeleteLagSegments",
    ),
)

_ISR = _yammer("kafka.server:type=ReplicaManager", "IsrShrinksPerSec", "IsrExpandsPerSec", "UnderMinIsrPartitionCount")

_FETCHERS = _yammer(
    "kafka.server:type=ReplicaFetcherManager",
    "FailedPartitionsCount",
    "DeadThreadCount",
    of="fetcher_",
    suffix=",clientId=Replica",
)

_BROKER_STATE = _yammer("kafka.server:type=KafkaServer", "BrokerState")

_CONTROLLER = _yammer(
    "kafka.controller:type=KafkaController",
    "ActiveControllerCount",
    "ActiveBrokerCount",
    "FencedBrokerCount",
    "OfflinePartitionsCount",
    where="controller",
)

_UNCLEAN_ELECTIONS = _yammer(
    "kafka.controller:type=ControllerStats", "UncleanLeaderElectionsPerSec", where="controller"
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
