"""Sentences for causes and problems, which alert a row has, and how severe that is: for page, `/api/v1` and `top`.

A row is as severe as its alert, and so is a problem that counts rows. Something wrong that has no alert is `info`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, Final, NamedTuple

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import Cause
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblem
from kafka_warden.derive.tiered import Problem as TieredProblem
from kafka_warden.model import BrokerState, Source
from kafka_warden.views import rows

CAUSES: Final[Mapping[str, str]] = {
    Cause.TARGET_DOWN: "Broker {broker}, whose replica has to be in sync first, does not answer or is fenced.",
    Cause.LEADER_UNRESPONSIVE: "Broker {leader}, which leads the partition, does not answer.",
    Cause.NO_LEADER: "The partition has no leader to copy from.",
    Cause.LOG_DIR_OFFLINE: "The log directory of the replica on broker {broker} is offline.",
    Cause.LOG_DIR_FULL: "The log directory of the replica on broker {broker} is full.",
    Cause.TARGET_DISK_TOO_SMALL: "The moves to a log directory of broker {broker} need more space than it has left.",
    Cause.FETCHER_FAILED: "A replica fetcher of broker {broker} has failed.",
    Cause.AUX_STATE_ERROR: "Broker {broker} cannot read the state of the partition in remote storage.",
    Cause.THROTTLE_BLOCKED: "A throttle of 0 lets nothing through.",
    Cause.THROTTLE_BELOW_INBOUND: "Producers write more than the throttle lets through.",
    Cause.COPIED_NOT_COMPLETED: "Everything is copied, but the controller does not complete the move. Kafka may wait "
    "for a replica that stays: look for one that is out of sync.",
    Cause.NO_PROGRESS: "Nothing is copied, without a known cause: look at the logs of brokers {leader} and {broker}.",
}

NOT_AVAILABLE: Final = {
    "authorization": "not available: no right",
    "unsupported": "not available: version of Kafka",
    "disabled": "not available: sources.disable",
    "unreachable": "not available: out of reach",
}
"""By reason."""

STATES: Final[Mapping[str, str]] = {
    ReplicaState.OFFLINE: "the broker is down, or its log directory is offline",
    ReplicaState.LEADER_UNAVAILABLE: "there is no leader that answers",
    ReplicaState.UNKNOWN: "not known yet",
    ReplicaState.IN_SYNC: "left the ISR just now",
    ReplicaState.MOVING: "being moved",
    ReplicaState.BOOTSTRAPPING: "copying from scratch",
    ReplicaState.THROTTLED: "held back by a throttle",
    ReplicaState.STUCK: "does not advance",
    ReplicaState.SLOW: "advances, but not faster than its leader",
    ReplicaState.RECOVERING: "catching up",
}

THROTTLES: Final[Mapping[str, tuple[str, str | None]]] = {
    ThrottleProblem.BLOCKED: ("The limit is 0: nothing gets through.", "KafkaThrottleTooLow"),
    ThrottleProblem.BELOW_INBOUND: (
        "Producers write more than the limit lets through: replicas never catch up.",
        "KafkaThrottleTooLow",
    ),
    ThrottleProblem.UNEVEN: ("The brokers of one move have different limits or lists.", "KafkaThrottleInconsistent"),
    ThrottleProblem.LOPSIDED: (
        "The limit or the list of replicas is missing on one side, so the throttle does not hold as it was meant.",
        "KafkaThrottleInconsistent",
    ),
    ThrottleProblem.LEFT_BEHIND: (
        "Nothing needs this throttle any more. It slows the next replica that falls behind.",
        "KafkaThrottleLeftBehind",
    ),
    ThrottleProblem.HOLDS_ORIGINAL: (
        "The throttle holds back a replica that was in sync and is not being moved.",
        "KafkaThrottleTooLow",
    ),
    ThrottleProblem.FETCH_SIZE: (
        "One round of fetch responses is larger than the limit allows in a quota window.",
        None,
    ),
    ThrottleProblem.IDLE_RATE: ("A limit is set and no list names a replica: it throttles nothing.", None),
}

TIERED: Final[Mapping[str, tuple[str, str | None]]] = {
    TieredProblem.COPY_HELD_BACK: ("The copy quota holds back segments that are overdue.", "KafkaRemoteCopyHeldBack"),
    TieredProblem.FETCH_HELD_BACK: ("The fetch quota holds back consumers.", "KafkaRemoteFetchHeldBack"),
    TieredProblem.COPY_QUOTA_BELOW_SEGMENT: ("One segment is larger than the copy quota allows in its window.", None),
    TieredProblem.CLIENT_FETCH_QUOTA_ABOVE: ("One client alone may use up the fetch quota.", None),
}


WAITS: Final = "Nothing is left to copy. The move ends when the replica on broker {broker}, which stays, is in sync."
"""Of a move that only removes replicas."""


def cause_of(cause: Cause, broker: int, leader: int | None, *, adding: bool) -> str:
    """Return the sentence for a stuck move."""
    if cause is Cause.COPIED_NOT_COMPLETED and not adding:
        return WAITS.format(broker=broker)
    return CAUSES[cause].format(broker=broker, leader="without id" if leader is None else leader)


def why_no_eta(*, known: bool, never: bool | None) -> str | None:
    """Return why a move that is not stuck has no end in sight; `None` for one that has."""
    if never:
        return "Producers write more than it copies: at this rate it never ends."
    return None if known else "No ETA yet: the rate or the remaining bytes are not known."


def source_state(up: float | None, not_available: str | None) -> str:
    """Return the state of a source in words."""
    if not_available is not None:
        return NOT_AVAILABLE[not_available]
    return "answered" if up else "not answered"


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
    BrokerState.NO_LISTENER: ("without the listener that the exporter uses", BLIND),
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


_EXPLAINED: Final[Mapping[str, Alert]] = {Cause.LEADER_UNRESPONSIVE: UNREACHABLE, Cause.NO_LEADER: OFFLINE}
"""Cause of a stuck move to the alert that reports it instead: those of `stuck.EXPLAINED`."""


def of_stuck(cause: str) -> Alert:
    """Return the alert of a move that is stuck for this cause."""
    return _EXPLAINED.get(cause, STUCK)


def of_move(stuck: str | None, *, never_ends: bool) -> Alert | None:
    """Return the alert of a move; `stuck` is the cause."""
    return of_stuck(stuck) if stuck is not None else NEVER_ENDS if never_ends else None


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
    rows.LogDirMove: lambda row: [STUCK] if row.eta == math.inf else [],
    rows.Client: lambda row: [MUTATIONS] if row.tokens is not None and row.tokens < 0 else [],
    rows.ThrottleProblem: lambda row: _noted(THROTTLES[row.problem][1]),
    rows.TieredProblem: lambda row: _noted(TIERED[row.problem][1]),
}
