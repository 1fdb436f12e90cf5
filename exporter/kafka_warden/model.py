"""The snapshot of one poll: frozen dataclasses and columnar tables, with time as a field.

Imported by everything; imports only the standard library, numpy and formulas. No I/O, no clocks.

Two clocks appear, never mixed: `time` is Unix time in seconds, for people and for timestamps in `/metrics`; `clock` and
everything named `*_at` are seconds of the monotonic clock, for differences.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np

from kafka_warden.formulas import ops
from kafka_warden.formulas.rows import Keys

Bools = ops.Bools
Ints = ops.Ints
Longs = ops.Longs
Floats = ops.Floats

UNKNOWN: Final = ops.UNKNOWN
"""In integer columns: not known, because no answer came. Offsets, sizes and broker ids are never negative."""

IN_ELR, LAST_KNOWN_ELR = 1, 2
"""Flags of a replica that KIP-966 makes a leader again: it has all committed records while it is in the ELR."""

UNLIMITED: Final = float("inf")
"""A limit that is not set."""

NO_LISTENER: Final = -2
"""Leader of a partition that has one, on a broker without the listener that the metadata was asked over."""

NO_BROKER: Final = ""
"""The value of the label `broker` for a source that asks the cluster, not one broker."""


class Source(StrEnum):
    """The questions; values of the label `source`."""

    METADATA = "metadata"
    OFFSETS = "offsets"
    LOG_DIRS = "log_dirs"
    CONFIGS = "configs"
    REASSIGNMENTS = "reassignments"
    QUOTAS = "quotas"
    QUORUM = "quorum"
    FENCED_BROKERS = "fenced_brokers"
    ELIGIBLE_LEADERS = "eligible_leaders"
    JMX = "jmx"


class Optional(StrEnum):
    """The questions that the sidecar can do without; values of the option `sources.disable`."""

    LOG_DIRS = "log_dirs"
    REASSIGNMENTS = "reassignments"
    QUORUM = "quorum"
    QUOTAS = "quotas"
    FENCED_BROKERS = "fenced_brokers"
    ELIGIBLE_LEADERS = "eligible_leaders"
    TOPIC_CONFIGS = "topic_configs"
    BROKER_CONFIGS = "broker_configs"
    CONTROLLER_CONFIGS = "controller_configs"

    @property
    def source(self) -> Source:
        """The source that it belongs to."""
        return Source.CONFIGS if self.value.endswith("_configs") else Source(self.value)


class BrokerState(StrEnum):
    """Values of the label `state` of `broker_state`."""

    ACTIVE = "active"
    FENCED = "fenced"
    SHUTTING_DOWN = "shutting_down"
    GONE = "gone"
    NO_LISTENER = "no_listener"
    """It leads or is in an ISR, and lacks the listener that the sidecar uses: Metadata does not list it there."""
    UNANSWERING = "unanswering"


class Side(StrEnum):
    """Which throttle: KIP-73's two, and KIP-113's for moves between log directories."""

    LEADER = "leader"
    FOLLOWER = "follower"
    LOG_DIRS = "log_dirs"


SIDES = (Side.LEADER, Side.FOLLOWER)
"""Sides of replication."""


class Origin(StrEnum):
    """Where an effective broker limit comes from."""

    BROKER = "broker"
    CLUSTER_DEFAULT = "cluster_default"
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as the cluster describes it, or as last described if it is gone."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """One row per partition, sorted by topic name, then partition number. P rows."""

    topic: Ints
    """Index into `Snapshot.topics`."""
    number: Ints
    leader: Ints
    """Broker id, `UNKNOWN` where there is none, `NO_LISTENER` where it is not known."""
    leader_epoch: Ints
    leader_row: Ints
    """Row of the leader's replica in the `ReplicaTable`, `UNKNOWN` where there is none."""
    start: Longs
    """Local log start offset of the leader, as of the latest answer to log dirs; `UNKNOWN` before."""
    tiered: Longs
    """Highest offset in remote storage, inclusive, as the leader reported in this poll (3.9+, topics with remote
    storage only). `formulas.tiered.NOTHING_TIERED` where it reported that there is none, `UNKNOWN` where it did
    not report."""
    copy_due: Longs
    """Offset from which on records are younger than `remote.copy.lag.ms`, as the leader last answered: an earlier one
    than now. `UNKNOWN` before, and without a limit of time."""
    reassigning: Bools

    def __len__(self) -> int:
        return len(self.topic)


