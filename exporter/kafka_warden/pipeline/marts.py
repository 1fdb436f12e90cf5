"""Marts, the output of jobs: tables of the store. docs/pipeline-marts.md is written from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.pandas.types import to_arrow_schema
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


def of_rows(spark: SparkSession, rows: Iterable[Sequence[Any]], ddl: str) -> DataFrame:
    """Return rows, in the order of the columns of Spark's DDL, as a frame.

    Spark takes a table of Arrow into its plan. To read a list of rows it would start a worker in Python.
    """
    columns = to_arrow_schema(parsed(ddl))
    found = [dict(zip(columns.names, row, strict=True)) for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(found, columns), parsed(ddl))


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
_BROKER: Final = Field("broker", "int", "", "broker id; of a move its target")
_TOPIC: Final = (
    Field("topic", "string", "", "topic name"),
    Field("topic_id", "string", "", "topic id"),
)


def _windows(name: str, key: tuple[Field, ...], *values: Field) -> dict[str, Mart]:
    """Return the marts of each grain."""
    start = Field("start", "timestamp", "UTC", "start of the window")
    date = Field("date", "date", "UTC", "day of `start`")
    hour = Field("hour", "int", "UTC", "hour of day")
    columns = (_CLUSTER, start, *key, *values, date, hour)
    names = ("cluster_id", "start", *(field.name for field in key))
    of = f"One row per {name.replace('_', ' ')} and"
    return {grain: Mart(f"{name}_{grain}", f"{of} {grain}.", columns, names) for grain in GRAINS}


def _side(side: str) -> tuple[Field, ...]:
    of = f"{side} side"
    return (
        Field(f"{side}_limit_last", "double", "bytes/s", f"{of}: limit; infinite if none is set"),
        Field(f"{side}_rate_mean", "double", "bytes/s", f"{of}: throttled traffic, mean"),
        Field(f"{side}_rate_max", "double", "bytes/s", f"{of}: throttled traffic, maximum"),
        Field(f"{side}_use_mean", "double", "ratio", f"{of}: rate / limit, mean"),
        Field(f"{side}_use_max", "double", "ratio", f"{of}: rate / limit, maximum"),
        Field(f"{side}_headroom_min", "double", "bytes/s", f"{of}: limit minus in-sync traffic, minimum"),
    )


BROKERS: Final = _windows(
    "broker",
    (_BROKER,),
    Field("polls", "bigint", "", "polls with it"),
    Field("bytes_in_mean", "double", "bytes/s", "produced, for a broker as leader, mean"),
    Field("bytes_in_max", "double", "bytes/s", "produced, for a broker as leader, maximum"),
    Field("lag_bytes_mean", "double", "bytes", "lag, for a broker of its followers, mean"),
    Field("lag_bytes_max", "double", "bytes", "lag, for a broker of its followers, maximum"),
    Field("lag_messages_max", "double", "messages", "lag of its followers, maximum"),
    Field("out_of_sync_max", "bigint", "", "its followers outside the ISR, maximum"),
    *_side("leader"),
    *_side("follower"),
    Field("replicas_max", "bigint", "", "replicas, adding ones included, maximum"),
    Field("leaders_max", "bigint", "", "partitions that it leads, maximum"),
    Field("counted_max", "bigint", "", "what counts against KIP-578's limit, maximum"),
)
TOPICS: Final = _windows(
    "topic",
    _TOPIC,
    Field("partitions_max", "bigint", "", "partitions, maximum"),
    Field("replicas_max", "bigint", "", "replicas, adding ones included, maximum"),
    Field("bytes_in_mean", "double", "bytes/s", "produced, for a broker as leader, mean"),
    Field("bytes_in_max", "double", "bytes/s", "produced, for a broker as leader, maximum"),
    Field("bytes_stored_last", "double", "bytes", "local logs of all leaders"),
    Field("lag_bytes_max", "double", "bytes", "lag, for a broker of its followers, maximum"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, maximum"),
    Field("under_min_isr_max", "bigint", "", "partitions under `min.insync.replicas`, maximum"),
    Field("offline_max", "bigint", "", "partitions without a leader, maximum"),
)
REPLICAS: Final = _windows(
    "replica",
    (*_TOPIC, Field("partition", "int", "", "partition number"), _BROKER),
    Field("samples", "bigint", "", "polls with it"),
    Field("known_samples", "bigint", "", "polls with known lag in bytes"),
    Field("lag_messages_max", "bigint", "messages", "lag, maximum"),
    Field("lag_bytes_mean", "double", "bytes", "lag, mean of `known_samples`"),
    Field("lag_bytes_max", "double", "bytes", "lag, for a broker of its followers, maximum"),
    Field("lag_seconds_max", "double", "s", "age of the oldest missing record, maximum"),
    Field("behind_seconds_max", "double", "s", "time since last caught up, maximum"),
    Field("late_samples", "bigint", "", "polls in which it is late"),
    Field("out_of_sync_samples", "bigint", "", "polls in which it is out of the ISR"),
    Field("states", "map<string,bigint>", "", "polls by state"),
)
CLUSTERS: Final = _windows(
    "cluster",
    (),
    Field("polls", "bigint", "", "polls with it"),
    Field("name_last", "string", "", "`cluster.name`; null without one"),
    Field("brokers_max", "bigint", "", "brokers, maximum"),
    Field("partitions_max", "bigint", "", "partitions, maximum"),
    Field("replicas_max", "bigint", "", "replicas, adding ones included, maximum"),
    Field("counted_max", "bigint", "", "what counts against KIP-578's limit, maximum"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, maximum"),
    Field("bytes_in_mean", "double", "bytes/s", "produced, for a broker as leader, mean"),
    Field("bytes_in_max", "double", "bytes/s", "produced, for a broker as leader, maximum"),
    Field("mutation_tokens_min", "double", "", "lowest tokens of a client; infinite without quotas"),
    Field("partitions_limit_last", "double", "", "limit of partitions; infinite without one"),
    Field("broker_limit_last", "double", "", "limit of a broker's replicas; infinite without one"),
    Field("network_last", "double", "bytes/s", "`network.bytes_per_second`; null if unknown"),
)
LOG_DIR_HOURS: Final = _windows(
    "log_dir",
    (_BROKER, Field("log_dir", "string", "", "log directory")),
    Field("polls", "bigint", "", "polls with it"),
    Field("used_bytes_max", "double", "bytes", "used on its volume, else by its logs"),
    Field("total_bytes_last", "double", "bytes", "size of its volume; null if unknown"),
)["hour"]
WINDOWS: Final = (*CLUSTERS.values(), *BROKERS.values(), *TOPICS.values(), *REPLICAS.values(), LOG_DIR_HOURS)
MINUTES: Final = tuple(marts["minute"] for marts in (CLUSTERS, BROKERS, TOPICS, REPLICAS))

_SPAN: Final = (
    Field("began", "timestamp", "", "first poll with it"),
    Field("ended", "timestamp", "", "first complete poll without it; null while it runs"),
)
_LASTED: Final = (
    Field("last_seen", "timestamp", "", "last poll with it"),
    Field("seconds", "double", "s", "from `began` to `ended` or the last poll"),
)
_SERIES: Final = (
    _CLUSTER,
    Field("subject", "string", "", "`cluster`, a broker id, or broker and directory: `1:/data`"),
    Field("what", "string", "", "`partitions`, `replicas`, `bytes_in` or `disk_bytes`"),
)
_OF_SERIES: Final = (
    _BROKER,
    Field("log_dir", "string", "", "log directory"),
)
_SERIES_KEY: Final = ("cluster_id", "subject", "what")

SERIES_DAYS: Final = Mart(
    "series_day",
    "One row per day and series of `forecast`.",
    (
        *_SERIES,
        *_OF_SERIES,
        Field("day", "date", "UTC", "the day"),
        Field("value", "double", "of `what`", "highest known hour"),
        Field("hours", "bigint", "", "known hours"),
        Field("limit", "double", "of `what`", "the limit; infinite without one, null if unknown"),
    ),
    (*_SERIES_KEY, "day"),
)

_MOVE: Final = (
    Field("kind", "string", "", "`reassignment`, or `log_dir` between log directories"),
    *_TOPIC,
    Field("partition", "int", "", "partition number"),
    _BROKER,
)
_MOVE_KEY: Final = ("cluster_id", *(field.name for field in _MOVE))

MOVES: Final = Mart(
    "moves",
    "One row per move.",
    (
        _CLUSTER,
        *_MOVE,
        Field("leader", "int", "", "last leader; not of `log_dir`"),
        *_SPAN,
        *_LASTED,
        Field("uncertain_seconds", "double", "s", "uncertainty of `seconds`; null if it began before the history"),
        Field("unseen_seconds", "double", "s", "part of `seconds` without a poll"),
        Field("outcome", "string", "", "`completed`, `cancelled`, `running`, or `unknown` (topic deleted)"),
        Field("polls", "bigint", "", "polls with it"),
        Field("runs", "bigint", "", "exporter processes with it"),
        Field("bytes_at_start", "double", "bytes", "first known bytes to copy"),
        Field("bytes_copied", "double", "bytes", "growth of its log, including bytes produced meanwhile"),
        Field("rate_mean", "double", "bytes/s", "`bytes_copied` / `seconds`"),
        Field("rate_max", "double", "bytes/s", "highest rate in a poll"),
        Field("limit_mean", "double", "bytes/s", "mean of `limit` in `move_samples`; infinite if ever unlimited"),
        Field("use_mean", "double", "ratio", "mean of `use` in `move_samples`"),
        Field("stalled_seconds", "double", "s", "time without progress"),
        Field("stuck_seconds", "double", "s", "time stuck, summed over moves"),
        Field("causes", "map<string,double>", "s", "time stuck, by cause"),
        Field("never_seconds", "double", "s", "time in which it could never end"),
        Field("predicted_seconds", "double", "s", "KIP-73's MoveTime of all moves, first value"),
        Field("predicted_bottleneck_seconds", "double", "s", "the same by the throttle law"),
        Field("prediction_error", "double", "ratio", "`predicted_seconds` / `seconds` - 1, of completed moves"),
        Field("eta_first", "double", "s", "first ETA; infinite: never"),
        Field("eta_first_at", "timestamp", "", "poll of `eta_first`"),
        Field("eta_error", "double", "ratio", "`eta_first` / time left then - 1, of completed moves"),
    ),
    (*_MOVE_KEY, "began"),
)

REASSIGNMENTS: Final = Mart(
    "reassignments",
    "One row per reassignment: moves between brokers that overlap in time.",
    (
        _CLUSTER,
        *_SPAN,
        *_LASTED,
        Field("planned_seconds", "double", "s", "time of the first wave, by the throttle law"),
        Field("replicas", "bigint", "", "replicas that it adds"),
        Field("completed", "bigint", "", "replicas completed"),
        Field("cancelled", "bigint", "", "replicas cancelled"),
        Field("waves", "bigint", "", "polls in which replicas began"),
        Field("bytes_copied", "double", "bytes", "by all; null while a part is unknown"),
        Field("stuck_seconds", "double", "s", "time stuck, summed over moves"),
        Field("bottleneck_broker", "int", "", "broker that ends last"),
        Field("bottleneck_side", "string", "", "`leader` or `follower`"),
    ),
    ("cluster_id", "began"),
)

MOVE_SAMPLES: Final = Mart(
    "move_samples",
    "One row per move and poll.",
    (
        _CLUSTER,
        Field("time", "timestamp", "", "the poll"),
        *_MOVE,
        *_SPAN,
        Field("remaining_bytes", "double", "bytes", "bytes to copy"),
        Field("progress", "double", "ratio", "copied share; of `reassignment` only"),
        Field("rate", "double", "bytes/s", "copy rate"),
        Field("leader_limit", "double", "bytes/s", "limit of its leader; infinite if not throttled"),
        Field("follower_limit", "double", "bytes/s", "limit of its target, likewise"),
        Field("limit", "double", "bytes/s", "the lower limit"),
        Field("use", "double", "ratio", "highest use of a limit, by all traffic"),
        Field("eta", "double", "s", "until it is done; infinite: never"),
        Field("stalled", "double", "s", "since its last progress"),
        Field("stuck", "string", "", "the cause while it is stuck"),
        Field("date", "date", "UTC", "day of `time`"),
    ),
    (*_MOVE_KEY, "time"),
)

_RULE: Final = (
    _CLUSTER,
    Field("rule", "string", "", "alert, or `out_of_sync_by_...`"),
    Field("threshold", "double", "of the rule", "threshold; null if none, or set by brokers"),
    Field("what_if", "boolean", "", "trial of `--what-if`"),
    Field("for_seconds", "double", "s", "`for`, with the look-back"),
)
_RULE_KEY: Final = tuple(field.name for field in _RULE)

ALARMS: Final = Mart(
    "alarms",
    "One row per time in which a condition held.",
    (
        *_RULE,
        Field("subject", "map<string,string>", "", "labels; empty: the whole cluster"),
        Field("began", "timestamp", "", "first poll in which it held"),
        Field("fired", "timestamp", "", "when it fires; null if never"),
        Field("ended", "timestamp", "", "first poll without; null while it holds"),
        Field("seconds", "double", "s", "from `began` to `ended` or the last poll"),
        Field("value_max", "double", "of the rule", "highest value of the expression"),
        Field("would_fire", "boolean", "", "it held for `for`"),
        Field("true_alarm", "boolean", "", "there was a fault; null if unknown or not fired"),
    ),
    (*_RULE_KEY, "subject", "began"),
)

RULES: Final = Mart(
    "rules",
    "One row per trial of a rule.",
    (
        *_RULE,
        Field("unit", "string", "", "of the threshold"),
        Field("alarms", "bigint", "", "alarms that would fire"),
        Field("short", "bigint", "", "times that held too shortly"),
        Field("alarm_seconds", "double", "s", "duration of all `alarms`"),
        Field("true_alarms", "bigint", "", "alarms with a fault; null if unknown"),
        Field("false_alarms", "bigint", "", "alarms without a fault; null if unknown"),
        Field("events", "bigint", "", "faults to detect; null if unknown"),
        Field("missed", "bigint", "", "faults not detected"),
        Field("delay_seconds", "double", "s", "median time from a fault to its alarm"),
        Field("precision", "double", "ratio", "`true_alarms` / `alarms`"),
        Field("recall", "double", "ratio", "share of faults detected"),
    ),
    _RULE_KEY,
)

FORECASTS: Final = Mart(
    "forecasts",
    "One row per series. A day is null if it is unknown or beyond the horizon: see `outcome`.",
    (
        *_SERIES,
        *_OF_SERIES,
        Field("outcome", "string", "", "`reached`, `within`, `beyond`, `unlimited`, `limit_unknown` or `too_short`"),
        Field("limit", "double", "of `what`", "the limit; infinite without one, null if unknown"),
        Field("now", "double", "of `what`", "greatest value of the last day"),
        Field("growth_per_day", "double", "of `what`", "present trend"),
        Field("day", "timestamp", "", "when half of the paths reach it; if `reached`, the last day"),
        Field("day_low", "timestamp", "", "early end of the interval"),
        Field("day_high", "timestamp", "", "late end of the interval"),
        Field("baseline_day", "timestamp", "", "when a straight line reaches it"),
        Field("last_day", "timestamp", "", "last day of the history"),
        Field("history_days", "int", "", "days with a value"),
        Field("horizon_days", "int", "", "length of the horizon"),
        Field("level", "double", "ratio", "of the interval"),
        Field("method", "string", "", "how it was forecast"),
    ),
    _SERIES_KEY,
)

FORECAST_PATHS: Final = Mart(
    "forecast_paths",
    "One row per series and day.",
    (
        *_SERIES,
        Field("day", "timestamp", "", "midnight, UTC"),
        Field("seen", "double", "of `what`", "highest measured value"),
        Field("median", "double", "of `what`", "median forecast"),
        Field("low", "double", "of `what`", "lower end of the interval"),
        Field("high", "double", "of `what`", "upper end of the interval"),
    ),
    (*_SERIES_KEY, "day"),
)

PLANS: Final = Mart(
    "plans",
    "One row per percentile of produce rates.",
    (
        _CLUSTER,
        Field("percentile", "double", "%", "of each partition's rate"),
        Field("as_of", "timestamp", "", "last complete poll"),
        Field("polls", "bigint", "", "polls with rates"),
        Field("span", "double", "s", "from first to last poll"),
        Field("file", "string", "", "the reassignment"),
        Field("chosen", "boolean", "", "printed in full"),
        Field("verdict", "string", "", "`possible`, `impossible` or `not_planned`"),
        Field("problems", "array<string>", "", "why it is impossible"),
        Field("deadline", "double", "s", "requested duration"),
        Field("bytes_in", "double", "bytes/s", "produced at this percentile"),
        Field("copied", "double", "bytes", "bytes to copy"),
        Field("throttle", "double", "bytes/s", "recommended; null if none is needed or enough"),
        Field("needed", "double", "bytes/s", "lowest for the deadline; infinite if none"),
        Field("allowed", "double", "bytes/s", "highest by the network share; infinite without"),
        Field("lower_bound", "double", "bytes/s", "KIP-73's"),
        Field("upper_bound", "double", "bytes/s", "KIP-73's; null without a network share"),
        Field("least_deadline", "double", "s", "shortest deadline that the share allows"),
        Field("move_ratio", "double", "ratio", "KIP-73's"),
        Field("move_time", "double", "s", "KIP-73's; infinite: never"),
        Field("predicted", "double", "s", "by the throttle law; infinite: never"),
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
