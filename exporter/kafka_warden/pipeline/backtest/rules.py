"""Rules that a history can answer, with their numbers: those of `alerts/thresholds.yml`, which a test compares.

Beside the alerts stand two rules for when a replica is out of sync: Kafka's by time, and the one by messages that it
replaced (KIP-16; Hands-Free Kafka Replication). What they need of a poll is in `backtest.signals`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.errors import ConfigError

BY_TIME: Final = "out_of_sync_by_time"
BY_MESSAGES: Final = "out_of_sync_by_messages"

_BEHIND: Final = ("broker_down", "slow_follower", "stuck_follower")
# Out of sync a replica is while its broker restarts, too, though nobody has to know.
_OUT: Final = (*_BEHIND, "restart")
_MOVE: Final = ("target_down", "throttle_below_inbound")
_THROTTLE: Final[Mapping[str, str]] = {
    "KafkaThrottleBlocked": "blocked",
    "KafkaThrottleBelowInbound": "below_inbound",
    "KafkaThrottleHoldsOriginals": "holds_original",
    "KafkaThrottleLopsided": "lopsided",
    "KafkaThrottleUneven": "uneven",
    "KafkaThrottleLeftBehind": "left_behind",
}
MINUTE: Final = 60.0
_DROPPED: Final = 30.0
"""Seconds until a follower that gets no further is out of the ISR: Kafka's default of `replica.lag.time.max.ms`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        name: Of the alert.
        threshold: What its condition compares with; None where it has nothing to compare with.
        unit: Of the threshold; seconds are what a fault has to last, too.
        for_seconds: For how long the condition has to hold.
        keep_seconds: For how long the alarm goes on without, so that two are one.
        lookback: Seconds for which a source may fail to answer before that counts: `answered` of thresholds.yml.
        shows_after: Seconds of a fault that pass before brokers show what its condition goes by.
        told_by: What the sidecar has to know: `polls`, or a column of `polls` that is true then.
        tells_of: Kinds of faults that it is there for; of others it knows nothing.
        problem: Of a throttle or of tiered storage, where it is about one.
    """

    name: str
    threshold: float | None
    unit: str
    for_seconds: float
    keep_seconds: float
    told_by: str = "polls"
    tells_of: tuple[str, ...] = ()
    problem: str | None = None
    lookback: float = 0.0
    shows_after: float = 0.0

    @property
    def wanted(self) -> float:
        """Seconds for which the condition has to hold in all."""
        return self.for_seconds + self.lookback


RULES: Final = (
    # Kafka's default of 0.8; by time each leader's own replica.lag.time.max.ms.
    Rule(BY_MESSAGES, 4000.0, "messages", 0.0, 0.0, tells_of=_OUT),
    Rule(BY_TIME, None, "s", 0.0, 0.0, tells_of=_OUT),
    Rule("KafkaReassignmentStuck", None, "", 5 * MINUTE, 5 * MINUTE, "reassignments_known", _MOVE),
    # The threshold is moves.deadline of the sidecar, so history has it.
    Rule("KafkaReassignmentWillMissItsTime", None, "s", 15 * MINUTE, 10 * MINUTE, "reassignments_known"),
    Rule("KafkaReplicaOutOfSyncTooLong", 600.0, "s", MINUTE, 2 * MINUTE, tells_of=_BEHIND, shows_after=_DROPPED),
    Rule("KafkaReplicaStuck", None, "", 5 * MINUTE, 5 * MINUTE, tells_of=("stuck_follower",)),
    Rule("KafkaReplicaSlow", None, "", 15 * MINUTE, 10 * MINUTE, tells_of=("slow_follower",)),
    Rule("KafkaReplicaBootstrappingTooLong", 7200.0, "s", MINUTE, 5 * MINUTE),
    Rule(
        "KafkaPartitionUnderReplicated",
        900.0,
        "s",
        MINUTE,
        5 * MINUTE,
        "under_replicated_known",
        _BEHIND,
        shows_after=_DROPPED,
    ),
    Rule("KafkaPartitionUnderMinIsr", None, "", 2 * MINUTE, 5 * MINUTE, "min_isr_known"),
    Rule("KafkaPartitionOffline", None, "", 2 * MINUTE, 5 * MINUTE),
    Rule("KafkaBrokerNearPartitionLimit", 0.8, "ratio", 30 * MINUTE, 15 * MINUTE),
    Rule("KafkaBrokerOverPartitionLimit", 1.0, "ratio", 15 * MINUTE, 15 * MINUTE),
    Rule("KafkaClusterNearPartitionLimit", 0.8, "ratio", 30 * MINUTE, 15 * MINUTE),
    Rule("KafkaClusterOverPartitionLimit", 1.0, "ratio", 15 * MINUTE, 15 * MINUTE),
    *(
        Rule(name, None, "", minutes * MINUTE, 5 * MINUTE, "throttles_known", problem=_THROTTLE[name])
        for name, minutes in zip(_THROTTLE, (5, 10, 5, 10, 15, 15), strict=True)
    ),
    Rule("KafkaControllerMutationThrottled", None, "", 10 * MINUTE, 5 * MINUTE, "mutations_known"),
    Rule("KafkaControllerMutationTokensDraining", 0.2, "ratio", 15 * MINUTE, 10 * MINUTE, "mutations_known"),
    Rule("KafkaLogDirOffline", None, "", 2 * MINUTE, 5 * MINUTE),
    Rule("KafkaRemoteCopyLagGrowing", float(1 << 30), "bytes", 30 * MINUTE, 15 * MINUTE),
    Rule("KafkaRemoteStorageErrors", None, "", 15 * MINUTE, 10 * MINUTE),
    Rule("KafkaRemoteCopyHeldBack", None, "", 15 * MINUTE, 10 * MINUTE, problem="copy_held_back"),
    Rule("KafkaRemoteFetchHeldBack", None, "", 15 * MINUTE, 10 * MINUTE, problem="fetch_held_back"),
    Rule(
        "KafkaWardenBrokerUnreachable", None, "", 5 * MINUTE, 5 * MINUTE, tells_of=("broker_down",), lookback=2 * MINUTE
    ),
    Rule("KafkaWardenJmxUnreachable", None, "", 15 * MINUTE, 10 * MINUTE, lookback=2 * MINUTE),
)
BY_NAME: Final = {rule.name: rule for rule in RULES}

REMEMBERED: Final = 6 * 3600.0
"""Seconds through which an alarm goes on while nobody can tell: `remembered` of thresholds.yml."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule with a threshold to try."""

    rule: Rule
    threshold: float | None
    what_if: bool = False