@dataclass(frozen=True, slots=True)
class ReplicaTable:
    """One row per replica, grouped by partition in the order of the `PartitionTable`. R rows."""

    partition: Ints
    """Row in the `PartitionTable`."""
    broker: Ints
    in_isr: Bools
    offline: Bools
    adding: Bools
    removing: Bools
    end: Longs
    """Log end offset as that broker reported it in this poll; `UNKNOWN` when it did not answer."""
    size: Longs
    """Bytes of the local log, as of `sized_at`; `UNKNOWN` before the first answer."""
    sized_at: Floats
    """Monotonic time of the answer that `size` comes from; 0 where it is unknown."""
    start: Longs
    """Local log start offset of this replica, asked of leaders and of adding replicas only; else `UNKNOWN`."""
    eligible: Ints
    """Of partitions without a leader: sum of `IN_ELR` and `LAST_KNOWN_ELR`. `UNKNOWN` where no broker answered."""

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True)
class FutureReplica:
    """A replica on its way to another log directory of the same broker (KIP-113)."""

    topic: str
    partition: int
    broker: int
    log_dir: str
    size: int
    offset_lag: int


@dataclass(frozen=True, slots=True)
class LogDir:
    """One log directory of one broker. Bytes; `UNKNOWN` where the broker does not report it (before 3.3)."""

    broker: int
    path: str
    online: bool
    bytes: int
    usable_bytes: int
    total_bytes: int
    cordoned: bool = False
    """`cordoned.log.dirs` has it: it keeps its replicas and gets no new ones (KIP-1066, Kafka 4.3)."""


def for_new_replicas(directories: Iterable[LogDir]) -> list[LogDir]:
    """Return which log directories of a broker may get a new replica of its choice; none if all are offline.

    If all that are online are cordoned, the broker uses one of them. No new replica should get there:
    Kafka places none on such a broker, and from 4.4 on it refuses assignments that name it (KAFKA-20832).
    """
    online = [directory for directory in directories if directory.online]
    return [directory for directory in online if not directory.cordoned] or online


def cordoned_brokers(directories: Iterable[LogDir]) -> frozenset[int]:
    """Return the brokers whose log directories are all cordoned, offline ones left out."""
    online = [directory for directory in directories if directory.online]
    return frozenset(each.broker for each in online) - {each.broker for each in online if not each.cordoned}


@dataclass(frozen=True, slots=True)
class LogGaps:
    """Where the log directories of one broker and the metadata of the same poll differ."""

    at: float
    """Monotonic time of the poll that asked about all logs of the broker."""
    missing: frozenset[tuple[str, bytes, int]] | None
    """Topic, topic id and partition of the replicas assigned to the broker of which it showed no log; `None` while a
    log directory is offline: they may lie there."""
    stray: frozenset[tuple[str, int]] | None
    """Topic and partition of the logs that the metadata does not assign to the broker; future replicas are none. `None`
    if there are too many to keep."""


