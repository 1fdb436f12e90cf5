"""Marts of the job `backtest`."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

_RULE: Final = (
    Field("cluster_id", "string", "", "of the cluster"),
    Field("rule", "string", "", "an alert of `alerts/`, or a rule for when a replica is out of sync"),
    Field("threshold", "double", "of the rule", "that it was tried with; null where it has none, or brokers have it"),
)

ALARMS: Final = Mart(
    "alarms",
    "One row per time that a rule's condition held for something.",
    (
        *_RULE,
        Field("what_if", "boolean", "", "asked for with `--what-if`; false: as it is"),
        Field("subject", "map<string,string>", "", "label to value: what it was about; empty: the whole cluster"),
        Field("began", "timestamp", "", "first poll in which the condition held"),
        Field("fired", "timestamp", "", "when it had held for `for`; null where it never did"),
        Field("ended", "timestamp", "", "first poll in which it no longer held; null while it does"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to the last poll"),
        Field("polls", "bigint", "", "in which it held"),
        Field("value_max", "double", "of the rule", "the highest that was compared with the threshold"),
        Field("would_fire", "boolean", "", "it held for `for`"),
        Field(
            "true_alarm", "boolean", "", "something had happened; null where nobody knows what did, or it did not fire"
        ),
    ),
    ("cluster_id", "rule", "threshold", "subject", "began"),
)

RULES: Final = Mart(
    "rules",
    "One row per cluster, rule and threshold: how often it would have fired, and how often for something.",
    (
        *_RULE,
        Field("what_if", "boolean", "", "asked for with `--what-if`; false: as it is"),
        Field("unit", "string", "", "of the threshold"),
        Field("for_seconds", "double", "s", "for how long its condition has to hold"),
        Field("alarms", "bigint", "", "that would have fired"),
        Field("short", "bigint", "", "times that its condition held, but not for long enough"),
        Field("alarm_seconds", "double", "s", "of all that fired"),
        Field("true_alarms", "bigint", "", "of those something had happened; null where nobody knows"),
        Field("false_alarms", "bigint", "", "the others"),
        Field("events", "bigint", "", "that happened and that it should tell of; null where nobody knows"),
        Field("missed", "bigint", "", "those of which it did not"),
        Field("precision", "double", "ratio", "true of all alarms; null without one"),
        Field("recall", "double", "ratio", "told of all that happened; null where nothing did"),
    ),
    ("cluster_id", "rule", "threshold", "what_if"),
)

MARTS: Final = (ALARMS, RULES)