def trials(what_if: Sequence[tuple[str, float]]) -> tuple[Trial, ...]:
    """List every rule as it is, and each what-if beside it."""
    usual = tuple(Trial(rule, rule.threshold) for rule in RULES)
    return (*usual, *(Trial(BY_NAME[name], threshold, what_if=True) for name, threshold in dict.fromkeys(what_if)))


def read_what_if(text: str) -> tuple[str, float]:
    """Read `RULE=THRESHOLD`.

    Raises:
        ConfigError: it is not of that form, there is no such rule, or it has no threshold.
    """
    name, _, number = text.partition("=")
    rule = BY_NAME.get(name)
    if rule is None:
        raise ConfigError(f"--what-if {text}: there is no rule {name!r}; with a threshold are {_with_threshold()}")
    if not rule.unit:
        raise ConfigError(f"--what-if {text}: {name} has no threshold; there is one of {_with_threshold()}")
    try:
        threshold = float(number)
    except ValueError:
        threshold = -1.0
    if not threshold >= 0:
        raise ConfigError(
            f"--what-if {text}: expected {name}=THRESHOLD in {rule.unit}, such as {name}={_example(rule)}"
        )
    return name, threshold


def _with_threshold() -> str:
    return ", ".join(sorted(rule.name for rule in RULES if rule.unit))


def _example(rule: Rule) -> str:
    return f"{rule.threshold if rule.threshold is not None else 60:g}"