@dataclass(frozen=True, slots=True)
class Limit:
    """An effective dynamic limit in bytes per second; `UNLIMITED` when it is not set."""

    value: float = UNLIMITED
    origin: Origin = Origin.UNSET


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The answer to DescribeConfigs for one broker. Rates in bytes per second, times in seconds, sizes in bytes."""

    limits: Mapping[Side, Limit] = field(default_factory=dict)
    remote_copy_quota: float | None = None
    remote_fetch_quota: float | None = None
    replica_lag_time_max: float = 30.0
    replica_fetch_wait_max: float = 0.5
    replica_fetch_max_bytes: int = 1 << 20
    replica_fetch_response_max_bytes: int = 10 << 20
    replica_fetchers: int = 1
    """`num.replica.fetchers`: threads that this broker fetches from each of the others with."""
    quota_window_num: int = 11
    quota_window_size: float = 1.0
    remote_copy_window: float = 11.0
    """`remote.log.manager.copy.quota.window.num` x `.size.seconds`."""
    follower_fetch_last_tiered: bool = False
    """`follower.fetch.last.tiered.offset.enable` (Kafka 4.3, KIP-1023)."""
    kafka_version: str | None = None
    """Release of the broker that answered, such as `4.1`."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The answer to DescribeConfigs for one topic."""

    leader_throttled: str = ""
    """`leader.replication.throttled.replicas` as it stands: empty, `*` or `partition:broker,...`."""
    follower_throttled: str = ""
    compacted: bool = False
    segment_bytes: int = 1 << 30
    remote_storage: bool = False
    remote_copy_disabled: bool = False
    """`remote.log.copy.disable` (Kafka 4.0, KIP-950): remote segments are still read, and none are added."""
    remote_copy_lag_seconds: float = 0.0
    """`remote.copy.lag.ms` (Kafka 4.4, KIP-1241): age of its last record at which a closed segment is copied. 0 if it
    is copied at once, `UNLIMITED` if its age does not matter."""
    remote_copy_lag_bytes: float = 0.0
    """`remote.copy.lag.bytes`: bytes behind a closed segment at which it is copied, whatever its age; as above."""
    min_insync_replicas: int = 1


def min_insync_replicas(topics: Iterable[str], configs: Mapping[str, TopicConfig]) -> Longs:
    """Return what each topic is configured to need (T,); 1 where that is unknown."""
    found = map(configs.get, topics)
    return np.array([1 if config is None else config.min_insync_replicas for config in found], np.int64)


def skips_tiered(topic: TopicConfig | None, broker: BrokerConfig | None) -> bool:
    """Return whether an empty follower on a broker begins behind what is in remote storage (KIP-1023).

    Only if its leader no longer has the log from its first record on: the leader answers a fetch of that one otherwise.
    """
    if topic is None or broker is None:
        return False
    return broker.follower_fetch_last_tiered and topic.remote_storage and not topic.compacted


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """One configured client quota: `None` where the entity has no such part, `""` where it is the default."""

    user: str | None
    client_id: str | None
    values: Mapping[str, float]
    """Quota key, such as `controller_mutation_rate`, to value."""


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """One member of the metadata quorum (DescribeQuorum). Times are Unix seconds, `None` where not reported."""

    node: int
    voter: bool
    log_end_offset: int
    last_caught_up_time: float | None


