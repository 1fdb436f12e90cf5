"""The snapshot of one poll: frozen dataclasses and columnar tables, with time as a field.

Imported by everything; imports only the standard library, numpy, `arrays` and `replies`. No I/O, no clocks.

A field that history stores has its description in `Annotated`, and its unit if it has one: docs/history-schema.md.

Two clocks appear, never mixed: `time` is Unix time in seconds, for people and for timestamps in `/metrics`; `clock` and
everything named `*_at` are seconds of the monotonic clock, for differences.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final

from kafka_warden import arrays
from kafka_warden.arrays import Keys
from kafka_warden.replies import ControllerWindow, FutureReplica, LogDir, LogGaps, Quorum

Bools = arrays.Bools
Ints = arrays.Ints
Longs = arrays.Longs
Floats = arrays.Floats

UNKNOWN: Final = arrays.UNKNOWN
"""In integer columns: not known, because no answer came. Offsets, sizes and broker ids are never negative."""

NOTHING_TIERED: Final = -2
"""In a column of latest tiered offsets: the leader reports that nothing has been copied. Kafka's own value is -1,
which here is `UNKNOWN`."""

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
    """Of topics, and of each broker."""
    CONTROLLER_CONFIGS = "controller_configs"
    REASSIGNMENTS = "reassignments"
    QUOTAS = "quotas"
    QUORUM = "quorum"
    FENCED_BROKERS = "fenced_brokers"
    ELIGIBLE_LEADERS = "eligible_leaders"
    JMX = "jmx"


class OptionalQuestion(StrEnum):
    """The questions that the exporter can do without; values of the option `sources.disable`."""

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
        either = self in (OptionalQuestion.TOPIC_CONFIGS, OptionalQuestion.BROKER_CONFIGS)
        return Source.CONFIGS if either else Source(self.value)


class BrokerState(StrEnum):
    """Values of the label `state` of `broker_state`."""

    ACTIVE = "active"
    FENCED = "fenced"
    SHUTTING_DOWN = "shutting_down"
    GONE = "gone"
    NO_LISTENER = "no_listener"
    """It leads or is in an ISR, and lacks the listener that the exporter uses: Metadata does not list it there."""
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

    id: Annotated[int, "broker id"]
    host: Annotated[str, "advertised host; null if never described"]
    port: Annotated[int, "advertised port"]
    rack: Annotated[str | None, "`broker.rack`"] = None
    fenced: Annotated[bool, "fenced"] = False
    gone: Annotated[bool, "no longer listed; values are the last known"] = False

    @property
    def active(self) -> bool:
        """Whether the cluster lists it, and not as fenced."""
        return not self.fenced and not self.gone


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """One row per partition, sorted by topic name, then partition number. P rows."""

    topic: Ints
    """Index into `Snapshot.topics`."""
    number: Annotated[Ints, "partition number"]
    leader: Annotated[Ints, "broker id; null if none, -2 without the exporter's listener"]
    """`UNKNOWN` where there is none, `NO_LISTENER` where it is not known."""
    leader_epoch: Annotated[Ints, "leader epoch"]
    leader_row: Ints
    """Row of the leader's replica in the `ReplicaTable`, `UNKNOWN` where there is none."""
    start: Annotated[Longs, "local log start of the leader", "offset"]
    """As of the latest answer to log dirs; `UNKNOWN` before."""
    tiered: Annotated[Longs, "highest offset in remote storage; -2 if none, null if it is not known", "offset"]
    """Inclusive, as the leader reported in this poll (3.9+, topics with remote storage only).
    `NOTHING_TIERED` where it reported that there is none, `UNKNOWN` where it did not report."""
    copy_due: Annotated[
        Longs,
        "first offset younger than `remote.copy.lag.ms`; null if it is not known",
        "offset",
    ]
    """An earlier one than now. `UNKNOWN` before the first answer, and without a limit of time."""
    reassigning: Annotated[Bools, "being reassigned"]

    def __len__(self) -> int:
        return len(self.topic)


