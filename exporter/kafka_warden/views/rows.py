"""The rows that the status page and `/api/v1` show: immutable, plain values, each with a description.

Bytes, seconds, ratios from 0 to 1. `None` is unknown, infinity is unlimited or never, as in `/metrics`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, TypeVar

from kafka_warden.views.fields import Broker, LabelOf, Name, Of, SideName
from kafka_warden.views.recent import Samples

Row = TypeVar("Row")
Partition = Annotated[int, "Number of the partition"]
Severity = Annotated[str | None, "critical, warning or info, as its alert; null where nothing is wrong"]
Runbook = Annotated[str | None, "Path of the runbook, below that of the status page; null where there is none"]

MOST: Final = 10_000
"""Rows of a table that are kept, the worst ones: a broken cluster can have hundreds of thousands."""


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """Rows, worst first, and how many there are: of very many only the first are kept."""

    rows: tuple[Row, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that needs a look, as a sentence."""

    severity: Annotated[str, "critical, warning or info, as its alert"]
    kind: Annotated[str, "Stable name of the kind of problem"]
    sentence: Annotated[str, "What is wrong, for people"]
    seconds: Annotated[float | None, "For how long it is known, the longest where the sentence counts several"]
    section: Annotated[str, "Section of the status page with the details"]
    runbook: Runbook


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster in numbers."""

    cluster_id: Annotated[str | None, LabelOf("cluster_info", "cluster_id")]
    cluster_name: Annotated[str | None, LabelOf("cluster_info", "cluster_name")]
    kafka_version: Annotated[str | None, LabelOf("cluster_info", "kafka_version")]
    controller: Annotated[str | None, LabelOf("controller_info", "node")]
    brokers: Annotated[Mapping[str, int], "Number of brokers by state"]
    topics: Annotated[int, "Topics, internal ones included"]
    partitions: Annotated[float | None, Of("cluster_partitions")]
    partition_limit: Annotated[float | None, Of("cluster_partition_limit")]
    partition_headroom: Annotated[float | None, Of("cluster_partition_headroom")]
    replicas: Annotated[float | None, Of("cluster_replicas")]
    offline_partitions: Annotated[float | None, Of("offline_partitions")]
    unknown_leader_partitions: Annotated[float | None, Of("unknown_leader_partitions")]
    under_min_isr_partitions: Annotated[float | None, Of("under_min_isr_partitions")]
    unknown_min_isr_partitions: Annotated[float | None, Of("unknown_min_isr_partitions")]
    at_min_isr_partitions: Annotated[float | None, Of("at_min_isr_partitions")]
    uncounted: Annotated[Mapping[str, int], "Partitions by state that topics.uncounted leaves out, those above 0"]
    under_replicated_partitions: Annotated[float | None, Of("under_replicated_partitions")]
    out_of_sync: Annotated[Mapping[str, int], "Replicas out of sync by state, those above 0"]
    reassigning_partitions: Annotated[float | None, Of("reassigning_partitions")]
    stuck: Annotated[Mapping[str, int], "Stuck moves by cause, as reassignment_stuck counts them"]
    never_ending: Annotated[int, "Moves that never end and are not stuck, without those of topics.deny"]
    log_dir_moves_never_ending: Annotated[
        Mapping[str, int], "Moves between log directories that never end, by broker; those of topics.deny count as one"
    ]
    throttles_known: Annotated[bool, "Whether a broker reports its limits; if none does, throttles are unknown"]
    move_ratio: Annotated[float | None, Of("reassignment_move_ratio")]
    remaining_bytes: Annotated[float | None, Of("reassignment_total_bytes_remaining")]
    eta: Annotated[float | None, Of("reassignment_total_eta_seconds")]
    deadline: Annotated[float | None, Of("reassignment_deadline_seconds")]
    predicted: Annotated[float | None, Of("reassignment_predicted_seconds")]
    predicted_bottleneck: Annotated[float | None, Of("reassignment_predicted_bottleneck_seconds")]
    bottleneck_broker: Annotated[str | None, LabelOf("reassignment_bottleneck_info", "broker")]
    bottleneck_side: Annotated[str | None, LabelOf("reassignment_bottleneck_info", "side")]
    recommended_throttle: Annotated[float | None, Of("replication_throttle_recommended_bytes_per_second")]


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """A broker."""

    broker: Broker
    host: Annotated[str | None, LabelOf("broker_info", "host")]
    rack: Annotated[str | None, LabelOf("broker_info", "rack")]
    state: Annotated[str | None, LabelOf("broker_state", "state")]
    fenced_responding: Annotated[bool, "It is fenced, and answers the exporter (broker_fenced_responding)"]
    metadata_stale_seconds: Annotated[float | None, Of("broker_metadata_stale_seconds")]
    replicas: Annotated[float | None, Of("broker_replicas")]
    leaders: Annotated[float | None, Of("broker_leaders")]
    partitions: Annotated[float | None, Of("broker_partitions")]
    partition_limit: Annotated[float | None, Of("broker_partition_limit")]
    partition_headroom: Annotated[float | None, Of("broker_partition_headroom")]
    under_replicated_partitions: Annotated[float | None, Of("broker_under_replicated_partitions")]
    under_min_isr_partitions: Annotated[float | None, Of("broker_under_min_isr_partitions")]
    leader_candidate_partitions: Annotated[float | None, Of("broker_leader_candidate_partitions")]
    lag_messages: Annotated[float | None, Of("broker_sum_replica_lag_messages")]
    lag_bytes: Annotated[float | None, Of("broker_sum_replica_lag_bytes")]
    lag_unknown_replicas: Annotated[float | None, Of("broker_replica_lag_unknown_replicas")]
    replicas_without_log: Annotated[float | None, Of("broker_replicas_without_log")]
    stray_replicas: Annotated[float | None, Of("broker_stray_replicas")]
    severity: Severity = None

    @property
    def limit_used(self) -> float | None:
        """Used share of the limit of partitions; `None` without a limit."""
        limited = self.partition_limit and not math.isinf(self.partition_limit) and self.partitions is not None
        return self.partitions / self.partition_limit if limited else None  # type: ignore[operator]  # both are known


@dataclass(frozen=True, slots=True)
class Move:
    """A replica that a reassignment waits for."""

    topic: Name
    partition: Partition
    broker: Broker
    adding: Annotated[bool, "False for a replica that stays: the move copies nothing, and waits until it is in sync"]
    leader: Annotated[int | None, "Id of the broker that it copies from; null without a leader"]
    remaining_bytes: Annotated[float | None, Of("reassignment_bytes_remaining")]
    remaining_messages: Annotated[int | None, Of("reassignment_messages_remaining")]
    progress: Annotated[float | None, Of("reassignment_progress_ratio")]
    bytes_per_second: Annotated[float | None, Of("reassignment_bytes_per_second")]
    eta: Annotated[float | None, Of("reassignment_eta_seconds")]
    never_ends: Annotated[bool | None, Of("reassignment_never_ends")]
    stalled: Annotated[float | None, Of("reassignment_stalled_seconds")]
    cause: Annotated[str | None, LabelOf("reassignment_stuck", "cause")]
    sentence: Annotated[str | None, "Why it is stuck, or why there is no ETA; null while it advances"] = None
    runbook: Runbook = None
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class LogDirMove:
    """A replica that moves to another log directory of its broker."""

    topic: Name
    partition: Partition
    broker: Broker
    remaining_bytes: Annotated[float | None, Of("log_dir_move_bytes_remaining")]
    eta: Annotated[float | None, Of("log_dir_move_eta_seconds")]
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class Throttle:
    """The replication throttle of one broker and side that limits, copies or lists something."""

    broker: Broker
    side: SideName
    limit: Annotated[float | None, Of("replication_throttle_bytes_per_second")]
    origin: Annotated[str | None, LabelOf("replication_throttle_origin_info", "origin")]
    throttled_replicas: Annotated[float | None, Of("replication_throttled_replicas")]
    throttled_rate: Annotated[
        float | None,
        "kafka_warden_leader_replication_throttled_bytes_per_second, or that of the follower side. Needs JMX. It "
        "counts in-sync traffic, so it may be above the limit",
    ]
    use: Annotated[float | None, "throttled_rate divided by limit; null without JMX or without a limit"]
    catch_up: Annotated[float | None, Of("broker_catch_up_bytes_per_second")]
    floor: Annotated[float | None, Of("replication_throttle_floor_bytes_per_second")]
    headroom: Annotated[float | None, Of("replication_throttle_headroom_bytes_per_second")]
    lower_bound: Annotated[float | None, Of("replication_throttle_lower_bound_bytes_per_second")]
    upper_bound: Annotated[float | None, Of("replication_throttle_upper_bound_bytes_per_second")]

    @property
    def in_use(self) -> bool:
        """Whether it limits, copies or lists something."""
        limits = self.limit is not None and not math.isinf(self.limit)
        return limits or bool(self.catch_up) or bool(self.throttled_replicas)


@dataclass(frozen=True, slots=True)
class ThrottleProblem:
    """A problem of a throttle."""

    broker: Broker
    side: SideName
    problem: Annotated[str, "Label problem of kafka_warden_replication_throttle_problem_seconds"]
    seconds: Annotated[float | None, Of("replication_throttle_problem_seconds")]
    sentence: Annotated[str, "What it means, for people"] = ""
    runbook: Runbook = None
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class Replica:
    """A follower that is out of sync, or has a state with a problem."""

    topic: Name
    partition: Partition
    broker: Broker
    leader: Annotated[int | None, "Id of the broker that leads the partition; null without a leader"]
    state: Annotated[str | None, "Label state of kafka_warden_replica_state; null without such a series"]
    out_of_sync_seconds: Annotated[float | None, Of("replica_out_of_sync_seconds")]
    behind_seconds: Annotated[float | None, Of("replica_behind_seconds")]
    lag_messages: Annotated[int | None, Of("replica_lag_messages")]
    lag_bytes: Annotated[float | None, Of("replica_lag_bytes")]
    lag_seconds: Annotated[float | None, Of("replica_lag_seconds")]
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with partitions that are offline or under min.insync.replicas."""

    topic: Name
    offline_partitions: Annotated[float | None, Of("topic_offline_partitions")]
    under_min_isr_partitions: Annotated[float | None, Of("topic_under_min_isr_partitions")]
    uncounted: Annotated[bool, "topics.uncounted leaves it out of the numbers of the cluster and their alerts"]
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replica that may lead a partition without a leader."""

    topic: Name
    partition: Partition
    broker: Broker
    member_of: Annotated[str, "isr, elr, or last_known_elr, which has the last leader"]
    candidate: Annotated[float | None, Of("leader_candidate")]
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class Client:
    """A client with a bucket of controller mutations."""

    user: Annotated[str, "User, empty where the bucket has none"]
    client_id: Annotated[str, "Client id, empty where the bucket has none"]
    tokens: Annotated[float | None, Of("controller_mutation_tokens")]
    burst: Annotated[float | None, Of("controller_mutation_burst_tokens")]
    quota: Annotated[float | None, Of("controller_mutation_quota_per_second")]
    mutations_per_second: Annotated[float | None, Of("controller_mutations_per_second")]
    admission_delay: Annotated[float | None, Of("controller_mutation_admission_delay_seconds")]
    severity: Severity = None

    @property
    def tokens_left(self) -> float | None:
        """Tokens as a share of the burst, as they are without one; `None` for unknown or unlimited ones."""
        if self.tokens is None or math.isinf(self.tokens):
            return None
        return self.tokens / self.burst if self.burst else self.tokens


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a broker."""

    broker: Broker
    log_dir: Annotated[str, "Path on the broker"]
    online: Annotated[float | None, Of("log_dir_online")]
    bytes: Annotated[float | None, Of("log_dir_bytes")]
    usable_bytes: Annotated[float | None, Of("log_dir_usable_bytes")]
    total_bytes: Annotated[float | None, Of("log_dir_total_bytes")]
    cordoned: Annotated[float | None, Of("log_dir_cordoned")]
    severity: Severity = None

    @property
    def state(self) -> str:
        """Whether the broker can use it, and gives it new replicas."""
        if not self.online:
            return "offline"
        return "online, cordoned" if self.cordoned else "online"

    @property
    def used(self) -> float | None:
        """Used share of the volume."""
        return 1 - self.usable_bytes / self.total_bytes if self.total_bytes and self.usable_bytes is not None else None


