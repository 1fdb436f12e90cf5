"""The job `rollup`: minutes and hours of replicas, topics, brokers and clusters, hours of log directories, and days.

Sums over the rows of a poll come first, then the polls of a window. A sum is null if one of its parts is unknown, or if
rows of the poll are missing: it would be wrong.
"""

from collections.abc import Mapping
from functools import partial, reduce
from typing import Final

from pyspark.sql import Column, DataFrame, GroupedData, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.derive.replica_state import STATES
from kafka_warden.pipeline import incremental
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import BROKERS, CLUSTERS, GRAINS, LOG_DIR_HOURS, REPLICAS, SERIES_DAYS, TOPICS, Mart
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import Store, of_mart, raw
from kafka_warden.pipeline.timeline import DAY, HOUR, POLL, divide

Samples = Mapping[str, DataFrame]
"""Table to its rows."""

KINDS: Final = {"configs": "broker", "quotas": "mutation"}
"""Table to the only kind of rows that marts use: no topic configs, and only the quotas of controller mutation beans."""

SIDES: Final = ("leader", "follower")

_SECONDS: Final = {"minute": 60, "hour": HOUR}
"""Grain to the length of its windows."""

_POLL: Final = (*POLL, "time")
"""The columns that all rows of a poll share."""

_TOPIC: Final = ("topic", "topic_id")
"""A topic that was deleted and created again has another id."""

_DAY: Final = ("cluster_id", "day")
SERIES: Final = ("cluster_id", "subject", "what", "broker", "log_dir")
"""What the days of one series have in common."""


def run(request: Request[None]) -> None:
    """Replace the hours that have new rows, or all between `--start` and `--end`.

    Raises:
        StoreError: the store cannot be used.
    """
    incremental.compute(request, JOB.name, request.span, partial(_roll_up, request))


def _roll_up(request: Request[None], work: incremental.Work) -> None:
    store, step = request.store, request.progress.step
    samples = _samples(store, work)

    def put(mart: Mart, windows: DataFrame) -> None:
        seconds = F.unix_seconds("start")
        folders = {
            "date": F.date_from_unix_date(F.floor(seconds / DAY).cast("int")),
            "hour": F.pmod(F.floor(seconds / HOUR), F.lit(24)).cast("int"),
        }
        incremental.replace(work, mart, windows.withColumns(folders), work.windows(), gather=not work.is_one_day())

    with step("minutes of replicas"):
        put(REPLICAS["minute"], replica_minutes(samples["replicas"]))
    with step("hours of replicas"):
        put(REPLICAS["hour"], replica_hours(store.read(of_mart(REPLICAS["minute"])).where(work.windows())))
    # Cached for both grains: one row per poll and topic or broker.
    with persisted(partition_polls(samples)) as of_partitions:
        with step("topics"), persisted(replica_polls(samples)) as of_replicas:
            for grain in GRAINS:
                put(TOPICS[grain], topics(of_partitions, of_replicas, grain))
        with step("clusters"), persisted(cluster_polls(samples, of_partitions)) as of_clusters:
            for grain in GRAINS:
                put(CLUSTERS[grain], clusters(of_clusters, grain))
    with step("brokers"), persisted(broker_polls(samples)) as of_brokers:
        for grain in GRAINS:
            put(BROKERS[grain], brokers(of_brokers, grain))
    with step("log directories"):
        put(LOG_DIR_HOURS, log_dirs(samples["brokers"]))
    with step("days"):
        put_days(store, work)


def _samples(store: Store, work: incremental.Work) -> Samples:
    names = ("replicas", "partitions", "brokers", "configs", "quotas", "polls")
    rows = {name: store.read(raw(name)).where(work.raw()) for name in names}
    if len(work.hours) == 1:
        # Spark drops a constant from the keys of its aggregates: 9 % of the CPU time of a roll-up.
        (cluster,) = work.hours
        rows = {name: frame.withColumn("cluster_id", F.lit(cluster)) for name, frame in rows.items()}
    return rows | {name: rows[name].where(F.col("kind") == kind) for name, kind in KINDS.items()}


def replica_minutes(replicas: DataFrame) -> DataFrame:
    """Aggregate samples by replica and minute. Nothing is summed over replicas, so missing rows do no harm."""
    is_out = F.col("following") & ~F.col("in_isr")
    counted = _by_window(replicas, REPLICAS["minute"]).agg(
        F.count("*").alias("samples"),
        F.count("lag_bytes").alias("known_samples"),
        F.max("lag_messages").alias("lag_messages_max"),
        *_mean_and_max("lag_bytes"),
        F.max("lag_seconds").alias("lag_seconds_max"),
        F.max("behind_seconds").alias("behind_seconds_max"),
        F.count_if("late").alias("late_samples"),
        F.count_if(is_out).alias("out_of_sync_samples"),
        *(F.count_if(F.col("state") == state).alias(_state(state)) for state in STATES),
    )
    return _with_states(counted)


