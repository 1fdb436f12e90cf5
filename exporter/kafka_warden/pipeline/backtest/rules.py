"""Rules that history can answer, with the numbers of `rules/thresholds.yml`.

Besides the alerts there are two rules for replicas out of sync: Kafka's by time, and the rule by messages that it
replaced (KIP-16; Hands-Free Kafka Replication). Their conditions are in `backtest.signals`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_warden.config import values
from kafka_warden.errors import ConfigError
from kafka_warden.rules.thresholds import numbers

BY_TIME: Final = "out_of_sync_by_time"
BY_MESSAGES: Final = "out_of_sync_by_messages"

_BEHIND: Final = ("broker_down", "slow_follower", "stuck_follower")
# A restart puts replicas out of sync too, but needs no alert.
_OUT: Final = (*_BEHIND, "restart")
_MOVE: Final = ("target_down", "throttle_below_inbound")
THRESHOLDS: Final = numbers()
THROTTLE_AGES: Final[Mapping[str, Mapping[str, float]]] = {
    "KafkaThrottleTooLow": {
        "blocked": THRESHOLDS["throttle_blocked_age"],
        "below_inbound": THRESHOLDS["throttle_below_age"],
        "holds_original": THRESHOLDS["throttle_originals_age"],
    },
    "KafkaThrottleInconsistent": {
        "lopsided": THRESHOLDS["throttle_lopsided_age"],
        "uneven": THRESHOLDS["throttle_uneven_age"],
    },
    "KafkaThrottleLeftBehind": {"left_behind": THRESHOLDS["throttle_left_age"]},
}
"""Rule to the problems that it is about, and the age (s) from which each one counts."""
_DROPPED: Final = 30.0
"""Seconds until a follower that makes no progress leaves the ISR: Kafka's default of `replica.lag.time.max.ms`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        name: Of the alert.
        threshold: None where the condition has none.
        unit: Of the threshold. A threshold in seconds is also the least duration of a fault.
        for_seconds: How long the condition has to hold.
        keep_seconds: `keep_firing_for`.
        lookback: Seconds for which a fault may end by itself before it counts: `broker_restart` or `stuck_wait` of
            thresholds.yml.
        shows_after: Seconds from a fault's start until brokers show it.
        known_by: Which polls can evaluate it: all (`polls`), or those with this column of `polls` true.
        detects: Kinds of faults that it detects; of others it knows nothing.
    """

    name: str
    threshold: float | None
    unit: str
    for_seconds: float
    keep_seconds: float
    known_by: str = "polls"
    detects: tuple[str, ...] = ()
    lookback: float = 0.0
    shows_after: float = 0.0

    @property
    def least_fault(self) -> float:
        """Seconds that a fault has to last so that the rule should detect it. Its what-ifs are measured by the same."""
        of_threshold = self.threshold or 0.0 if self.unit == "s" else 0.0
        return self.for_seconds + self.lookback + of_threshold + self.shows_after


def _alert(name: str, threshold: str = "", unit: str = "", *, wait: str, keep: str = "", **others: Any) -> Rule:
    """Return the rule of an alert with `for: ${WAIT_for}` and `keep_firing_for: ${WAIT_keep}`, or `${KEEP_keep}`."""
    number = THRESHOLDS[threshold] if threshold else None
    return Rule(name, number, unit, THRESHOLDS[f"{wait}_for"], THRESHOLDS[f"{keep or wait}_keep"], **others)


RULES: Final = (
    # Kafka's default of 0.8; by time each leader's own replica.lag.time.max.ms.
    Rule(BY_MESSAGES, 4000.0, "messages", 0.0, 0.0, detects=_OUT),
    Rule(BY_TIME, None, "s", 0.0, 0.0, detects=_OUT),
    # The look-back is for causes that may end by themselves; the alert is faster for the others.
    _alert(
        "KafkaReassignmentStuck",
        wait="stuck",
        known_by="reassignments_known",
        detects=_MOVE,
        lookback=THRESHOLDS["stuck_wait"],
    ),
    # The threshold is moves.deadline of the sidecar, so history has it.
    _alert("KafkaReassignmentWillMissItsTime", unit="s", wait="miss", known_by="reassignments_known"),
    # The threshold is for brokers without a stuck replica.
    _alert(
        "KafkaReplicasOutOfSync",
        "out_of_sync_restart",
        "s",
        wait="out_of_sync",
        detects=_BEHIND,
        shows_after=_DROPPED,
    ),
    _alert("KafkaPartitionUnderMinIsr", wait="under_min_isr"),
    _alert("KafkaPartitionOffline", wait="offline"),
    _alert("KafkaPartitionLimit", "limit_near", "ratio", wait="limit"),
    *(_alert(name, wait="throttle", known_by="throttles_known") for name in THROTTLE_AGES),
    _alert(
        "KafkaControllerMutationThrottled", "throttled_share", "ratio", wait="throttled", known_by="mutations_known"
    ),
    _alert("KafkaLogDirOffline", wait="log_dir"),
    # The threshold is for topics that fall behind.
    _alert("KafkaRemoteCopyHeldBack", "copy_overdue", "bytes", wait="held_back", keep="copy"),
    _alert("KafkaRemoteFetchHeldBack", wait="held_back"),
    # As the alert fires after an orderly shutdown; a death fires without the look-back.
    _alert("KafkaBrokerUnreachable", wait="broker", detects=("broker_down",), lookback=THRESHOLDS["broker_restart"]),
)
BY_NAME: Final = {rule.name: rule for rule in RULES}
KINDS: Final = frozenset(kind for rule in RULES for kind in rule.detects)
"""Kinds of faults that a rule detects."""

UNKNOWN_FOR: Final = THRESHOLDS["cluster_known"]
"""Seconds for which an alarm continues while its condition is unknown."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule with a threshold and a duration to try."""

    rule: Rule
    threshold: float | None
    for_seconds: float
    what_if: bool = False

    @property
    def wanted(self) -> float:
        """Seconds for which the condition has to hold, including the look-back."""
        return self.for_seconds + self.rule.lookback


