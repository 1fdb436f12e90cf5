"""Sentences for causes and problems, and the runbook of each."""

from typing import Final

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import Cause
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblem
from kafka_warden.derive.tiered import Problem as TieredProblem

CAUSES: Final = {
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

STATES: Final = {
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

THROTTLES: Final = {
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

TIERED: Final = {
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