def replica_hours(minutes: DataFrame) -> DataFrame:
    """Aggregate minutes to hours: at most a sixth of the samples' rows with a poll every 10 s."""
    known = F.col("known_samples")
    total = F.sum(F.when(known > 0, F.col("lag_bytes_mean") * known))
    maxima = ("lag_messages_max", "lag_bytes_max", "lag_seconds_max", "behind_seconds_max")
    counted = _by_window(minutes.withColumn("time", F.unix_seconds("start")), REPLICAS["hour"]).agg(
        *(F.sum(name).alias(name) for name in ("samples", "known_samples", "late_samples", "out_of_sync_samples")),
        *(F.max(name).alias(name) for name in maxima),
        F.try_divide(total, F.sum(known)).alias("lag_bytes_mean"),
        *(F.coalesce(F.sum(F.col("states")[state]), F.lit(0)).alias(_state(state)) for state in STATES),
    )
    return _with_states(counted)


def _state(state: str) -> str:
    return f"_state_{state}"


def _with_states(counted: DataFrame) -> DataFrame:
    """Combine the counts by state into one map. Until then they are columns, which Spark aggregates in place."""
    counts = {str(state): F.col(_state(state)) for state in STATES}
    pairs = [part for state, count in counts.items() for part in (F.lit(state), count)]
    several = F.map_filter(F.create_map(*pairs), lambda _, count: count > 0)
    # Most replicas are in one state for the whole window, and Spark does not compile `map_filter`.
    only = (F.when(count == F.col("samples"), F.create_map(F.lit(state), count)) for state, count in counts.items())
    return counted.withColumn("states", F.coalesce(*only, several)).drop(*map(_state, STATES))


def partition_polls(samples: Samples) -> DataFrame:
    """Sum over a topic's partitions in each poll."""
    sums = (
        samples["partitions"]
        .groupBy(*_POLL, *_TOPIC)
        .agg(
            F.count("*").alias("partitions"),
            _sum_or_null(F.col("bytes_in")).alias("bytes_in"),
            F.count_if("under_replicated").alias("under_replicated"),
            F.count_if("under_min_isr").alias("under_min_isr"),
            F.count_if("offline").alias("offline"),
        )
    )
    known = {"under_replicated": "under_replicated_known", "under_min_isr": "min_isr_known"}
    return _complete(sums, samples["polls"], "partitions", known)


def replica_polls(samples: Samples) -> DataFrame:
    """Sum over a topic's replicas in each poll."""
    # A replica that does not follow leads, or is the only one of its partition.
    leads, follows = ~F.col("following"), F.col("following")
    all_lead = F.count_if(leads) == F.count_if(F.col("position") == 0)
    sums = (
        samples["replicas"]
        .groupBy(*_POLL, *_TOPIC)
        .agg(
            F.count("*").alias("replicas"),
            F.when(all_lead, _sum_or_null(F.col("size").cast("double"), leads)).alias("bytes_stored"),
            _sum_or_null(F.col("lag_bytes"), follows).alias("lag_bytes"),
        )
    )
    return _complete(sums, samples["polls"], "replicas")


def topics(partitions: DataFrame, replicas: DataFrame, grain: str) -> DataFrame:
    """Aggregate polls by topic and window."""
    mart = TOPICS[grain]
    of_partitions = _by_window(partitions, mart).agg(
        *_mean_and_max("bytes_in"),
        *_maxima("partitions", "under_replicated", "under_min_isr", "offline"),
    )
    of_replicas = _by_window(replicas, mart).agg(*_maxima("replicas", "lag_bytes"), _last("bytes_stored"))
    return of_partitions.join(of_replicas, [*mart.key], "full")


def cluster_polls(samples: Samples, partitions: DataFrame) -> DataFrame:
    """Join the rows of each cluster in each poll. `partitions`: of `partition_polls`."""
    own = samples["polls"].select(
        *_POLL,
        F.col("partitions").alias("counted"),
        F.col("rows")["partitions"].alias("partitions"),
        F.col("rows")["replicas"].alias("replicas"),
        F.col("parameters.cluster_name").alias("name"),
        F.col("parameters.max_partitions").alias("partitions_limit"),
        F.col("parameters.max_broker_partitions").alias("broker_limit"),
        F.col("parameters.network_bytes_per_second").alias("network"),
    )
    listed = F.count_if(~F.coalesce("gone", F.lit(False)))
    sums = partitions.groupBy(*_POLL).agg(
        _sum_or_null(F.col("bytes_in")).alias("bytes_in"),
        _sum_or_null(F.col("under_replicated")).cast("bigint").alias("under_replicated"),
    )
    return (
        own.join(samples["brokers"].groupBy(*_POLL).agg(listed.alias("brokers")), [*_POLL], "left")
        .join(sums, [*_POLL], "left")
        .join(samples["quotas"].groupBy(*_POLL).agg(F.min("tokens").alias("mutation_tokens")), [*_POLL], "left")
    )