@dataclass(frozen=True, slots=True)
class ReplicaTable:
    """One row per replica, grouped by partition in the order of the `PartitionTable`. R rows."""

    partition: Ints
    """Row in the `PartitionTable`."""
    broker: Annotated[Ints, "broker id"]
    in_isr: Annotated[Bools, "in the ISR"]
    offline: Annotated[Bools, "log directory or broker offline"]
    adding: Annotated[Bools, "being added"]
    removing: Annotated[Bools, "being removed"]
    end: Annotated[Longs, "log end, reported in this poll", "offset"]
    """`UNKNOWN` when it did not answer."""
    size: Annotated[Longs, "size of its local log", "bytes"]
    """`UNKNOWN` before the first answer."""
    sized_at: Annotated[Floats, "when `size` was reported", "monotonic s"]
    """0 where it is unknown."""
    start: Annotated[Longs, "local log start, of leaders and adding replicas", "offset"]
    """`UNKNOWN` for all others."""
    eligible: Annotated[
        Ints, "without a leader: 1 in the ELR, 2 last known ELR, 3 both, 0 neither; null where not known"
    ]
    """Sum of `IN_ELR` and `LAST_KNOWN_ELR`. `UNKNOWN` where no broker answered."""

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True)
class Limit:
    """An effective dynamic limit in bytes per second; `UNLIMITED` when it is not set."""

    value: Annotated[float, "the limit", "bytes/s"] = UNLIMITED
    origin: Annotated[Origin, "`broker`, `cluster_default` or `unset`"] = Origin.UNSET


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The answer to DescribeConfigs for one broker. Rates in bytes per second, times in seconds, sizes in bytes."""

    limits: Annotated[Mapping[Side, Limit], "effective limit and origin by side", "bytes/s"] = field(
        default_factory=dict
    )
    remote_copy_quota: Annotated[float | None, "`remote.log.manager.copy.max.bytes.per.second`", "bytes/s"] = None
    remote_fetch_quota: Annotated[float | None, "`remote.log.manager.fetch.max.bytes.per.second`", "bytes/s"] = None
    replica_lag_time_max: Annotated[float, "`replica.lag.time.max.ms`", "s"] = 30.0
    replica_fetch_wait_max: Annotated[float, "`replica.fetch.wait.max.ms`", "s"] = 0.5
    replica_fetch_max_bytes: Annotated[int, "`replica.fetch.max.bytes`", "bytes"] = 1 << 20
    replica_fetch_response_max_bytes: Annotated[int, "`replica.fetch.response.max.bytes`", "bytes"] = 10 << 20
    replica_fetchers: Annotated[int, "`num.replica.fetchers`"] = 1
    """Threads that this broker fetches from each of the others with."""
    quota_window_num: Annotated[int, "`replication.quota.window.num`"] = 11
    quota_window_size: Annotated[float, "`replication.quota.window.size.seconds`", "s"] = 1.0
    remote_copy_window: Annotated[float, "`remote.log.manager.copy.quota.window.num` x `.size.seconds`", "s"] = 11.0
    follower_fetch_last_tiered: Annotated[bool, "`follower.fetch.last.tiered.offset.enable` (Kafka 4.3)"] = False
    """KIP-1023."""
    kafka_version: Annotated[str | None, "release of the broker"] = None
    """Such as `4.1`."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The answer to DescribeConfigs for one topic."""

    leader_throttled: Annotated[str, "`leader.replication.throttled.replicas`"] = ""
    """Empty, `*` or `partition:broker,...`."""
    follower_throttled: Annotated[str, "`follower.replication.throttled.replicas`"] = ""
    compacted: Annotated[bool, "`cleanup.policy` contains `compact`"] = False
    segment_bytes: Annotated[int, "`segment.bytes`", "bytes"] = 1 << 30
    remote_storage: Annotated[bool, "`remote.storage.enable`"] = False
    remote_copy_disabled: Annotated[bool, "`remote.log.copy.disable`"] = False
    """Kafka 4.0, KIP-950: remote segments are still read, and none are added."""
    remote_copy_lag_seconds: Annotated[float, "effective `remote.copy.lag.ms`; infinite without", "s"] = 0.0
    """`remote.copy.lag.ms` (Kafka 4.4, KIP-1241): age of its last record at which a closed segment is copied. 0 if it
    is copied at once, `UNLIMITED` if its age does not matter."""
    remote_copy_lag_bytes: Annotated[float, "effective `remote.copy.lag.bytes`; infinite without", "bytes"] = 0.0
    """`remote.copy.lag.bytes`: bytes behind a closed segment at which it is copied, whatever its age; as above."""
    min_insync_replicas: Annotated[int, "`min.insync.replicas`"] = 1


