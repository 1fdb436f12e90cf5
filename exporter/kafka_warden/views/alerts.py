"""Which alert a row has, and how severe that is: one answer for the status page, `/api/v1` and `top`.

A row is as severe as its alert, and so is a problem that counts rows. Something wrong that has no alert is `info`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, Final

from kafka_warden.formulas.replica_state import ReplicaState
from kafka_warden.formulas.throttle_problems import Problem as ThrottleProblemName
from kafka_warden.formulas.tiered_problems import Problem as TieredProblemName
from kafka_warden.model import BrokerState, Source
from kafka_warden.views import rows
from kafka_warden.views.notes import THROTTLES, TIERED

CRITICAL, WARNING, INFO = SEVERITIES = ("critical", "warning", "info")
"""The worst first."""
MARKS: Final = {CRITICAL: "■", WARNING: "▲", INFO: "○"}
"""Beside a word that says the same: colour alone is not enough."""

ALERTS: Final[Mapping[str, str]] = dict(
    line.split() for line in resources.files("kafka_warden.views").joinpath("severities.txt").read_text().splitlines()
)
"""Alert to severity, as `make rules` writes it from the rules into this package."""

UNAVAILABLE: Final[Mapping[str, tuple[str, str | None]]] = {
    BrokerState.UNANSWERING: ("not answering", "KafkaBrokerUnreachable"),
    BrokerState.NO_LISTENER: ("without the listener that the sidecar uses", "KafkaWardenBlind"),
    BrokerState.GONE: ("gone from the cluster", "KafkaBrokerUnreachable"),
    BrokerState.FENCED: ("fenced", "KafkaBrokerUnreachable"),
    BrokerState.SHUTTING_DOWN: ("shutting down", None),
}
"""State of a broker to words, and the alert."""

FENCED: Final = "KafkaBrokerFenced"
"""Of a broker that runs and answers, and that the controller does not see."""
STUCK: Final = "KafkaReassignmentStuck"
NEVER_ENDS: Final = "KafkaReassignmentWillMissItsTime"
OUT_OF_SYNC: Final = "KafkaReplicasOutOfSync"
METADATA_STALE: Final = "KafkaBrokerMetadataStale"
PARTITION_LIMIT: Final = "KafkaBrokerPartitionLimit"
LOG_DIR_OFFLINE: Final = "KafkaLogDirOffline"
LOG_DIR_FILLING: Final = "KafkaLogDirFilling"
NEARLY_FULL: Final = 0.9
"""Used share of a volume, `disk_full` of alerts/thresholds.yml. What will be full soon is known to Prometheus only."""
SERIES_DROPPED: Final = "KafkaWardenSeriesDropped"
MUTATIONS: Final = "KafkaControllerMutationThrottled"
OFFLINE: Final = "KafkaPartitionOffline"
UNDER_MIN_ISR: Final = "KafkaPartitionUnderMinIsr"
BLIND: Final = "KafkaWardenBlind"
JMX: Final = "KafkaWardenJmxUnreachable"


RUNBOOKS: Final = "alerts/runbooks/"
"""Folder of the runbooks, in the project and below the address of the status page."""


def runbook(alert: str | None) -> str | None:
    """Return the path of an alert's runbook."""
    return None if alert is None else f"{RUNBOOKS}{alert}.md"


def severity(alert: str | None) -> str:
    """Return how severe an alert is."""
    return INFO if alert is None else ALERTS[alert]


def worst(severities: Iterable[str]) -> str | None:
    """Return the worst of some severities; `None` for none."""
    return min(severities, key=SEVERITIES.index, default=None)


def alerts(row: Any) -> list[str | None]:
    """Return the alerts of a row: none if nothing is wrong with it, `None` for something wrong without an alert."""
    return list(_ALERTS[type(row)](row)) if type(row) in _ALERTS else []


def of_row(row: Any) -> str | None:
    """Return the severity of a row; `None` if nothing is wrong with it."""
    return worst(map(severity, alerts(row)))


def of_move(*, stuck: bool, never_ends: bool) -> str | None:
    """Return the alert of a move."""
    return STUCK if stuck else NEVER_ENDS if never_ends else None


def of_replica(state: str | None, out_of_sync_seconds: float | None) -> str | None:
    """Return the severity of a follower. One that a move adds is not expected to be in sync."""
    if state == ReplicaState.MOVING:
        return None
    return severity(None if out_of_sync_seconds is None else OUT_OF_SYNC)


def _broker(row: rows.BrokerRow) -> Iterator[str | None]:
    if row.fenced_responding:
        yield FENCED
    elif row.state is not None and row.state in UNAVAILABLE:
        yield UNAVAILABLE[row.state][1]
    elif row.metadata_stale_seconds:
        yield METADATA_STALE
    if (row.partition_headroom or 0) < 0:
        yield PARTITION_LIMIT


def _topic(row: rows.Topic) -> Iterator[str]:
    if row.offline_partitions:
        yield OFFLINE
    if row.under_min_isr_partitions:
        yield UNDER_MIN_ISR


def _source(row: rows.SourceRow) -> Iterator[str]:
    if row.up == 0:
        yield JMX if row.source == Source.JMX else BLIND


def _log_dir(row: rows.LogDir) -> Iterator[str]:
    if row.online == 0:
        yield LOG_DIR_OFFLINE
    if row.used is not None and row.used > NEARLY_FULL:
        yield LOG_DIR_FILLING


_ALERTS: Final[Mapping[type, Callable[[Any], Iterable[str | None]]]] = {
    rows.BrokerRow: _broker,
    rows.Topic: _topic,
    rows.SourceRow: _source,
    rows.LogDir: _log_dir,
    rows.Client: lambda row: [MUTATIONS] if row.tokens is not None and row.tokens < 0 else [],
    rows.ThrottleProblem: lambda row: [THROTTLES[ThrottleProblemName(row.problem)][1]],
    rows.TieredProblem: lambda row: [TIERED[TieredProblemName(row.problem)][1]],
}
