"""The rules of a backtest: every alert that history can answer, with the thresholds and durations to try."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from kafka_warden.config import values
from kafka_warden.errors import ConfigError, PromqlError
from kafka_warden.formatting import in_time
from kafka_warden.pipeline import rule_runs, samples
from kafka_warden.pipeline.promql import look_back
from kafka_warden.rules import render
from kafka_warden.rules.thresholds import numbers, thresholds

BY_TIME: Final = "out_of_sync_by_time"
BY_MESSAGES: Final = "out_of_sync_by_messages"
_FOLLOWER: Final = "by (cluster, topic, partition, broker)"

# A restart puts replicas out of sync too, but needs no alert.
_OUT: Final = ("broker_down", "slow_follower", "stuck_follower", "restart")
_MOVE: Final = ("target_down", "throttle_below_inbound")
_DETECTS: Final = {
    "KafkaReassignmentStuck": _MOVE,
    # It leaves a broker that is down to KafkaBrokerUnreachable.
    "KafkaReplicasOutOfSync": ("slow_follower", "stuck_follower"),
    "KafkaBrokerUnreachable": ("broker_down",),
}
"""Alert to the kinds of faults that it detects; of others it knows nothing."""
KINDS: Final = frozenset(_OUT) | {kind for kinds in _DETECTS.values() for kind in kinds}
_THRESHOLDS: Final = {
    "KafkaControllerMutationThrottled": "throttled_share",
    "KafkaLogDirFilling": "disk_full",
    "KafkaPartitionLimit": "limit_near",
    "KafkaRemoteCopyHeldBack": "copy_overdue",
    "KafkaReplicasOutOfSync": "out_of_sync_restart",
}
"""Alert to the name of the threshold that a what-if changes. Of several, the one for the most usual cause."""
_OPTIONS: Final = {"KafkaReassignmentWillMissItsTime": "kafka_warden_reassignment_deadline_seconds"}
"""Alert to the metric of the sidecar's option that is its threshold, in seconds; history has it."""
_LOOKBACKS: Final = {"KafkaReassignmentStuck": "stuck_wait", "KafkaBrokerUnreachable": "broker_restart"}
"""Alert to the time for which a fault may end by itself before it counts, where the alert is not faster."""
_SHOWS_AFTER: Final = {"KafkaReplicasOutOfSync": 30.0}
"""Seconds until brokers show a fault: Kafka's default of `replica.lag.time.max.ms` for a follower to leave the ISR."""
LONGEST: Final = samples.BUCKET
"""Seconds before those whose alarms are found, which rules look back to: `alarms.CHUNK`."""
UNANSWERED: Final = {
    "KafkaClusterUnreachable": "kafka_warden_cluster_reachable",
    "KafkaNoActiveController": "kafka_warden_controller_reachable",
}
"""Alert to the metric without which it never fires. History lacks it."""
_OF_SIDECAR: Final = "sidecar.rules.yml"
"""Its alerts are about the sidecar and its scrapes, which history does not have."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        name: Of the alert.
        threshold: None where the condition has none.
        unit: Of the threshold. A threshold in seconds is also the least duration of a fault.
        for_seconds: How long the condition has to hold.
        lookback: Seconds for which a fault may end by itself before it counts, besides `for`.
        shows_after: Seconds from a fault's start until brokers show it.
        detects: Kinds of faults that it detects.
        names: What the threshold and `for` are called in thresholds.yml.
        option: The metric that has the threshold, if it is an option of the sidecar.
    """

    name: str
    threshold: float | None
    unit: str
    for_seconds: float = 0.0
    lookback: float = 0.0
    shows_after: float = 0.0
    detects: tuple[str, ...] = ()
    names: tuple[str, str] = ("", "")
    option: str = ""

    @property
    def is_of_followers(self) -> bool:
        """Whether it is no alert, but a rule for when a follower is out of sync."""
        return self.name in {BY_MESSAGES, BY_TIME}

    @property
    def least_fault(self) -> float:
        """Seconds that a fault has to last so that the rule should detect it. Its what-ifs are measured by the same."""
        of_threshold = self.threshold or 0.0 if self.unit == "s" else 0.0
        return self.for_seconds + self.lookback + of_threshold + self.shows_after


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule with a threshold and a duration to try."""

    rule: Rule
    threshold: float | None
    for_seconds: float
    what_if: bool = False

    @property
    def wanted(self) -> float:
        """Seconds for which a fault has to last, including the look-back, for the alert to fire at the latest."""
        return self.for_seconds + self.rule.lookback

    @property
    def is_usual(self) -> bool:
        """Whether it runs the rules as they are."""
        return not self.changed and (not self.rule.option or self.threshold is None)

    @property
    def changed(self) -> Mapping[str, str]:
        """The text of each threshold that differs from the usual ones."""
        pairs = zip(self.rule.names, (self.threshold, self.for_seconds), strict=True)
        usual = numbers()
        return {
            name: _written(value, _UNITS[name])
            for name, value in pairs
            if name and value is not None and usual[name] != value
        }


_UNITS: Final = {name: each.unit for name, each in thresholds().items()}
_SHORT: Final = {"duration": "s", "seconds": "s"}


def _written(value: float, unit: str) -> str:
    return f"{round(value * 1000)}ms" if unit == "duration" else f"{value:g}"


@cache
def texts(changed: frozenset[tuple[str, str]] = frozenset()) -> tuple[str, ...]:
    """Render the rules of all subjects but the sidecar, with some thresholds changed."""
    values_ = render.Values(thresholds=dict(changed))
    return tuple(render.rules(each, values_) for each in render.templates() if each.name != _OF_SIDECAR)


@cache
def parsed(changed: frozenset[tuple[str, str]], name: str = "") -> Sequence[rule_runs.Rule]:
    """Return the rules that an alert needs, or all alerts."""
    every = rule_runs.read_rules(*texts(changed))
    return rule_runs.needed(every, lambda rule: rule.is_alert and name in {"", rule.name})


@cache
def rules() -> tuple[Rule, ...]:
    """List the rules: of followers, then every alert that history can answer."""
    names = {name: name for name in _UNITS}
    alerts: dict[str, dict[str, Any]] = {}
    for template in render.templates():
        if template.name != _OF_SIDECAR:
            for alert in render.alerts(render.rules(template, numbers=names)):
                alerts.setdefault(alert["alert"], alert)
    value = numbers()
    found = [
        # Kafka's default of 0.8; by time each leader's own replica.lag.time.max.ms.
        Rule(BY_MESSAGES, 4000.0, "messages", detects=_OUT),
        Rule(BY_TIME, None, "s", detects=_OUT),
    ]
    for name, alert in alerts.items():
        if name in UNANSWERED:
            continue
        of = _THRESHOLDS.get(name, "")
        found.append(
            Rule(
                name,
                value[of] if of else None,
                _SHORT.get(_UNITS[of], _UNITS[of]) if of else "s" if name in _OPTIONS else "",
                value[alert["for"]],
                value[_LOOKBACKS[name]] if name in _LOOKBACKS else 0.0,
                _SHOWS_AFTER.get(name, 0.0),
                _DETECTS.get(name, ()),
                (of, alert["for"]),
                _OPTIONS.get(name, ""),
            )
        )
    return tuple(found)


@cache
def rules_of(trial: Trial) -> Sequence[rule_runs.Rule]:
    """Return the rules that a trial runs."""
    if not trial.rule.is_of_followers:
        return parsed(frozenset(trial.changed.items()), trial.rule.name)
    if trial.rule.name == BY_MESSAGES:
        expression = f"max {_FOLLOWER} ({samples.LAG}) >= {trial.threshold:g}"
    elif trial.threshold is None:
        late = f"{samples.BEHIND} and on (cluster, instance, topic, partition, broker) ({samples.LATE} == 1)"
        expression = f"max {_FOLLOWER} ({late})"
    else:
        expression = f"max {_FOLLOWER} ({samples.BEHIND}) > {trial.threshold:g}"
    hold = _written(trial.for_seconds, "duration")
    return rule_runs.read_rules(
        f"groups: [{{rules: [{{alert: {trial.rule.name}, expr: '{expression}', for: {hold}}}]}}]"
    )


def trials(what_if: Sequence[Trial]) -> tuple[Trial, ...]:
    """List every rule as it is, then the what-ifs, each rule of them also as it is."""
    usual = {rule.name: Trial(rule, rule.threshold, rule.for_seconds) for rule in rules()}
    # What-ifs are of the raw rows only, so they are compared with the rule as it is over these.
    asked = (each for tried in what_if for each in (tried, replace(usual[tried.rule.name], what_if=True)))
    return (*usual.values(), *dict.fromkeys(asked))


def read_what_if(text: str) -> tuple[Trial, ...]:
    """Read `RULE=THRESHOLD,...@FOR,...`: every threshold with every duration. One of both lists may be left out.

    Raises:
        ConfigError: another form, an unknown rule, a threshold of a rule that has none, or no rule with these numbers.
    """
    name, _, tried = text.partition("=")
    numbers_, at, durations = tried.partition("@")
    rule = {rule.name: rule for rule in rules()}.get(name)
    if rule is None or (numbers_ and not rule.unit):
        problem = f"there is no rule {name!r}" if rule is None else f"{name} has no threshold"
        others = ", ".join(sorted(other.name for other in rules() if other.unit))
        raise ConfigError(f"--what-if {text}: {problem}; rules with a threshold: {others}; others only have @FOR")
    try:
        if not tried:
            raise ValueError(text)  # noqa: TRY301  # one message for all forms
        thresholds = [_threshold(each) for each in numbers_.split(",")] if numbers_ else [rule.threshold]
        times = [_duration(each) for each in durations.split(",")] if at else [rule.for_seconds]
    except ValueError:
        example = "" if not rule.unit else f"{60 if rule.threshold is None else rule.threshold:g}"
        form = f"{name}={'THRESHOLD' if rule.unit else ''}@FOR"
        of = f" in {rule.unit}" if rule.unit else ""
        raise ConfigError(f"--what-if {text}: expected {form}{of}, such as {name}={example}@5m") from None
    found = tuple(Trial(rule, threshold, seconds, what_if=True) for threshold in thresholds for seconds in times)
    try:
        longest = max(map(_looks_back, found))
    except PromqlError as failure:
        why, *_ = str(failure).partition(": ")
        raise ConfigError(f"--what-if {text}: Prometheus cannot read the rule with it: {why}") from None
    if longest > LONGEST:
        raise ConfigError(
            f"--what-if {text}: with it the rule looks back for {in_time(longest)}; {in_time(LONGEST)} is the most"
        )
    return found


def _looks_back(trial: Trial) -> float:
    """Return the seconds before an alarm fires whose samples its rule needs."""
    run = rules_of(trial)
    return max(trial.wanted, *(rule.hold for rule in run)) + max(look_back(rule.expression) for rule in run)


def _threshold(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError(text)
    return number


def _duration(text: str) -> float:
    return 0.0 if text in {"0", "0s"} else values.duration(text)