def clusters(polls: DataFrame, grain: str) -> DataFrame:
    """Aggregate polls by cluster and window."""
    return _by_window(polls, CLUSTERS[grain]).agg(
        F.count("*").alias("polls"),
        *_maxima("brokers", "partitions", "replicas", "counted", "under_replicated"),
        *_mean_and_max("bytes_in"),
        F.min("mutation_tokens").alias("mutation_tokens_min"),
        *map(_last, ("name", "partitions_limit", "broker_limit", "network")),
    )


def broker_polls(samples: Samples) -> DataFrame:
    """Join the rows of each broker in each poll."""
    own = samples["brokers"].select(
        *(*_POLL, "broker", "gone", "replicas", "leaders", "counted", "lag_messages", "lag_bytes"),
        F.aggregate(F.map_values("out_of_sync"), F.lit(0).cast("bigint"), lambda a, b: a + b).alias("out_of_sync"),
        *(_rate(side).alias(f"{side}_rate") for side in SIDES),
        *(f"{side}_headroom" for side in SIDES),
    )
    limits = samples["configs"].select(
        *(*_POLL, "broker"),
        *(F.col("broker_config.limits")[side]["value"].alias(f"{side}_limit") for side in SIDES),
    )
    sums = (
        samples["partitions"]
        .groupBy(*_POLL, F.col("leader").alias("broker"))
        .agg(F.count("*").alias("partitions"), _sum_or_null(F.col("bytes_in")).alias("bytes_in"))
    )
    led = _complete(sums, samples["polls"], "partitions").drop("partitions")
    joined = own.join(limits, [*_POLL, "broker"], "left").join(led, [*_POLL, "broker"], "left")
    # A broker without leaders has no row in `led`.
    nothing = (F.col("leaders") == 0) & F.col("bytes_in").isNull()
    return joined.withColumn("bytes_in", F.when(nothing, F.lit(0.0)).otherwise(F.col("bytes_in")))


def _rate(side: str) -> Column:
    """Return a side's throttled traffic: in sync, and of catch-up (docs/spec/throttles.md#headroom)."""
    no_flows = F.coalesce(F.col(f"{side}_load.flows"), F.lit(0)) == 0
    copied = F.coalesce(F.col(f"{side}_catch_up"), F.when(no_flows, F.lit(0.0)))
    return F.col(f"{side}_floor") + copied


def brokers(polls: DataFrame, grain: str) -> DataFrame:
    """Aggregate polls by broker and window."""
    used = {f"{side}_use": divide(F.col(f"{side}_rate"), F.col(f"{side}_limit")) for side in SIDES}
    return _by_window(polls.withColumns(used), BROKERS[grain]).agg(
        F.count("*").alias("polls"),
        *_mean_and_max("bytes_in", "lag_bytes"),
        *_maxima("lag_messages", "out_of_sync", "replicas", "leaders", "counted"),
        *_mean_and_max(*(f"{side}_{what}" for side in SIDES for what in ("rate", "use"))),
        *(_last(f"{side}_limit") for side in SIDES),
        *(F.min(f"{side}_headroom").alias(f"{side}_headroom_min") for side in SIDES),
    )


def log_dirs(brokers: DataFrame) -> DataFrame:
    """Aggregate log directories that are online by hour."""
    online = brokers.select(*_POLL, "broker", F.explode("log_dirs").alias("dir")).where("dir.online")
    has_volume = (F.col("dir.total_bytes") >= 0) & (F.col("dir.usable_bytes") >= 0)
    used = F.when(has_volume, F.col("dir.total_bytes") - F.col("dir.usable_bytes")).otherwise(F.col("dir.bytes"))
    sized = online.withColumns(
        {
            "log_dir": F.col("dir.path"),
            "used_bytes": used.cast("double"),
            "total_bytes": F.when(has_volume, F.col("dir.total_bytes")).cast("double"),
        }
    )
    return _by_window(sized, LOG_DIR_HOURS).agg(
        F.count("*").alias("polls"), *_maxima("used_bytes"), _last("total_bytes")
    )


def put_days(store: Store, work: incremental.Work) -> None:
    """Replace the days of the hours of a run, which are stored already.

    Each run adds a file for each cluster. Compaction joins them when there are more than 32.
    """

    def hours(mart: Mart) -> DataFrame:
        return store.read(of_mart(mart)).where(work.days("date")).withColumnRenamed("date", "day")

    made = series_days(hours(CLUSTERS["hour"]), hours(BROKERS["hour"]), hours(LOG_DIR_HOURS))
    incremental.replace(work, SERIES_DAYS, made, work.days("day"))


