"""What is wrong with a row, and its alert: the one list of what page, `/api/v1` and `top` rate, count and name.

A row is as severe as its alert, and so is a problem that counts rows. Something wrong that has no alert is `info`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import Cause
from kafka_warden.model import BrokerState, Source
from kafka_warden.views import rows
from kafka_warden.views.alerts import CRITICAL, INFO, RUNBOOKS, THROTTLES, TIERED, WARNING, Alert, named, why, worst

Row = TypeVar("Row")

NEAR_LIMIT: Final = 0.8
"""Share of the limit of partitions, `limit_near` of rules/thresholds.yml."""
FILLING_ABOVE: Final = 0.9
FULL_ABOVE: Final = 0.97
"""Used shares of a volume, `disk_full` and `disk_critical` of rules/thresholds.yml. What will be full soon is known to
Prometheus only."""

UNREACHABLE: Final = named("KafkaBrokerUnreachable")
"""Also of a broker that answers and is of no use: fenced, or with old metadata."""
OFFLINE: Final = named("KafkaPartitionOffline")
UNDER_MIN_ISR: Final = named("KafkaPartitionUnderMinIsr")
OUT_OF_SYNC: Final = named("KafkaReplicasOutOfSync")
PARTITION_LIMIT: Final = named("KafkaPartitionLimit")
STUCK: Final = named("KafkaReassignmentStuck")
LATE: Final = named("KafkaReassignmentWillMissItsTime")
BLIND: Final = Alert("KafkaWardenBlind", WARNING)
EXPLAINED: Final[Mapping[str, Alert]] = {Cause.LEADER_UNRESPONSIVE: UNREACHABLE, Cause.NO_LEADER: OFFLINE}
"""Cause of a stuck move to the alert that reports it instead: those of `stuck.EXPLAINED`."""

UNAVAILABLE: Final[Mapping[str, tuple[str, Alert | None]]] = {
    BrokerState.UNANSWERING: ("not answering", UNREACHABLE),
    BrokerState.NO_LISTENER: ("without the listener that the exporter uses", BLIND),
    BrokerState.GONE: ("gone from the cluster", UNREACHABLE),
    BrokerState.FENCED: ("fenced", UNREACHABLE),
    BrokerState.SHUTTING_DOWN: ("shutting down", None),
}
"""State of a broker to words, and the alert."""

HINT: Final = "hint"
"""Name of a condition that no problem counts."""


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


def conditions(row: Any) -> Sequence[Condition]:
    """Return what is wrong with a row: the one list of what the page rates, counts and names."""
    return _CONDITIONS[type(row)](row) if type(row) in _CONDITIONS else ()


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


_BEHIND: Final = (Condition(HINT, None),)
_OUT_OF_SYNC: Final = (Condition("out_of_sync", OUT_OF_SYNC),)


def _that_hold(*tests: tuple[object, str, Alert | None]) -> list[Condition]:
    """Return those of which the first part is true."""
    return [Condition(name, alert) for holds, name, alert in tests if holds]


def _stuck(causes: Iterable[str]) -> list[Condition]:
    """Return the conditions of moves that are stuck for these causes."""
    return [Condition("stuck", EXPLAINED.get(cause, STUCK), cause) for cause in causes]


def _near_limit(row: rows.Cluster | rows.BrokerRow) -> bool:
    return bool(row.partition_limit) and (row.partitions or 0) >= NEAR_LIMIT * (row.partition_limit or 0)


def _move(row: rows.Move) -> list[Condition]:
    return _that_hold((row.never_ends, "never_ends", LATE)) if row.cause is None else _stuck([row.cause])


def _cluster(row: rows.Cluster) -> list[Condition]:
    """Return what is counted also without rows: of topics of topics.deny, and above the number that is kept."""
    return _stuck(row.stuck) + _that_hold(
        (row.offline_partitions, "offline_partitions", OFFLINE),
        (row.unknown_leader_partitions, "unknown_leaders", BLIND),
        (row.under_min_isr_partitions, "under_min_isr", UNDER_MIN_ISR),
        (row.uncounted, "uncounted_partitions", None),
        (row.out_of_sync, "out_of_sync", OUT_OF_SYNC),
        (_near_limit(row), "cluster_partition_limit", PARTITION_LIMIT),
        (row.never_ending or row.eta == math.inf, "never_ends", LATE),
        (row.log_dir_moves_never_ending, "log_dir_moves_never_end", STUCK),
    )


def _replica(row: rows.Replica) -> Sequence[Condition]:
    """Expect no replica that a move adds to be in sync."""
    if row.state == ReplicaState.MOVING:
        return ()
    return _BEHIND if row.out_of_sync_seconds is None else _OUT_OF_SYNC


def _topic(row: rows.Topic) -> list[Condition]:
    return _that_hold(
        (row.uncounted, HINT, None),
        (row.offline_partitions and not row.uncounted, HINT, OFFLINE),
        (row.under_min_isr_partitions and not row.uncounted, HINT, UNDER_MIN_ISR),
    )


def _broker(row: rows.BrokerRow) -> list[Condition]:
    state = row.state or ""
    found = [Condition("broker", UNAVAILABLE[state][1], state)] if state in UNAVAILABLE else []
    return found + _that_hold(
        (row.metadata_stale_seconds and not found, "broker_metadata_stale", UNREACHABLE),
        (_near_limit(row), "broker_partition_limit", PARTITION_LIMIT),
    )


def _log_dir(row: rows.LogDir) -> list[Condition]:
    used = row.used or 0.0
    return _that_hold(
        (row.online == 0, "log_dir_offline", named("KafkaLogDirOffline")),
        (used > FULL_ABOVE, "log_dir_full", Alert("KafkaLogDirFilling", CRITICAL)),
        (FILLING_ABOVE < used <= FULL_ABOVE, "log_dir_filling", Alert("KafkaLogDirFilling", WARNING)),
    )


def _source(row: rows.SourceRow) -> list[Condition]:
    beans = row.source == Source.JMX
    return _that_hold(
        (row.up == 0 and not beans, "sources_down", BLIND),
        (row.up == 0 and beans, "jmx_down", Alert("KafkaWardenBlind", INFO)),
    )


def _client(row: rows.Client) -> list[Condition]:
    return _that_hold(((row.tokens or 0) < 0, "mutations_throttled", named("KafkaControllerMutationThrottled")))


def _exporter(row: rows.ExporterRow) -> list[Condition]:
    unused = row.config_last_reload_successful == 0 or row.web_config_in_use == 0
    return _that_hold(
        (row.cluster_reachable == 0, "cluster_unreachable", named("KafkaClusterUnreachable")),
        (row.controller_reachable == 0, "controller_unreachable", named("KafkaNoActiveController")),
        (row.undescribed_topics, "undescribed_topics", named("KafkaWardenAccessRefused")),
        (unused, "configuration_not_used", named("KafkaWardenConfigurationNotUsed")),
        (row.dropped_series, "series_dropped", None),
        (not all(row.history.values()), "history_lost", named("KafkaWardenHistoryLost")),
        (row.state_last_save_successful == 0, "state_not_saved", named("KafkaWardenHistoryLost")),
    )


def _views(views: rows.Views) -> list[Condition]:
    known_why = views.fresh or views.sidecar.cluster_reachable == 0
    return _that_hold((not known_why, "no_fresh_snapshot", named("KafkaWardenDown")))


def _noted(name: str, alert: str | None, problem: str) -> list[Condition]:
    return [Condition(HINT, None) if alert is None else Condition(name, named(alert), problem)]


_CONDITIONS: Final[Mapping[type, Callable[[Any], Sequence[Condition]]]] = {
    rows.Views: _views,
    rows.Cluster: _cluster,
    rows.ExporterRow: _exporter,
    rows.Move: _move,
    rows.LogDirMove: lambda row: _that_hold((row.eta == math.inf, "log_dir_moves_never_end", STUCK)),
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
