"""What Prometheus would have scraped: samples of the metrics that rules read, from the rows of history.

The exporter's own catalogue reads them from a view that has the stored values, of the snapshot and derived ones. A
family that reads anything else is one that history lacks.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import chain, groupby
from types import SimpleNamespace as Values
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.pandas.types import to_arrow_schema

from kafka_warden.catalogue import CATALOGUE, ExporterState, SelfMetric, View
from kafka_warden.derive.replica_state import STATES
from kafka_warden.history.tables.brokers import status_of
from kafka_warden.history.tables.moves import LOG_DIR
from kafka_warden.model import UNKNOWN, BrokerState, Parameters
from kafka_warden.pipeline.marts import parsed as columns_of
from kafka_warden.pipeline.timeline import CLOCKS, POLL, History

BUCKET: Final = 43_200.0
"""Seconds of the series that are in one row."""
POLLS: Final = "polls"
"""The name of the series of poll times; its values are how long each poll holds (s)."""
LAG: Final = "history_follower_lag_messages"
BEHIND: Final = "history_follower_behind_seconds"
LATE: Final = "history_follower_late"
FOLLOWERS: Final = {LAG: "lag_messages", BEHIND: "behind_seconds", LATE: "late"}
"""Metrics that no sidecar has: of followers, as far as rules may need them."""
MADE: Final = (
    "up",
    "process_start_time_seconds",
    "kafka_warden_build_info",
    "kafka_warden_snapshot_timestamp_seconds",
    "kafka_warden_poll_interval_seconds",
)
"""Metrics of every scrape, which follow from the times of polls."""
SERIES: Final = (
    "cluster_id string, run string, bucket bigint, metric string, labels array<string>, at array<double>,"
    " value array<double>"
)
"""`labels`: names and values by turns. `at`: Unix s of the polls in which the value is a new one, NaN for none; of
`FOLLOWERS`, of all polls with a value."""

_OF_POLL: Final = (
    *("controller", "kafka_version", "parameters", "controllers", "outcomes", "partitions", "eta", "remaining_bytes"),
    *("under_replicated_known", "min_isr_known", "reassigning_partitions", "rows"),
)
_OF_FOLLOWERS: Final = "replicas"
_TABLES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "brokers": (
        "true",
        (
            *("broker", "metadata_stale", "log_dirs", "beans", "outcomes", "state", "replicas", "counted"),
            *("out_of_sync", "throttle_problems", "tiered_problems"),
        ),
    ),
    "moves": ("true", ("kind", "topic", "partition", "broker", "remaining_bytes", "eta", "stuck")),
    "quotas": ("tokens IS NOT NULL", ("user", "client_id", "tokens", "mutation_rate", "quota", "burst")),
    "configs": (
        "topic IS NOT NULL AND (overdue_bytes IS NOT NULL OR copy_stalled_seconds IS NOT NULL)",
        ("topic", "overdue_bytes", "copy_stalled_seconds", "isr_shrinks"),
    ),
}
"""Table to the condition on its rows, and the columns that are read."""
_COUNTED: Final = ("offline", "under_min_isr", "at_min_isr", "under_replicated")
_GIVEN: Final[Mapping[str, tuple[str, ...]]] = {
    "partitions": tuple(f"cluster.{name}" for name in _COUNTED),
    "brokers": (
        *(f"indexed.{name}" for name in ("brokers", "snapshot.metadata_ages", "snapshot.log_dirs")),
        *("indexed.snapshot.broker_beans", "cluster.states", "cluster.replicas", "cluster.counted"),
        *("replicas.out_of_sync", "throttling.problems", "tiered.problems"),
    ),
    "moves": ("moves", "throttling.log_dir_moves"),
    "quotas": ("mutations",),
    "configs": ("tiered.overdue", "tiered.stalled", "topics.isr_shrinks"),
}
"""Table to what its rows give of the derived values."""
_SLICE: Final = 200
"""Polls that are Python's objects at a time."""

