"""What is wrong with a row, and its alert: the one list of what page, `/api/v1` and `top` rate, count and name.

A row is as severe as its alert, and so is a problem that counts rows. Something wrong that has no alert is `info`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import Cause
from kafka_warden.model import BrokerState, Source
from kafka_warden.views import rows
from kafka_warden.views.alerts import CRITICAL, INFO, RUNBOOKS, THROTTLES, TIERED, WARNING, Alert, named, why, worst

Row = TypeVar("Row")

FILLING_ABOVE: Final = 0.9
FULL_ABOVE: Final = 0.97
"""Used shares of a volume, `disk_full` and `disk_critical` of rules/thresholds.yml. What will be full soon is known to
Prometheus only."""

UNREACHABLE: Final = named("KafkaBrokerUnreachable")
"""Also of a broker that answers and is of no use: fenced, or with old metadata."""
OFFLINE: Final = named("KafkaPartitionOffline")
UNDER_MIN_ISR: Final = named("KafkaPartitionUnderMinIsr")
PARTITION_LIMIT: Final = named("KafkaPartitionLimit")
STUCK: Final = named("KafkaReassignmentStuck")
BLIND: Final = Alert("KafkaWardenBlind", WARNING)
HISTORY_LOST: Final = named("KafkaWardenHistoryLost")

UNAVAILABLE: Final[Mapping[str, tuple[str, Alert | None]]] = {
    BrokerState.UNANSWERING: ("not answering", UNREACHABLE),
    BrokerState.NO_LISTENER: ("without the listener that the exporter uses", BLIND),
    BrokerState.GONE: ("gone from the cluster", UNREACHABLE),
    BrokerState.FENCED: ("fenced", UNREACHABLE),
    BrokerState.SHUTTING_DOWN: ("shutting down", None),
}
"""State of a broker to words, and the alert."""


class Condition(NamedTuple):
    """Something wrong with a row, and its alert, `None` without one. The label is a state, cause or problem."""

    name: str
    alert: Alert | None
    label: str = ""

    @property
    def kind(self) -> str:
        """That of the problem which counts such rows."""
        return f"{self.name}_{self.label}" if self.label else self.name

    @property
    def severity(self) -> str:
        """That of the alert."""
        return INFO if self.alert is None else self.alert.severity

    @property
    def runbook(self) -> str | None:
        """Path of that of the alert."""
        return None if self.alert is None else f"{RUNBOOKS}{self.alert.name}.md"


def conditions(row: Any) -> list[Condition]:
    """Return what is wrong with a row: the one list of what the page rates, counts and names."""
    return list(_CONDITIONS[type(row)](row)) if type(row) in _CONDITIONS else []


def noted(row: Row) -> Row:
    """Add what follows from a row that was just made: its severity, and sentence and runbook where it has these."""
    found = conditions(row)
    if found:
        _set(row, "severity", found[0].severity if len(found) == 1 else worst(each.severity for each in found))
    if type(row) in _SENTENCES:
        _set(row, "sentence", _SENTENCES[type(row)](row))
        _set(row, "runbook", found[0].runbook if found else None)
    return row


_set: Final = object.__setattr__
"""No one has the row yet; to make each of thousands again takes longer than all else."""


_EXPLAINED: Final[Mapping[str, Alert]] = {Cause.LEADER_UNRESPONSIVE: UNREACHABLE, Cause.NO_LEADER: OFFLINE}
"""Cause of a stuck move to the alert that reports it instead: those of `stuck.EXPLAINED`."""
_OUT_OF_SYNC: Final = Condition("out_of_sync", named("KafkaReplicasOutOfSync"))
_BEHIND: Final = Condition("behind", None)
_NEVER_ENDS: Final = Condition("never_ends", named("KafkaReassignmentWillMissItsTime"))


def of_stuck(cause: str) -> Condition:
    """Return the condition of a move that is stuck for this cause."""
    return Condition("stuck", _EXPLAINED.get(cause, STUCK), cause)


def _move(row: rows.Move) -> Iterator[Condition]:
    if row.cause is not None:
        yield of_stuck(row.cause)
    elif row.never_ends:
        yield _NEVER_ENDS


def _cluster(row: rows.Cluster) -> Iterator[Condition]:
    """Count what may have no row: topics of topics.deny, and more than are kept."""
    if row.offline_partitions:
        yield Condition("offline_partitions", OFFLINE)
    if row.unknown_leader_partitions:
        yield Condition("unknown_leaders", BLIND)
    if row.under_min_isr_partitions:
        yield Condition("under_min_isr", UNDER_MIN_ISR)
    if row.uncounted:
        yield Condition("uncounted_partitions", None)
    if row.out_of_sync:
        yield _OUT_OF_SYNC
    if (row.partition_headroom or 0) < 0:
        yield Condition("cluster_partition_limit", PARTITION_LIMIT)
    yield from map(of_stuck, row.stuck_without_row)
    if row.eta == math.inf:
        yield _NEVER_ENDS


def _replica(row: rows.Replica) -> Iterator[Condition]:
    """One that a move adds is not expected to be in sync."""
    if row.state != ReplicaState.MOVING:
        yield _BEHIND if row.out_of_sync_seconds is None else _OUT_OF_SYNC


def _broker(row: rows.BrokerRow) -> Iterator[Condition]:
    if row.state is not None and row.state in UNAVAILABLE:
        yield Condition("broker", UNAVAILABLE[row.state][1], row.state)
    elif row.metadata_stale_seconds:
        yield Condition("broker_metadata_stale", UNREACHABLE)
    if (row.partition_headroom or 0) < 0:
        yield Condition("broker_partition_limit", PARTITION_LIMIT)


def _topic(row: rows.Topic) -> Iterator[Condition]:
    if row.offline_partitions:
        yield Condition("offline_partitions", None if row.uncounted else OFFLINE)
    if row.under_min_isr_partitions:
        yield Condition("under_min_isr", None if row.uncounted else UNDER_MIN_ISR)


def _source(row: rows.SourceRow) -> Iterator[Condition]:
    if row.up == 0:
        beans = row.source == Source.JMX
        yield Condition("jmx_down", Alert("KafkaWardenBlind", INFO)) if beans else Condition("sources_down", BLIND)


def _log_dir(row: rows.LogDir) -> Iterator[Condition]:
    if row.online == 0:
        yield Condition("log_dir_offline", named("KafkaLogDirOffline"))
    if row.used is not None and row.used > FILLING_ABOVE:
        kind, severity = ("full", CRITICAL) if row.used > FULL_ABOVE else ("filling", WARNING)
        yield Condition(f"log_dir_{kind}", Alert("KafkaLogDirFilling", severity))


def _log_dir_move(row: rows.LogDirMove) -> Iterator[Condition]:
    if row.eta == math.inf:
        yield Condition("log_dir_moves_never_end", STUCK)


def _client(row: rows.Client) -> Iterator[Condition]:
    if row.tokens is not None and row.tokens < 0:
        yield Condition("mutations_throttled", named("KafkaControllerMutationThrottled"))


def _exporter(row: rows.ExporterRow) -> Iterator[Condition]:
    if row.cluster_reachable == 0:
        yield Condition("cluster_unreachable", named("KafkaClusterUnreachable"))
    if row.controller_reachable == 0:
        yield Condition("controller_unreachable", named("KafkaNoActiveController"))
    if row.undescribed_topics:
        yield Condition("undescribed_topics", named("KafkaWardenAccessRefused"))
    if row.config_last_reload_successful == 0 or row.web_config_in_use == 0:
        yield Condition("configuration_not_used", named("KafkaWardenConfigurationNotUsed"))
    if row.dropped_series:
        yield Condition("series_dropped", None)
    if not all(row.history.values()):
        yield Condition("history_lost", HISTORY_LOST)
    if row.state_last_save_successful == 0:
        yield Condition("state_not_saved", HISTORY_LOST)


def _views(views: rows.Views) -> Iterator[Condition]:
    if not views.fresh and views.sidecar.cluster_reachable != 0:
        yield Condition("no_fresh_snapshot", named("KafkaWardenDown"))


def _noted(name: str, alert: str | None, problem: str) -> list[Condition]:
    return [Condition(name, None if alert is None else named(alert), problem)]


_CONDITIONS: Final[Mapping[type, Callable[[Any], Iterable[Condition]]]] = {
    rows.Views: _views,
    rows.Cluster: _cluster,
    rows.ExporterRow: _exporter,
    rows.Move: _move,
    rows.LogDirMove: _log_dir_move,
    rows.Replica: _replica,
    rows.BrokerRow: _broker,
    rows.Topic: _topic,
    rows.SourceRow: _source,
    rows.LogDir: _log_dir,
    rows.Client: _client,
    rows.ThrottleProblem: lambda row: _noted("throttle", THROTTLES[row.problem][1], row.problem),
    rows.TieredProblem: lambda row: _noted("tiered", TIERED[row.problem][1], row.problem),
}

_SENTENCES: Final[Mapping[type, Callable[[Any], str | None]]] = {
    rows.Move: why,
    rows.ThrottleProblem: lambda row: THROTTLES[row.problem][0],
    rows.TieredProblem: lambda row: TIERED[row.problem][0],
}
