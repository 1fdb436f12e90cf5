"""Marts of the job `backtest`."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

_RULE: Final = (
    Field("cluster_id", "string", "", "of the cluster"),
    Field("rule", "string", "", "an alert of `alerts/`, or a rule for when a replica is out of sync"),
    Field("threshold", "double", "of the rule", "threshold of this trial; null if it has none, or brokers set it"),
    Field("what_if", "boolean", "", "whether this trial is of `--what-if`"),
    Field("for_seconds", "double", "s", "how long the condition has to hold in this trial, with the look-back"),
)

ALARMS: Final = Mart(
    "alarms",
    "One row per rule, subject and time during which the rule's condition held.",
    (
        *_RULE,
        Field("subject", "map<string,string>", "", "label to value: the alarm's subject; empty: the whole cluster"),
        Field("began", "timestamp", "", "first poll in which the condition held"),
        Field("fired", "timestamp", "", "when it had held for `for`; null if it never did"),
        Field("ended", "timestamp", "", "first poll in which it no longer held; null while it does"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to the last poll"),
        Field("polls", "bigint", "", "polls in which it held"),
        Field("value_max", "double", "of the rule", "highest value that was compared with the threshold"),
        Field("would_fire", "boolean", "", "whether it held for `for`"),
        Field("true_alarm", "boolean", "", "whether there was a fault; null if unknown, or if it did not fire"),
    ),
    ("cluster_id", "rule", "threshold", "what_if", "for_seconds", "subject", "began"),
)

RULES: Final = Mart(
    "rules",
    "One row per cluster and trial of a rule: how often it would have fired, and how often there was a fault.",
    (
        *_RULE,
        Field("unit", "string", "", "of the threshold"),
        Field("alarms", "bigint", "", "alarms that would have fired"),
        Field("short", "bigint", "", "times that its condition did not hold for long enough"),
        Field("alarm_seconds", "double", "s", "duration of all alarms that fired"),
        Field("true_alarms", "bigint", "", "alarms with a fault; null if faults are unknown"),
        Field("false_alarms", "bigint", "", "alarms without a fault; null if faults are unknown"),
        Field("events", "bigint", "", "faults that it should detect; null if faults are unknown"),
        Field("missed", "bigint", "", "faults that it did not detect"),
        Field("delay_seconds", "double", "s", "median time from the begin of a detected fault until the rule fired"),
        Field("precision", "double", "ratio", "share of alarms with a fault; null without alarms"),
        Field("recall", "double", "ratio", "share of faults that it detected; null without faults"),
    ),
    ("cluster_id", "rule", "threshold", "what_if", "for_seconds"),
)

MARTS: Final = (ALARMS, RULES)