def members_of_isr(chosen: Bools, partition: Ints, broker: Ints, in_isr: Bools) -> frozenset[int]:
    """Return the brokers in the ISR of chosen (P,) partitions: they are up, since the controller drops dead ones."""
    return frozenset(broker[in_isr & chosen[partition]].tolist())


DEFAULT: Final = ""
"""In an entity: the default of that part. `None` means that the entity has no such part."""

Entity = tuple[str | None, str | None]
"""(user, client id) of a configured quota."""


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """One configured client quota: `None` where the entity has no such part, `""` where it is the default."""

    user: str | None
    client_id: str | None
    values: Mapping[str, float]
    """Quota key, such as `controller_mutation_rate`, to value."""


@dataclass(frozen=True, slots=True)
class ClientBean:
    """One bean of a client: its real, unquoted and unsanitized names; `None` where the bean has no such tag."""

    user: str | None
    client_id: str | None
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ProcessBeans:
    """The JMX answer of one process. Attributes that are absent or NaN there are absent here."""

    at: Annotated[float, "time of the answer from JMX", "monotonic s"]
    values: Annotated[
        Mapping[str, float],
        "value by short name (`exporter/kafka_warden/sources/bean_list.py`)",
        "base units",
    ]
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
    """Reason to count, since the exporter started."""


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """State of one sink of the history. Rows are counted since the exporter started."""

    up: bool
    """The last attempt to write went through."""
    rows: int
    """Written."""
    dropped: Mapping[str, int]
    """Reason to rows that were lost."""
    last_success: float | None
    """Unix seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """All that a poll learned. It is a `Snapshot` if a broker answered for the metadata."""

    status: Mapping[tuple[Source, str], SourceStatus] = field(default_factory=dict)
    not_available: Mapping[tuple[Source, str], str] = field(default_factory=dict)
    """Sources that are not available, and why."""
    ever_answered: frozenset[OptionalQuestion] = frozenset()
    """Questions that were ever answered: to have them refused is a failure."""
    cluster_reachable: bool | None = None
    """Whether a broker answered anything or refused access; `None` where that is not known."""
    controller_reachable: bool | None = None
    """Whether the active controller answered a request that brokers forwarded to it, when that was last known."""
    fenced_responding: Mapping[int, bool] = field(default_factory=dict)
    """By broker that is fenced, whether it answers."""
    throttle_seconds: Mapping[int, float] = field(default_factory=dict)
    """By broker, the longest pause that it asked for."""
    undescribed_topics: int = 0
    """How many topics the metadata had, and may not be described any more."""
    jmx_source: str | None = None
    """What beans are read from: `rmi`, `prometheus` or `jolokia`."""
    jmx_child_starts: int | None = None
    """Child processes that were started for beans: more than one means that some were replaced."""


@dataclass(frozen=True, slots=True)
class Snapshot(PollResult):
    """The data of one poll, and the last good answer of what is asked less often."""

    time: Annotated[float, "start of the poll", "Unix s"]
    clock: Annotated[float, "start of the poll on the clock of the run", "monotonic s"]
    cluster_id: Annotated[str | None, "cluster id that Kafka reports"]
    topics: Annotated[tuple[str, ...], "topic name"]
    topic_ids: Annotated[
        tuple[bytes, ...],
        "topic id, `AAAA...` before Kafka 2.8",
    ]
    """16 bytes each, in the order of `topics`; zeros before Kafka 2.8."""
    partitions: PartitionTable
    replicas: ReplicaTable
    brokers: Mapping[int, Broker]
    controller: Annotated[int | None, "node id of the active controller"] = None
    kafka_version: Annotated[str | None, "release of the broker that was asked"] = None
    """In an upgrade others have another one."""
    offsets_at: Annotated[Mapping[int, float], "when it reported log ends as leader", "monotonic s"] = field(
        default_factory=dict
    )
    log_dirs: Annotated[tuple[LogDir, ...], "its log directories"] = ()
    placed: Annotated[
        Mapping[int, Mapping[tuple[str, int], str]],
        "log directories of logs asked for in every poll; null if they are unknown",
    ] = field(default_factory=dict)
    """By broker: topic and partition of those of its logs that are asked about in every poll, moving ones among them,
    and the path of the directory in which each lies, as of the broker's latest answer."""
    future_replicas: tuple[FutureReplica, ...] = ()
    log_gaps: Annotated[Mapping[int, LogGaps], "missing and stray logs"] = field(default_factory=dict)
    """By broker, as of its latest answer about all its logs."""
    broker_configs: Annotated[Mapping[int, BrokerConfig], "the broker's configuration"] = field(default_factory=dict)
    topic_configs: Annotated[Mapping[str, TopicConfig], "the topic's configuration"] = field(default_factory=dict)
    reassignments_known: Annotated[bool, "the reassignments are known"] = True
    """False while no broker reports reassignments: then nothing is marked as moving."""
    quotas: tuple[QuotaEntity, ...] | None = None
    """`None` when they could not be read; empty when none is configured."""
    quorum: Annotated[Quorum | None, "answer to DescribeQuorum"] = None
    metadata_ages: Annotated[
        Mapping[int, float],
        "age of old metadata; 0: current, null if that is unknown",
        "s",
    ] = field(default_factory=dict)
    """By broker."""
    controller_window: Annotated[ControllerWindow | None, "quota window of the active controller"] = None
    broker_beans: Annotated[Mapping[int, ProcessBeans], "JMX values without clients"] = field(default_factory=dict)
    controller_beans: Annotated[Mapping[str, ProcessBeans], "JMX values without clients"] = field(default_factory=dict)
    """By node id as text, or by address until the id is known."""

    def kafka_version_of(self, broker: int) -> str | None:
        """Return the release of a broker; if it is unknown, that of the broker that answered for the metadata."""
        config = self.broker_configs.get(broker)
        return (config and config.kafka_version) or self.kafka_version

    @property
    def keys(self) -> Keys:
        """Keys of the rows."""
        partitions, replicas = self.partitions, self.replicas
        return Keys(
            self.topics, self.topic_ids, partitions.topic, partitions.number, replicas.partition, replicas.broker
        )


@dataclass(frozen=True, slots=True)
class Parameters:
    """Options that a poll is evaluated and shown with, in base units. Defaults are those of the configuration."""

    poll_interval: Annotated[float, "effective `poll.interval`", "s"] = 10.0
    series_budget: Annotated[int, "`limits.series`"] = 20_000
    max_broker_partitions: Annotated[float, "`limits.max_broker_partitions`"] = UNLIMITED
    max_partitions: Annotated[float, "`limits.max_partitions`"] = UNLIMITED
    network_bytes_per_second: Annotated[float | None, "`network.bytes_per_second`", "bytes/s"] = None
    moves_deadline: Annotated[float, "`moves.deadline`", "s"] = 4 * 3600.0
    moves_grace: Annotated[float, "`moves.grace`", "s"] = 60.0
    cluster_name: Annotated[str | None, "`cluster.name`"] = None
