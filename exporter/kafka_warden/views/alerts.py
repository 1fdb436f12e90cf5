"""Which alert a row has, and how severe that is: one answer for the status page, `/api/v1` and `top`.

A row is as severe as its alert, and so is a problem that counts rows. Something wrong that has no alert is `info`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, Final, NamedTuple

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblemName
from kafka_warden.derive.tiered import Problem as TieredProblemName
from kafka_warden.model import BrokerState, Source
from kafka_warden.views import rows
from kafka_warden.views.notes import THROTTLES, TIERED

CRITICAL, WARNING, INFO = SEVERITIES = ("critical", "warning", "info")
"""The worst first."""
MARKS: Final = {CRITICAL: "■", WARNING: "▲", INFO: "○"}
"""Beside a word that says the same: colour alone is not enough."""

ALERTS: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(severities)
    for line in resources.files("kafka_warden.views").joinpath("severities.txt").read_text().splitlines()
    for name, *severities in [line.split()]
}
"""Alert to its severities, the mildest first, as `make rules` writes it from the rules into this package."""


class Alert(NamedTuple):
    """An alert, at one of its severities."""

    name: str
    severity: str


def named(name: str) -> Alert:
    """Return the alert at its mildest severity."""
    return Alert(name, ALERTS[name][0])


UNREACHABLE: Final = named("KafkaBrokerUnreachable")
"""Also of a broker that answers and is of no use: fenced, or with old metadata."""
STUCK: Final = named("KafkaReassignmentStuck")
NEVER_ENDS: Final = named("KafkaReassignmentWillMissItsTime")
OUT_OF_SYNC: Final = named("KafkaReplicasOutOfSync")
PARTITION_LIMIT: Final = named("KafkaPartitionLimit")
LOG_DIR_OFFLINE: Final = named("KafkaLogDirOffline")
LOG_DIR_FILLING: Final = Alert("KafkaLogDirFilling", WARNING)
LOG_DIR_FULL: Final = Alert("KafkaLogDirFilling", CRITICAL)
FILLING_ABOVE: Final = 0.9
FULL_ABOVE: Final = 0.97
"""Used shares of a volume, `disk_full` and `disk_critical` of rules/thresholds.yml. What will be full soon is known to
Prometheus only."""
MUTATIONS: Final = named("KafkaControllerMutationThrottled")
OFFLINE: Final = named("KafkaPartitionOffline")
UNDER_MIN_ISR: Final = named("KafkaPartitionUnderMinIsr")
BLIND: Final = Alert("KafkaWardenBlind", WARNING)
JMX: Final = Alert("KafkaWardenBlind", INFO)

UNAVAILABLE: Final[Mapping[str, tuple[str, Alert | None]]] = {
    BrokerState.UNANSWERING: ("not answering", UNREACHABLE),
    BrokerState.NO_LISTENER: ("without the listener that the sidecar uses", BLIND),
    BrokerState.GONE: ("gone from the cluster", UNREACHABLE),
    BrokerState.FENCED: ("fenced", UNREACHABLE),
    BrokerState.SHUTTING_DOWN: ("shutting down", None),
}
"""State of a broker to words, and the alert."""

RUNBOOKS: Final = "alerts/runbooks/"
"""Folder of the runbooks, in the project and below the address of the status page."""


def runbook(alert: str | None) -> str | None:
    """Return the path of the runbook of the alert of this name."""
    return None if alert is None else f"{RUNBOOKS}{alert}.md"


def severity(alert: Alert | None) -> str:
    """Return how severe something wrong is that has this alert."""
    return INFO if alert is None else alert.severity


def worst(severities: Iterable[str]) -> str | None:
    """Return the worst of some severities; `None` for none."""
    return min(severities, key=SEVERITIES.index, default=None)


def alerts(row: Any) -> list[Alert | None]:
    """Return the alerts of a row: none if nothing is wrong with it, `None` for something wrong without an alert."""
    return list(_ALERTS[type(row)](row)) if type(row) in _ALERTS else []


def of_row(row: Any) -> str | None:
    """Return the severity of a row; `None` if nothing is wrong with it."""
    return worst(map(severity, alerts(row)))


def of_move(*, stuck: bool, never_ends: bool) -> Alert | None:
    """Return the alert of a move."""
    return STUCK if stuck else NEVER_ENDS if never_ends else None


def of_replica(state: str | None, out_of_sync_seconds: float | None) -> str | None:
    """Return the severity of a follower. One that a move adds is not expected to be in sync."""
    if state == ReplicaState.MOVING:
        return None
    return severity(None if out_of_sync_seconds is None else OUT_OF_SYNC)


def _broker(row: rows.BrokerRow) -> Iterator[Alert | None]:
    if row.state is not None and row.state in UNAVAILABLE:
        yield UNAVAILABLE[row.state][1]
    elif row.metadata_stale_seconds:
        yield UNREACHABLE
    if (row.partition_headroom or 0) < 0:
        yield PARTITION_LIMIT


def _topic(row: rows.Topic) -> Iterator[Alert | None]:
    if row.offline_partitions:
        yield None if row.uncounted else OFFLINE
    if row.under_min_isr_partitions:
        yield None if row.uncounted else UNDER_MIN_ISR


def _source(row: rows.SourceRow) -> Iterator[Alert]:
    if row.up == 0:
        yield JMX if row.source == Source.JMX else BLIND


def _log_dir(row: rows.LogDir) -> Iterator[Alert]:
    if row.online == 0:
        yield LOG_DIR_OFFLINE
    if row.used is not None and row.used > FILLING_ABOVE:
        yield LOG_DIR_FULL if row.used > FULL_ABOVE else LOG_DIR_FILLING


def _noted(alert: str | None) -> list[Alert | None]:
    return [None if alert is None else named(alert)]


_ALERTS: Final[Mapping[type, Callable[[Any], Iterable[Alert | None]]]] = {
    rows.BrokerRow: _broker,
    rows.Topic: _topic,
    rows.SourceRow: _source,
    rows.LogDir: _log_dir,
    rows.Client: lambda row: [MUTATIONS] if row.tokens is not None and row.tokens < 0 else [],
    rows.ThrottleProblem: lambda row: _noted(THROTTLES[ThrottleProblemName(row.problem)][1]),
    rows.TieredProblem: lambda row: _noted(TIERED[TieredProblemName(row.problem)][1]),
}