@dataclass(frozen=True, slots=True)
class Quorum:
    """The metadata quorum. `controllers` maps a node id to `host:port` of its listener (v2, Kafka 3.9+)."""

    leader: int
    leader_epoch: int
    high_watermark: int
    replicas: tuple[QuorumReplica, ...] = ()
    controllers: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ControllerWindow:
    """`controller.quota.window.num` x `controller.quota.window.size.seconds` of the active controller."""

    samples: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ClientBean:
    """One bean of a client: its real, unquoted and unsanitized names; `None` where the bean has no such tag."""

    user: str | None
    client_id: str | None
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ProcessBeans:
    """The JMX answer of one process. Attributes that are absent or NaN there are absent here."""

    at: float
    """Monotonic time of the answer."""
    values: Mapping[str, float]
    """Short name (`sources/bean_list.py` lists them with bean, attribute and unit) to value in base units."""
    mutations: tuple[ClientBean, ...] = ()
    """ControllerMutation beans: tokens, mutation_rate, throttle_time (seconds)."""
    requests: tuple[ClientBean, ...] = ()
    """Request beans: throttle_time (seconds)."""
    left_out: int = 0
    """Clients whose beans were not read, because the process has too many."""
    every: float = 0.0
    """Seconds until the next answer, where that may be later than the next poll."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """State of one source at one broker. Times are Unix seconds; `None` before the first success."""

    up: bool
    duration: float
    last_success: float | None
    errors: Mapping[str, int]
    """Reason to count, since the sidecar started."""


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """State of one sink of the history. Rows are counted since the sidecar started."""

    up: bool
    """The last attempt to write went through."""
    rows: int
    """Written."""
    dropped: Mapping[str, int]
    """Reason to rows that were lost."""
    last_success: float | None
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The data of one poll, and the last good answer of what is asked less often."""

    time: float
    clock: float
    cluster_id: str | None
    topics: tuple[str, ...]
    topic_ids: tuple[bytes, ...]
    """16 bytes each, in the order of `topics`; zeros before Kafka 2.8."""
    partitions: PartitionTable
    replicas: ReplicaTable
    brokers: Mapping[int, Broker]
    controller: int | None = None
    kafka_version: str | None = None
    """Release of the broker that answered for the metadata; in an upgrade others have another one."""
    offsets_at: Mapping[int, float] = field(default_factory=dict)
    """Broker to the monotonic time at which it reported the log ends of the partitions that it leads."""
    log_dirs: tuple[LogDir, ...] = ()
    placed: Mapping[int, Mapping[tuple[str, int], str]] = field(default_factory=dict)
    """By broker: topic and partition of those of its logs that are asked about in every poll, moving ones among them,
    and the path of the directory in which each lies, as of the broker's latest answer."""
    future_replicas: tuple[FutureReplica, ...] = ()
    log_gaps: Mapping[int, LogGaps] = field(default_factory=dict)
    """By broker, as of its latest answer about all its logs."""
    broker_configs: Mapping[int, BrokerConfig] = field(default_factory=dict)
    topic_configs: Mapping[str, TopicConfig] = field(default_factory=dict)
    reassignments_known: bool = True
    """False while no broker reports reassignments: then nothing is marked as moving."""
    quotas: tuple[QuotaEntity, ...] | None = None
    """`None` when they could not be read; empty when none is configured."""
    quorum: Quorum | None = None
    metadata_ages: Mapping[int, float] = field(default_factory=dict)
    """Broker to the seconds for which its image of the metadata has been old, 0 for a current one."""
    controller_window: ControllerWindow | None = None
    broker_beans: Mapping[int, ProcessBeans] = field(default_factory=dict)
    controller_beans: Mapping[str, ProcessBeans] = field(default_factory=dict)
    """By node id as text, or by address until the id is known."""
    status: Mapping[tuple[Source, str], SourceStatus] = field(default_factory=dict)

    def kafka_version_of(self, broker: int) -> str | None:
        """Return the release of a broker; if it is unknown, that of the broker that answered for the metadata."""
        config = self.broker_configs.get(broker)
        return (config and config.kafka_version) or self.kafka_version

    @property
    def keys(self) -> Keys:
        """Keys of the rows."""
        partitions, replicas = self.partitions, self.replicas
        return Keys(
            self.topics,
            self.topic_ids,
            partitions.topic,
            partitions.number,
            replicas.partition,
            replicas.broker,
        )


@dataclass(frozen=True, slots=True)
class Parameters:
    """Options of the user that derived values depend on, in base units. Defaults are those of the configuration."""

    poll_interval: float = 10.0
    series_budget: int = 20_000
    max_broker_partitions: float = UNLIMITED
    max_partitions: float = UNLIMITED
    network_bytes_per_second: float | None = None
    moves_deadline: float = 4 * 3600.0
    moves_grace: float = 60.0