@dataclass(frozen=True, slots=True)
class TieredBroker:
    """Remote copies and reads of a broker."""

    broker: Broker
    copy_rate: Annotated[float | None, Of("remote_copy_bytes_per_second")]
    copy_quota: Annotated[float | None, Of("remote_copy_quota_bytes_per_second")]
    fetch_rate: Annotated[float | None, Of("remote_fetch_bytes_per_second")]
    fetch_quota: Annotated[float | None, Of("remote_fetch_quota_bytes_per_second")]
    copy_lag_bytes: Annotated[float | None, Of("remote_copy_lag_bytes")]
    copy_errors: Annotated[float | None, Of("remote_copy_errors_total")]
    fetch_errors: Annotated[float | None, Of("remote_fetch_errors_total")]


@dataclass(frozen=True, slots=True)
class TieredTopic:
    """A topic with remote storage."""

    topic: Name
    overdue_bytes: Annotated[float | None, Of("topic_remote_copy_overdue_bytes")]
    stalled_seconds: Annotated[float | None, Of("topic_remote_copy_stalled_seconds")]
    allowed_lag_seconds: Annotated[float | None, Of("topic_remote_copy_allowed_lag_seconds")]
    allowed_lag_bytes: Annotated[float | None, Of("topic_remote_copy_allowed_lag_bytes")]