Key = tuple[str, tuple[str, ...]]
"""A metric, and names and values of labels by turns."""


def polls(history: History) -> DataFrame:
    """Return the polls with all columns that samples need, and whether all rows of followers are there."""
    listed = history.table(_OF_FOLLOWERS).groupBy(*POLL).agg(F.count("*").alias("listed"))
    polled = history.table("polls").select(*dict.fromkeys((*CLOCKS, *_OF_POLL))).join(listed, [*POLL], "left")
    return polled.withColumn("followers_known", ~_lacks(_OF_FOLLOWERS, "listed")).drop("listed")


def _lacks(table: str, listed: str) -> Column:
    """Return whether a poll counts more rows of a table than are there. `listed`: the column with their number."""
    counted = F.col("rows")[table]
    return F.coalesce(counted > F.coalesce(listed, F.lit(0)), F.lit(False))


def times(polls: DataFrame) -> DataFrame:
    """Return the times of polls, and how long each holds, as `SERIES`. `polls`: rows of `timeline`."""
    named = F.lit(POLLS).alias("metric"), F.array().cast("array<string>").alias("labels")
    return _collected(polls.select(*POLL, "at", *named, F.col("silent_after").alias("value")))


def followers(history: History, polls: DataFrame, least: Mapping[str, float]) -> DataFrame:
    """Return the series of `FOLLOWERS` as `SERIES`, with a value for each poll in which a rule may need it.

    `polls`: as of `times`, with `followers_known`. `least`: of the metrics, the lowest value that a rule asks for.
    """
    asked = " OR ".join(f"{FOLLOWERS[name]} >= {value}D" for name, value in least.items() if name != LATE) or "false"
    rows = history.table(_OF_FOLLOWERS).where(f"following AND NOT adding AND (late OR {asked})")
    labels = "array('topic', topic, 'partition', string(partition), 'broker', string(broker)) AS labels"
    named = ", ".join(f"'{name}', double({column})" for name, column in FOLLOWERS.items())
    values = f"stack({len(FOLLOWERS)}, {named}) AS (metric, value)"
    found = rows.join(polls.select(*POLL, "at"), [*POLL]).selectExpr(*POLL, "at", labels, values)
    return _collected(found.where("value IS NOT NULL"))


def _collected(samples: DataFrame) -> DataFrame:
    """Return samples, each with its time and value, as `SERIES`."""
    by = ("cluster_id", "run", F.floor(F.col("at") / BUCKET).alias("bucket"), "metric", "labels")
    listed = samples.groupBy(*by).agg(F.sort_array(F.collect_list(F.struct("at", "value"))).alias("of"))
    return listed.select("cluster_id", "run", "bucket", "metric", "labels", F.col("of.at"), F.col("of.value"))