def trials(what_if: Sequence[Trial]) -> tuple[Trial, ...]:
    """List every rule as it is, then the what-ifs, each rule of them also as it is."""
    usual = tuple(Trial(rule, rule.threshold, rule.for_seconds) for rule in RULES)
    # What-ifs are of the raw rows only, so they are compared with the rule as it is over these.
    asked = (each for tried in what_if for each in (tried, replace(usual[RULES.index(tried.rule)], what_if=True)))
    return (*usual, *dict.fromkeys(asked))


def read_what_if(text: str) -> tuple[Trial, ...]:
    """Read `RULE=THRESHOLD,...@FOR,...`: every threshold with every duration. One of both lists may be left out.

    Raises:
        ConfigError: another form, an unknown rule, or a threshold of a rule that has none.
    """
    name, _, tried = text.partition("=")
    numbers, at, durations = tried.partition("@")
    rule = BY_NAME.get(name)
    if rule is None or (numbers and not rule.unit):
        problem = f"there is no rule {name!r}" if rule is None else f"{name} has no threshold"
        others = ", ".join(sorted(other.name for other in RULES if other.unit))
        raise ConfigError(f"--what-if {text}: {problem}; rules with a threshold: {others}; others only have @FOR")
    try:
        if not tried:
            raise ValueError(text)  # noqa: TRY301  # one message for all forms
        thresholds = [_threshold(each) for each in numbers.split(",")] if numbers else [rule.threshold]
        times = [_duration(each) for each in durations.split(",")] if at else [rule.for_seconds]
    except ValueError:
        example = "" if not rule.unit else f"{60 if rule.threshold is None else rule.threshold:g}"
        form = f"{name}={'THRESHOLD' if rule.unit else ''}@FOR"
        of = f" in {rule.unit}" if rule.unit else ""
        raise ConfigError(f"--what-if {text}: expected {form}{of}, such as {name}={example}@5m") from None
    return tuple(Trial(rule, threshold, seconds, what_if=True) for threshold in thresholds for seconds in times)


def _threshold(text: str) -> float:
    number = float(text)
    if not number >= 0:
        raise ValueError(text)
    return number


def _duration(text: str) -> float:
    return 0.0 if text in {"0", "0s"} else values.duration(text)
