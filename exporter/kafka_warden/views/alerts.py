"""Sentences for causes and problems, and the alerts with their severities: for page, `/api/v1` and `top`."""

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Final, NamedTuple

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import Cause
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblem
from kafka_warden.derive.tiered import Problem as TieredProblem
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


def why(move: rows.Move) -> str | None:
    """Return why a move is stuck, or has no end in sight; `None` while it advances."""
    waits = move.cause == Cause.COPIED_NOT_COMPLETED if move.cause else not move.never_ends
    if waits and not move.adding:
        return WAITS.format(broker=move.broker)
    if move.cause is not None:
        return CAUSES[move.cause].format(
            broker=move.broker, leader="without id" if move.leader is None else move.leader
        )
    if move.never_ends:
        return "Producers write more than it copies: at this rate it never ends."
    return "No ETA yet: the rate or the remaining bytes are not known." if move.eta is None else None


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


def worst(severities: Iterable[str]) -> str | None:
    """Return the worst of some severities; `None` for none."""
    return min(severities, key=SEVERITIES.index, default=None)


RUNBOOKS: Final = "alerts/runbooks/"
"""Folder of the runbooks, in the project and below the address of the status page."""
