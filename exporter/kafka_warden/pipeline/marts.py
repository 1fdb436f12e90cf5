"""Marts, the output of jobs: tables of the store. docs/pipeline-marts.md is written from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.types import StructType

from kafka_warden.errors import StoreError


@dataclass(frozen=True, slots=True)
class Field:
    """One column."""

    name: str
    type: str
    """Of Spark SQL: `double`, `timestamp`, `map<string,bigint>`."""
    unit: str
    """`bytes`, `bytes/s`, `s`, `ratio`, or empty."""
    text: str


@dataclass(frozen=True, slots=True)
class Mart:
    """One mart: a table of the store."""

    name: str
    about: str
    columns: tuple[Field, ...]
    key: tuple[str, ...]

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in their order."""
        return tuple(column.name for column in self.columns)


@cache
def parsed(ddl: str) -> StructType:
    """Return the columns of Spark's DDL, which it parses once: a commit needs them several times."""
    return cast("StructType", StructType.fromDDL(ddl))


def shaped(mart: Mart, frame: DataFrame) -> DataFrame:
    """Return the columns of a mart in their order, without others; NaN becomes null.

    Raises:
        StoreError: a column is missing or of another type.
    """
    found = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    no_nan = {}
    for field in parsed(mart.ddl).fields:
        name, kind = field.name, field.dataType.simpleString()
        if found.get(name) != kind:
            raise StoreError(f"{mart.name}: {name} is {found.get(name, 'missing')}, not {kind}")
        if kind == "double":
            no_nan[name] = F.when(~F.isnan(name), F.col(name))
    return frame.withColumns(no_nan).select(*mart.names)


GRAINS: Final = ("minute", "hour")

_CLUSTER: Final = Field("cluster_id", "string", "", "Kafka's id of the cluster")
_BROKER: Final = Field("broker", "int", "", "broker id")
_TOPIC: Final = (
    Field("topic", "string", "", "topic name"),
    Field("topic_id", "string", "", "topic id; a topic that is created again has another one"),
)


def _windows(name: str, key: tuple[Field, ...], *values: Field) -> dict[str, Mart]:
    """Return the marts of each grain."""
    start = Field("start", "timestamp", "UTC", "start of the window, by the exporter's wall clock")
    date = Field("date", "date", "UTC", "day of the window's start")
    hour = Field("hour", "int", "UTC", "hour of day of the window's start")
    columns = (_CLUSTER, start, *key, *values, date, hour)
    names = ("cluster_id", "start", *(field.name for field in key))
    of = f"One row per {name.replace('_', ' ')} and"
    return {grain: Mart(f"{name}_{grain}", f"{of} {grain} with a poll of it.", columns, names) for grain in GRAINS}


def _side(side: str) -> tuple[Field, ...]:
    of = f"{side} side"
    return (
        Field(f"{side}_limit_last", "double", "bytes/s", f"{of}: limit in the last poll; infinite if none is set"),
        Field(f"{side}_rate_mean", "double", "bytes/s", f"{of}: throttled traffic, in sync and catching up, mean"),
        Field(f"{side}_rate_max", "double", "bytes/s", f"{of}: throttled traffic, maximum"),
        Field(f"{side}_use_mean", "double", "ratio", f"{of}: rate / limit, mean"),
        Field(f"{side}_use_max", "double", "ratio", f"{of}: rate / limit, maximum"),
        Field(f"{side}_headroom_min", "double", "bytes/s", f"{of}: limit minus in-sync traffic, minimum"),
    )