@dataclass(frozen=True, slots=True)
class TieredProblem:
    """A problem of a quota of tiered storage."""

    broker: Broker
    problem: Annotated[str, "Label problem of kafka_warden_tiered_storage_problem_seconds"]
    seconds: Annotated[float | None, Of("tiered_storage_problem_seconds")]
    sentence: Annotated[str, "What it means, for people"] = ""
    runbook: Runbook = None
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """The requests of one kind to one broker, or to the cluster."""

    source: Annotated[str, "Kind of request"]
    broker: Annotated[str, "Id of the broker; empty for requests to any broker"]
    up: Annotated[float | None, Of("up")]
    not_available: Annotated[str | None, LabelOf("source_not_available", "reason")]
    duration: Annotated[float | None, Of("source_duration_seconds")]
    last_success: Annotated[float | None, Of("source_last_success_timestamp_seconds")]
    errors: Annotated[Mapping[str, int], "Reason to polls in which a request was not answered"]
    severity: Severity = None


@dataclass(frozen=True, slots=True)
class ExporterRow:
    """The exporter itself."""

    version: Annotated[str, "Version of the program"]
    revision: Annotated[str, "Commit that it was built from"]
    snapshot_time: Annotated[float | None, Of("snapshot_timestamp_seconds")]
    poll_interval: Annotated[float | None, Of("poll_interval_seconds")]
    cluster_reachable: Annotated[float | None, Of("cluster_reachable")]
    controller_reachable: Annotated[float | None, Of("controller_reachable")]
    config_last_reload_successful: Annotated[float | None, Of("config_last_reload_successful")]
    undescribed_topics: Annotated[float | None, Of("undescribed_topics")]
    state_last_save_successful: Annotated[float | None, Of("state_last_save_successful")]
    web_config_in_use: Annotated[float | None, Of("web_config_in_use")]
    jmx: Annotated[bool, "Whether beans are read"]
    dropped_series: Annotated[Mapping[str, int], "Family to series that are left out of /metrics"]
    history: Annotated[Mapping[str, bool], "Destination of history to whether it can be written"]


@dataclass(frozen=True, slots=True)
class Views:
    """Everything of one page of `/metrics`, as rows. Without a fresh snapshot only what the sidecar knows of itself."""

    time: float | None
    """Unix time of the snapshot that is shown, or was shown last."""
    fresh: bool
    """False without a fresh snapshot: then the tables of the cluster are empty."""
    sidecar: ExporterRow
    history: Samples
    tables: Mapping[str, Table[Any]]
    """All tables, by the names of their specs."""
    cluster: Cluster | None = None