def series_days(clusters: DataFrame, brokers: DataFrame, log_dirs: DataFrame) -> DataFrame:
    """Return `series_day`, for forecasts that read no hours, from the marts by hour, whose `date` is called `day`."""
    limits = (F.max_by(f"{name}_last", "start").alias(f"{name}_last") for name in ("broker_limit", "network"))
    limited = brokers.join(clusters.groupBy(*_DAY).agg(*limits), [*_DAY], "left")
    none, broker, log_dir = F.lit(None), F.col("broker"), F.col("log_dir")
    # A mart is read once, and all are aggregated at once: Delta and Spark take long for each, however few the rows.
    hours = (
        clusters.select(
            *_labels(F.lit("cluster"), none, none),
            _series(("partitions", "counted_max", "partitions_limit_last"), ("bytes_in", "bytes_in_mean", None)),
        ),
        limited.select(
            *_labels(broker.cast("string"), broker, none),
            _series(("replicas", "counted_max", "broker_limit_last"), ("bytes_in", "bytes_in_mean", "network_last")),
        ),
        log_dirs.select(
            *_labels(F.concat_ws(":", broker, log_dir), broker, log_dir),
            _series(("disk_bytes", "used_bytes_max", "total_bytes_last")),
        ),
    )
    return (
        reduce(DataFrame.unionByName, hours)
        .groupBy(*SERIES, "day")
        .agg(F.max("value").alias("value"), F.count("value").alias("hours"), F.max_by("limit", "start").alias("limit"))
    )


def _labels(subject: Column, broker: Column, log_dir: Column) -> list[Column]:
    labels = [broker.cast("int").alias("broker"), log_dir.cast("string").alias("log_dir")]
    return [*map(F.col, (*_DAY, "start")), subject.alias("subject"), *labels]


def _series(*series: tuple[str, str, str | None]) -> Column:
    """Return a row for each series of a subject: `what` it is, and the columns of its value and its limit."""
    rows = (
        F.struct(
            F.lit(what).alias("what"),
            F.col(value).cast("double").alias("value"),
            (F.lit(None) if limit is None else F.col(limit)).cast("double").alias("limit"),
        )
        for what, value, limit in series
    )
    return F.inline(F.array(*rows))


def _by_window(rows: DataFrame, mart: Mart) -> GroupedData:
    """Group rows by the key of a mart. `start` is independent of the session's time zone."""
    length = _SECONDS[mart.name.rpartition("_")[2]]
    return rows.withColumn("start", F.timestamp_seconds(F.floor(F.col("time") / length) * length)).groupBy(*mart.key)


def _mean_and_max(*names: str) -> list[Column]:
    return [*(F.avg(name).alias(f"{name}_mean") for name in names), *_maxima(*names)]


def _maxima(*names: str) -> list[Column]:
    return [F.max(name).alias(f"{name}_max") for name in names]


def _last(name: str) -> Column:
    """Return the value of a window's last poll, also if it is unknown. Two runs may poll at the same time."""
    return F.max_by(name, F.struct("time", "run", "sequence")).alias(f"{name}_last")


def _sum_or_null(value: Column, counted: Column | None = None) -> Column:
    """Return the sum of the rows that are `counted` (default: all), null if one is unknown, 0 of no rows."""
    part = F.lit(True) if counted is None else counted
    known = F.count_if(part & value.isNull()) == 0
    return F.when(known, F.coalesce(F.sum(F.when(part, value)), F.lit(0.0)))


def _complete(sums: DataFrame, polls: DataFrame, table: str, known: Mapping[str, str] | None = None) -> DataFrame:
    """Make the sums of a poll null if rows of the table are missing in it.

    `sums`: a column of the table's name counts the rows. `known`: sum to the column of `polls` that is true in polls
    that know it.
    """
    flags = known or {}
    expected = polls.select(*_POLL, *flags.values(), F.col("rows")[table].alias("expected"))
    whole = F.sum(table).over(Window.partitionBy(*_POLL)) == F.col("expected")
    joined = sums.join(expected, [*_POLL], "left").withColumn("whole", whole)
    keys = [name for name in sums.columns if name in (*_POLL, *_TOPIC, "broker")]
    sure = {name: F.col("whole") & F.col(flags.get(name, "whole")) for name in sums.columns if name not in keys}
    return joined.select(*keys, *(F.when(is_sure, F.col(name)).alias(name) for name, is_sure in sure.items()))


JOB: Final[Job[None]] = Job(
    "rollup",
    "minute and hour marts of replicas, topics, brokers and clusters",
    lambda _: None,
    lambda _: None,
    run,
    partial(incremental.preview, job="rollup"),
)