BROKERS: Final = _windows(
    "broker",
    (_BROKER,),
    Field("polls", "bigint", "", "polls with the broker"),
    Field("bytes_in_mean", "double", "bytes/s", "into the partitions that it leads, mean"),
    Field("bytes_in_max", "double", "bytes/s", "into the partitions that it leads, maximum"),
    Field("lag_bytes_mean", "double", "bytes", "lag of the followers that it hosts, mean"),
    Field("lag_bytes_max", "double", "bytes", "lag of the followers that it hosts, maximum"),
    Field("lag_messages_max", "double", "messages", "lag of the followers that it hosts, maximum"),
    Field("out_of_sync_max", "bigint", "", "followers outside the ISR that it hosts, maximum"),
    *_side("leader"),
    *_side("follower"),
    Field("replicas_max", "bigint", "", "replicas that it hosts, maximum"),
    Field("leaders_max", "bigint", "", "partitions that it leads, maximum"),
    Field("counted_max", "bigint", "", "replicas that count against KIP-578's limit, maximum"),
)
TOPICS: Final = _windows(
    "topic",
    _TOPIC,
    Field("partitions_max", "bigint", "", "partitions, maximum"),
    Field("replicas_max", "bigint", "", "replicas including adding ones, maximum"),
    Field("bytes_in_mean", "double", "bytes/s", "into all partitions, mean"),
    Field("bytes_in_max", "double", "bytes/s", "into all partitions, maximum"),
    Field("bytes_stored_last", "double", "bytes", "local logs of all leaders in the last poll"),
    Field("lag_bytes_max", "double", "bytes", "lag of all followers, maximum"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, maximum"),
    Field("under_min_isr_max", "bigint", "", "partitions under `min.insync.replicas`, maximum"),
    Field("offline_max", "bigint", "", "partitions without a leader, maximum"),
)
REPLICAS: Final = _windows(
    "replica",
    (*_TOPIC, Field("partition", "int", "", "partition number"), _BROKER),
    Field("samples", "bigint", "", "polls with the replica"),
    Field("known_samples", "bigint", "", "polls that know its lag in bytes"),
    Field("lag_messages_max", "bigint", "messages", "lag, maximum"),
    Field("lag_bytes_mean", "double", "bytes", "lag, mean of `known_samples`"),
    Field("lag_bytes_max", "double", "bytes", "lag, maximum"),
    Field("lag_seconds_max", "double", "s", "age of the oldest record that it lacks, maximum"),
    Field("behind_seconds_max", "double", "s", "time since it was last caught up, maximum"),
    Field("late_samples", "bigint", "", "polls in which it is behind for longer than its leader allows"),
    Field("out_of_sync_samples", "bigint", "", "polls in which it follows and is not in the ISR"),
    Field("states", "map<string,bigint>", "", "state to the number of polls with it"),
)
CLUSTERS: Final = _windows(
    "cluster",
    (),
    Field("polls", "bigint", "", "polls of all its exporters"),
    Field("brokers_max", "bigint", "", "brokers that the cluster lists, maximum"),
    Field("partitions_max", "bigint", "", "partitions, maximum"),
    Field("replicas_max", "bigint", "", "replicas including adding ones, maximum"),
    Field("counted_max", "bigint", "", "partitions that count against the cluster's limit, maximum"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, maximum"),
    Field("bytes_in_mean", "double", "bytes/s", "into all partitions, mean"),
    Field("bytes_in_max", "double", "bytes/s", "into all partitions, maximum"),
    Field("mutation_tokens_min", "double", "", "lowest tokens (KIP-599's K) of a client; infinite without quotas"),
    Field("partitions_limit_last", "double", "", "limit of its partitions in the last poll; infinite if there is none"),
    Field("broker_limit_last", "double", "", "limit of each broker's replicas in the last poll; infinite without one"),
    Field("network_last", "double", "bytes/s", "capacity of one broker's network in the last poll; null if unknown"),
)
LOG_DIR_HOURS: Final = _windows(
    "log_dir",
    (_BROKER, Field("log_dir", "string", "", "log directory, while it is online")),
    Field("polls", "bigint", "", "polls with its size"),
    Field("used_bytes_max", "double", "bytes", "used on its volume, maximum; of its logs if the volume is unknown"),
    Field("total_bytes_last", "double", "bytes", "size of its volume in the last poll; null if unknown"),
)["hour"]
WINDOWS: Final = (*CLUSTERS.values(), *BROKERS.values(), *TOPICS.values(), *REPLICAS.values(), LOG_DIR_HOURS)
MINUTES: Final = tuple(marts["minute"] for marts in (CLUSTERS, BROKERS, TOPICS, REPLICAS))

_SERIES: Final = (
    _CLUSTER,
    Field("subject", "string", "", "`cluster`, a broker id, or broker id and log directory such as `1:/data`"),
    Field("what", "string", "", "`partitions`, `replicas`, `bytes_in` or `disk_bytes`"),
)
_OF_SERIES: Final = (
    Field("broker", "int", "", "broker id, null of the cluster"),
    Field("log_dir", "string", "", "log directory, null of all but disks"),
)
_SERIES_KEY: Final = ("cluster_id", "subject", "what")

SERIES_DAYS: Final = Mart(
    "series_day",
    "One row per day and series of those that `forecast` reads.",
    (
        *_SERIES,
        *_OF_SERIES,
        Field("day", "date", "UTC", "the day"),
        Field("value", "double", "of `what`", "the greatest of its hours that are known"),
        Field("hours", "bigint", "", "hours that are known"),
        Field("limit", "double", "of `what`", "in its last hour; infinite if there is none, null if unknown"),
    ),
    (*_SERIES_KEY, "day"),
)

_MOVE: Final = (
    Field("kind", "string", "", "`reassignment`, or `log_dir` for a move to another log directory of the broker"),
    *_TOPIC,
    Field("partition", "int", "", "partition number"),
    Field("broker", "int", "", "target broker"),
)
_MOVE_KEY: Final = ("cluster_id", *(field.name for field in _MOVE))

MOVES: Final = Mart(
    "moves",
    "One row per move: of a replica that a reassignment adds, or that moves to another log directory.",
    (
        _CLUSTER,
        *_MOVE,
        Field("leader", "int", "", "last broker that it was copied from; of `reassignment` only"),
        Field("began", "timestamp", "", "first poll that lists it"),
        Field("ended", "timestamp", "", "first complete poll that does not list it; null while it is running"),
        Field("last_seen", "timestamp", "", "last poll that lists it"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to `last_seen`"),
        Field("uncertain_seconds", "double", "s", "uncertainty of `seconds`; null: it began before the history"),
        Field("unseen_seconds", "double", "s", "part of `seconds` without a poll that knows the moves"),
        Field("outcome", "string", "", "`completed`, `cancelled`, `running`, or `unknown` (topic deleted)"),
        Field("polls", "bigint", "", "polls that list it"),
        Field("runs", "bigint", "", "exporter processes with such a poll"),
        Field("bytes_at_start", "double", "bytes", "first known bytes to copy"),
        Field("bytes_copied", "double", "bytes", "growth of its log, including bytes produced meanwhile"),
        Field("rate_mean", "double", "bytes/s", "`bytes_copied` / `seconds`"),
        Field("rate_max", "double", "bytes/s", "highest rate in a poll"),
        Field("limit_mean", "double", "bytes/s", "mean of the lower of its limits; infinite if it was ever unlimited"),
        Field("use_mean", "double", "ratio", "mean use of the more used limit, by all traffic that counts against it"),
        Field("stalled_seconds", "double", "s", "time without progress"),
        Field("stuck_seconds", "double", "s", "time in which it was stuck"),
        Field("causes", "map<string,double>", "s", "cause to the time for which it was stuck by it"),
        Field("never_seconds", "double", "s", "time in which its throttle was too low for it to end"),
        Field("predicted_seconds", "double", "s", "KIP-73's MoveTime of all moves, the exporter's first value"),
        Field("predicted_bottleneck_seconds", "double", "s", "the same for the bottleneck, by the throttle law"),
        Field("prediction_error", "double", "ratio", "`predicted_seconds` / `seconds` - 1, of completed moves"),
        Field("eta_first", "double", "s", "the first ETA; infinite: never"),
        Field("eta_first_at", "timestamp", "", "poll of `eta_first`"),
        Field("eta_error", "double", "ratio", "`eta_first` / remaining time at `eta_first_at` - 1, of completed moves"),
    ),
    (*_MOVE_KEY, "began"),
)

REASSIGNMENTS: Final = Mart(
    "reassignments",
    "One row per reassignment: the moves between brokers of a cluster that overlap in time.",
    (
        _CLUSTER,
        Field("began", "timestamp", "", "first poll that lists a replica of it"),
        Field("ended", "timestamp", "", "end of its last move; null while one is running"),
        Field("last_seen", "timestamp", "", "last poll that lists one of its replicas"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to `last_seen`"),
        Field("planned_seconds", "double", "s", "of the first wave by the throttle law: the time of its bottleneck"),
        Field("replicas", "bigint", "", "replicas that it adds"),
        Field("completed", "bigint", "", "of these, completed"),
        Field("cancelled", "bigint", "", "of these, cancelled"),
        Field("waves", "bigint", "", "polls in which replicas of it began"),
        Field("bytes_copied", "double", "bytes", "by all of them; null while a part is unknown"),
        Field("stuck_seconds", "double", "s", "sum of the times in which its moves were stuck"),
        Field("bottleneck_broker", "int", "", "the broker that was busy last, with most bytes"),
        Field("bottleneck_side", "string", "", "`leader` (it sent) or `follower` (it received)"),
    ),
    ("cluster_id", "began"),
)

MOVE_SAMPLES: Final = Mart(
    "move_samples",
    "One row per move and poll that lists it.",
    (
        _CLUSTER,
        Field("time", "timestamp", "", "of the poll"),
        *_MOVE,
        Field("began", "timestamp", "", "as in `moves`"),
        Field("ended", "timestamp", "", "as in `moves`"),
        Field("remaining_bytes", "double", "bytes", "bytes to copy"),
        Field("progress", "double", "ratio", "copied share; of `reassignment` only"),
        Field("rate", "double", "bytes/s", "copy rate"),
        Field("leader_limit", "double", "bytes/s", "limit of its leader; infinite if the leader does not throttle it"),
        Field("follower_limit", "double", "bytes/s", "limit of its target: follower side, or log directories"),
        Field("limit", "double", "bytes/s", "the lower limit"),
        Field("use", "double", "ratio", "use of the more used limit, by all traffic that counts against it"),
        Field("eta", "double", "s", "until it is done; infinite: never"),
        Field("stalled", "double", "s", "since its last progress"),
        Field("stuck", "string", "", "the cause while it is stuck"),
        Field("date", "date", "UTC", "day of `time`"),
    ),
    (*_MOVE_KEY, "time"),
)

_RULE: Final = (
    _CLUSTER,
    Field("rule", "string", "", "an alert of `alerts/`, or a rule for when a replica is out of sync"),
    Field("threshold", "double", "of the rule", "threshold of this trial; null if it has none, or brokers set it"),
    Field("what_if", "boolean", "", "whether this trial is of `--what-if`"),
    Field("for_seconds", "double", "s", "how long the condition has to hold in this trial, with the look-back"),
)
_RULE_KEY: Final = tuple(field.name for field in _RULE)

ALARMS: Final = Mart(
    "alarms",
    "One row per rule, subject and time during which the rule's condition held.",
    (
        *_RULE,
        Field("subject", "map<string,string>", "", "label to value: the alarm's subject; empty: the whole cluster"),
        Field("began", "timestamp", "", "first evaluation in which the condition held"),
        Field("fired", "timestamp", "", "when it had held for `for`; null if it never did"),
        Field("ended", "timestamp", "", "first evaluation in which it no longer held; null while it does"),
        Field("seconds", "double", "s", "from `began` to `ended`, or to the last evaluation"),
        Field("polls", "bigint", "", "evaluations from `began` to `ended`"),
        Field("value_max", "double", "of the rule", "highest value of the rule's expression"),
        Field("would_fire", "boolean", "", "whether it held for `for`"),
        Field("true_alarm", "boolean", "", "whether there was a fault; null if unknown, or if it did not fire"),
    ),
    (*_RULE_KEY, "subject", "began"),
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
    _RULE_KEY,
)

FORECASTS: Final = Mart(
    "forecasts",
    "One row per series: the day on which it reaches its limit. A day is null if it is beyond the horizon or unknown;"
    " `outcome` shows which.",
    (
        *_SERIES,
        *_OF_SERIES,
        Field("outcome", "string", "", "`reached`, `within`, `beyond`, `unlimited`, `limit_unknown` or `too_short`"),
        Field("limit", "double", "of `what`", "the limit; infinite if there is none, null if unknown"),
        Field("now", "double", "of `what`", "greatest value of the last day"),
        Field("growth_per_day", "double", "of `what`", "of the trend as it is now"),
        Field("day", "timestamp", "", "by when half of the paths reach the limit; if `reached`, the last day there"),
        Field("day_low", "timestamp", "", "the early end of the interval"),
        Field("day_high", "timestamp", "", "the late end of the interval"),
        Field("baseline_day", "timestamp", "", "when a straight line through all days reaches it, if ever"),
        Field("last_day", "timestamp", "", "last day of the history, where the horizon begins"),
        Field("history_days", "int", "", "days with a value"),
        Field("horizon_days", "int", "", "length of the horizon"),
        Field("level", "double", "ratio", "of the interval"),
        Field("method", "string", "", "how it was forecast; null if it was not"),
    ),
    _SERIES_KEY,
)

FORECAST_PATHS: Final = Mart(
    "forecast_paths",
    "One row per series and day: first the measured values, then the forecast.",
    (
        *_SERIES,
        Field("day", "timestamp", "", "midnight, UTC, at which the day begins"),
        Field("seen", "double", "of `what`", "highest measured value of that day; null after the last day"),
        Field("median", "double", "of `what`", "median forecast; null up to the last measured day"),
        Field("low", "double", "of `what`", "lower end of that day's interval"),
        Field("high", "double", "of `what`", "upper end of that day's interval"),
    ),
    (*_SERIES_KEY, "day"),
)

PLANS: Final = Mart(
    "plans",
    "One row per percentile of produce rates: the throttle for one reassignment in the cluster's last complete poll.",
    (
        _CLUSTER,
        Field("percentile", "double", "%", "of each partition's rate over its polls"),
        Field("as_of", "timestamp", "", "the last complete poll, on which the plan is based"),
        Field("polls", "bigint", "", "polls with rates"),
        Field("span", "double", "s", "from the first of them to the last"),
        Field("file", "string", "", "the reassignment"),
        Field("chosen", "boolean", "", "whether this plan was printed in full"),
        Field("verdict", "string", "", "`possible`, `impossible` or `not_planned`"),
        Field("problems", "array<string>", "", "why it is impossible"),
        Field("deadline", "double", "s", "requested duration of the move"),
        Field("bytes_in", "double", "bytes/s", "produced to all partitions at this percentile"),
        Field("copied", "double", "bytes", "bytes to copy"),
        Field("throttle", "double", "bytes/s", "recommended throttle; null if none is needed or none is enough"),
        Field("needed", "double", "bytes/s", "lowest throttle for the deadline; infinite if none is enough"),
        Field("allowed", "double", "bytes/s", "highest throttle by the network share; infinite without a network"),
        Field("lower_bound", "double", "bytes/s", "KIP-73's"),
        Field("upper_bound", "double", "bytes/s", "KIP-73's; null without a network"),
        Field("least_deadline", "double", "s", "shortest deadline that the network share allows"),
        Field("move_ratio", "double", "ratio", "KIP-73's"),
        Field("move_time", "double", "s", "KIP-73's; infinite for never"),
        Field("predicted", "double", "s", "by the throttle law; infinite for never"),
        Field("bottleneck_broker", "int", "", "broker that ends last"),
        Field("bottleneck_side", "string", "", "`leader` or `follower`"),
        Field("document", "string", "", "the plan as JSON (docs/reference/plan.md)"),
    ),
    ("cluster_id", "percentile"),
)

MARTS: Final[Mapping[str, tuple[Mart, ...]]] = {
    "rollup": (*WINDOWS, SERIES_DAYS),
    "moves": (MOVES, REASSIGNMENTS, MOVE_SAMPLES),
    "backtest": (ALARMS, RULES),
    "forecast": (FORECASTS, FORECAST_PATHS),
    "plan": (PLANS,),
}
"""Job to what it writes."""