def series(history: History, polls: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return the series of some families of the exporter, by run and time, where they change: `SERIES`.

    `polls`: rows of `timeline`, with the columns of `polls`.
    """
    families = [name for name in _families().keys() & set(names) if name not in MADE and has(name)]
    sorted_polls = (
        _gathered(history, polls)
        .withColumn("bucket", F.floor(F.col("at") / BUCKET))
        .repartition("cluster_id", "run", "bucket")
        .sortWithinPartitions("cluster_id", "run", "bucket", "at")
    )

    schema = to_arrow_schema(columns_of(SERIES))

    def follow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for key, rows in groupby(_rows(batches), lambda row: (row["cluster_id"], row["run"], row["bucket"])):
            found = _followed(rows, families).items()
            listed = [(*key, metric, labels, *of) for (metric, labels), of in found]
            yield pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in listed], schema)

    return sorted_polls.mapInArrow(follow, SERIES)


def _gathered(history: History, polls: DataFrame) -> DataFrame:
    """Return one row per poll with the rows of the other tables. `lost`: tables of which the poll counts more rows."""
    columns = {"partitions": F.struct(*(F.count_if(name).alias(name) for name in _COUNTED)).alias("counts")}
    for table, (condition, names) in _TABLES.items():
        columns[table] = F.collect_list(F.when(F.expr(condition), F.struct(*names))).alias(f"of_{table}")
    parts = [
        history.table(table).groupBy(*POLL).agg(column, F.count("*").alias(f"listed_{table}"))
        for table, column in columns.items()
    ]
    mine = polls.select(*POLL, "at", "silent_after", *_OF_POLL)
    joined = reduce(lambda one, other: one.join(other, [*POLL], "left"), parts, mine)
    lost = [F.when(_lacks(table, f"listed_{table}"), table) for table in columns]
    return joined.withColumn("lost", F.array_compact(F.array(*lost))).drop(*(f"listed_{table}" for table in columns))


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Mapping[str, Any]]:
    for batch in batches:
        for start in range(0, batch.num_rows, _SLICE):
            yield from batch.slice(start, _SLICE).to_pylist()


def _followed(
    rows: Iterable[Mapping[str, Any]], families: Sequence[str]
) -> Mapping[Key, tuple[list[float], list[float]]]:
    """Return the times and values of each series where it changes.

    A family that a poll does not know keeps the values of the last poll that knows it, as long as these hold.
    """
    found: dict[Key, tuple[list[float], list[float]]] = {}
    before: dict[Key, float] = {}
    known_at: dict[str, float] = {}
    for row in rows:
        at = row["at"]
        now: dict[Key, float] = {}
        for name, values in _samples(row, families):
            if values is not None:
                known_at[name] = at
                now |= values
            elif at - known_at.get(name, -math.inf) <= row["silent_after"]:
                now |= {key: value for key, value in before.items() if key[0] == name}
        changed = {key: value for key, value in now.items() if before.get(key) != value}
        for key, value in (*changed.items(), *((key, math.nan) for key in before.keys() - now.keys())):
            times, values_ = found.setdefault(key, ([], []))
            times.append(at)
            values_.append(value)
        before = now
    return found


def _samples(row: Mapping[str, Any], families: Iterable[str]) -> Iterator[tuple[str, Mapping[Key, float] | None]]:
    """Yield the samples of each family; None of one that reads a table of which rows are lost."""
    view, sidecar = restored(row)
    interval = "kafka_warden_poll_interval_seconds"
    yield interval, {(interval, ()): row["parameters"]["poll_interval"]}
    for name in families:
        try:
            yield name, dict(_samples_of(name, view, sidecar))
        except AttributeError:
            if not row["lost"]:
                raise
            yield name, None


def _samples_of(name: str, view: View, sidecar: ExporterState) -> Iterator[tuple[Key, float]]:
    metric = _families()[name]
    data = sidecar if isinstance(metric, SelfMetric) else view
    for read in (metric.read, metric.rest):
        for values, value in read(data) if read is not None else ():
            if not math.isnan(value):
                yield (name, tuple(chain.from_iterable(zip(metric.labels, values, strict=True)))), float(value)


@cache
def _families() -> Mapping[str, Any]:
    return {metric.full_name: metric for metric in CATALOGUE}


@cache
def has(name: str) -> bool:
    """Return whether history has a metric, or it follows from the times of polls."""
    if name in MADE or name in FOLLOWERS:
        return True
    if (metric := _families().get(name)) is None:
        return False
    view, sidecar = restored({"cluster_id": "", "at": 0.0})
    try:
        list(metric.read(sidecar if isinstance(metric, SelfMetric) else view))
    except AttributeError:
        return False
    return True


def restored(row: Mapping[str, Any]) -> tuple[View, ExporterState]:
    """Return what metrics are read from, with the values of a row of `_gathered`. Others raise `AttributeError`."""
    brokers, topics = row.get("of_brokers") or (), row.get("of_configs") or ()
    moves = row.get("of_moves") or ()
    parameters = Values(**row["parameters"]) if "parameters" in row else Parameters()
    placed = [each for each in brokers if each["replicas"] is not None]
    beans = {each["broker"]: Values(values=_mapping(each["beans"]["values"])) for each in brokers if each["beans"]}
    named = {each["topic"]: each for each in topics}
    # Moves of topics without tiered storage, too: the view only has the metrics of topics that it lists.
    listed = [*named, *sorted({each["topic"] for each in moves} - named.keys())]
    snapshot = Values(
        cluster_id=row["cluster_id"],
        kafka_version=row.get("kafka_version"),
        controller=row.get("controller"),
        clock=math.inf,
        metadata_ages={
            each["broker"]: each["metadata_stale"] for each in brokers if each["metadata_stale"] is not None
        },
        log_dirs=[
            Values(
                broker=each["broker"], **{name: UNKNOWN if value is None else value for name, value in every.items()}
            )
            for each in brokers
            for every in each["log_dirs"] or ()
        ],
        broker_beans=beans,
        controller_beans={
            each["node"]: Values(values=_mapping(each["values"]), at=each["at"])
            for each in row.get("controllers") or ()
        },
        topics=listed,
    )
    counts = row.get("counts") or dict.fromkeys(_COUNTED, 0)
    cluster = Values(
        states={each["broker"]: BrokerState(each["state"]) for each in brokers if each["state"] is not None},
        replicas=np.array([each["replicas"] for each in placed]),
        counted=np.array([each["counted"] for each in placed]),
        **{name: row.get(name) for name in ("partitions", "under_replicated_known", "min_isr_known")},
        # History has whether it is known, and not of how many.
        min_isr_unknown=int(not row.get("min_isr_known", True)),
        **{name: np.ones(count, bool) for name, count in counts.items()},
    )
    out = [_mapping(each["out_of_sync"]) for each in placed]
    derived = Values(
        indexed=Values(snapshot=snapshot, brokers=np.array([each["broker"] for each in placed]), hidden=()),
        cluster=cluster,
        replicas=Values(out_of_sync=np.array([[each.get(state, 0) for state in STATES] for each in out])),
        throttling=Values(
            problems={
                (each["broker"], every["side"], every["problem"]): every["seconds"]
                for each in brokers
                for every in each["throttle_problems"] or ()
            },
            log_dir_moves=[Values(**each) for each in moves if each["kind"] == LOG_DIR],
        ),
        tiered=Values(
            problems={
                (each["broker"], problem): age
                for each in brokers
                for problem, age in _mapping(each["tiered_problems"]).items()
            },
            overdue=_column(named, listed, "overdue_bytes"),
            stalled=_column(named, listed, "copy_stalled_seconds"),
        ),
        topics=Values(isr_shrinks=_column(named, listed, "isr_shrinks")),
        moves=[Values(**each) for each in moves if each["kind"] != LOG_DIR],
        totals=Values(**{name: row.get(name) for name in ("reassigning_partitions", "eta", "remaining_bytes")}),
        mutations=[Values(rate=each["mutation_rate"], **each) for each in row.get("of_quotas") or ()],
    )
    lost = row.get("lost") or ()
    for *owner, name in (path.split(".") for table in lost for path in _GIVEN[table]):
        delattr(reduce(getattr, owner, derived), name)
    of: Any = derived
    view = View(of, None, np.ones(len(listed), bool), parameters)  # type: ignore[arg-type]
    outcomes = [row.get("outcomes") or (), *(each["outcomes"] or () for each in brokers)]
    # History has of a poll only the status beside the snapshot, and nothing of the exporter.
    polled: Any = Values() if "brokers" in lost else Values(status=status_of(outcomes))
    lacks: Any = None
    return view, ExporterState(polled, lacks, row["at"], lacks, lacks, lacks)


def _mapping(pairs: Any) -> Mapping[Any, Any]:
    return dict(pairs or ())


def _column(named: Mapping[str, Any], listed: Sequence[str], column: str) -> np.ndarray:
    values = [named[topic][column] if topic in named else None for topic in listed]
    return np.array([math.nan if value is None else value for value in values], float)
