"""The job `moves`: every reassignment, and every move between log directories."""

from datetime import UTC, datetime
from functools import partial
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.tables.moves import LOG_DIR, REASSIGNMENT
from kafka_warden.pipeline import incremental
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import MOVE_SAMPLES, MOVES, REASSIGNMENTS
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import in_list, of_mart
from kafka_warden.pipeline.timeline import CLOCKS, DAY, POLL, History, divide, informative_polls, moment, timeline

MOVE: Final = ("cluster_id", "kind", "topic", "topic_id", "partition", "broker")
_PARTITION: Final = (*POLL, "topic", "topic_id", "partition")
_UNLIMITED: Final = float("inf")

COMPLETED: Final = "completed"
CANCELLED: Final = "cancelled"
RUNNING: Final = "running"
UNKNOWN: Final = "unknown"
"""Values of `outcome`."""

_LATER: Final = datetime(9999, 1, 1, tzinfo=UTC)
_SENDS: Final = "leader"
_RECEIVES: Final = "follower"


def run(request: Request[None]) -> None:
    """Write the marts `moves`, `move_samples` and `reassignments`.

    Raises:
        StoreError: the store cannot be used.
    """
    incremental.compute(request, JOB.name, request.span, partial(_moves, request))


def _moves(request: Request[None], work: incremental.Work) -> None:
    again = incremental.unended(request.store, MOVES, work)
    history = History(request.store, only=again.raw)
    with persisted(move_polls(history)) as polls, persisted(move_samples(history, polls)) as samples:
        with request.progress.step("moves: samples"):
            day = F.date_from_unix_date(F.floor(F.col("at") / DAY).cast("int"))
            dated = samples.withColumns({"time": F.col("at"), "date": day})
            again.replace(work, MOVE_SAMPLES, _with_moments(dated, "time", "began", "ended"))
        with request.progress.step("moves: lifetimes"):
            lifetimes = _with_moments(move_lifetimes(samples), "began", "ended", "last_seen", "eta_first_at")
            again.replace(work, MOVES, lifetimes)
    with request.progress.step("moves: reassignments"):
        # Of all stored moves: one that ended long ago may be of the same reassignment as one that goes on.
        mine = in_list("cluster_id", work.hours)
        stored = request.store.read(of_mart(MOVES)).where(mine)
        incremental.replace(work, REASSIGNMENTS, reassignments(stored), mine)


def _with_moments(rows: DataFrame, *names: str) -> DataFrame:
    return rows.withColumns({name: moment(name) for name in names})


def move_polls(history: History) -> DataFrame:
    """Return the polls of `move_samples`, which uses them many times.

    A poll of which rows of moves are missing does not know them.
    """
    listed = history.table("moves").groupBy(*POLL).agg(F.count("*").alias("listed"))
    is_whole = F.col("rows")["moves"] == F.coalesce("listed", F.lit(0))
    polls = history.table("polls").join(listed, [*POLL], "left")
    known = polls.withColumn("reassignments_known", F.col("reassignments_known") & is_whole)
    return timeline(known.select(*CLOCKS, "reassignments_known", "predicted", "predicted_bottleneck")).drop(
        "parameters"
    )


def move_samples(history: History, polls: DataFrame) -> DataFrame:
    """Join each row of `moves` with its poll, its replicas and its brokers, and with what the next poll has of it.

    A move ends at the first poll that knows the moves and does not list it; a restart of the sidecar, or an hour
    without a poll, ends none. Columns besides those of the tables: `began` and `ended` of the move (Unix s, null while
    it is running); `between` (s since its previous poll, null in its first); `grown` (bytes); `limit`; `use`; `rate`;
    `next_hosts` and `next_log_dir`, the partition's replicas and the log's directory in the next poll.
    """
    brokers = history.table("brokers")
    answered = brokers.where(F.col("log_dirs").isNotNull()).select(*POLL, "broker")
    by_poll = informative_polls(polls.where("reassignments_known"))
    by_broker = informative_polls(answered.join(polls, [*POLL]), ("cluster_id", "broker"))
    moves = history.table("moves").drop("schema_version", "time", "clock")
    reassigned = moves.where(F.col("kind") == REASSIGNMENT).join(by_poll, [*POLL])
    between = moves.where(F.col("kind") == LOG_DIR).join(by_broker, [*POLL, "broker"])
    listed = reassigned.unionByName(between)
    # Only moves between log directories need the long lists of what lies where.
    placed = brokers.select(*POLL, "broker", F.lit(LOG_DIR).alias("kind"), "placed")
    hosts = _hosts(history, listed)
    joined = (
        listed.join(hosts, [*_PARTITION], "left")
        .join(_of_next(hosts, "hosts"), [*map(_next, _PARTITION)], "left")
        .join(_of_next(placed, "placed"), [*map(_next, POLL), "broker", "kind"], "left")
        .withColumn("next_log_dir", F.get(F.filter("next_placed", _is_log), F.lit(0))["log_dir"])
        .drop("next_placed")
        .join(polls.select(*POLL, "predicted", "predicted_bottleneck"), [*POLL], "left")
    )
    return _with_rates(_with_limits(joined, _broker_sides(history)))


def _next(name: str) -> str:
    return f"next_{name}" if name in {"run", "sequence"} else name


def _of_next(rows: DataFrame, value: str) -> DataFrame:
    """Rename the columns of a poll's rows to those by which an earlier sample refers to that poll."""
    return rows.withColumnsRenamed({"run": "next_run", "sequence": "next_sequence", value: f"next_{value}"})


def _is_log(placed: Column) -> Column:
    return (placed["topic"] == F.col("topic")) & (placed["partition"] == F.col("partition"))


def _hosts(history: History, listed: DataFrame) -> DataFrame:
    """Return `hosts`, broker to replica of moving partitions, in each poll with the move and in the next one."""
    then = listed.select(*(F.col(_next(name)).alias(name) for name in _PARTITION)).where(F.col("run").isNotNull())
    wanted = listed.select(*_PARTITION).unionByName(then).distinct()
    size = F.col("size").cast("double").alias("size")
    replica = F.struct("adding", "in_isr", size, "leader_listed", "follower_listed")
    # `collect_set` drops duplicates cheaper.
    hosts = F.map_from_entries(F.collect_set(F.struct("broker", replica)))
    replicas = history.table("replicas").join(wanted, [*_PARTITION], "leftsemi")
    return replicas.groupBy(*_PARTITION).agg(hosts.alias("hosts"))


def _broker_sides(history: History) -> DataFrame:
    """Return the limits of each broker in each poll, and the traffic that counts against them."""
    limits = F.col("broker_config.limits")
    configs = (
        history.table("configs")
        .where((F.col("kind") == "broker") & F.col("broker_config").isNotNull())
        .select(
            *(*POLL, "broker"),
            *(limits[side]["value"].alias(f"{side}_side") for side in ("leader", "follower", "log_dirs")),
        )
    )
    traffic = [f"{side}_{what}" for side in ("leader", "follower") for what in ("floor", "catch_up")]
    return history.table("brokers").select(*POLL, "broker", *traffic).join(configs, [*POLL, "broker"], "full")


def _with_limits(samples: DataFrame, sides: DataFrame) -> DataFrame:
    leaders = sides.select(*POLL, F.col("broker").alias("leader"), "leader_side", "leader_floor", "leader_catch_up")
    targets = sides.select(*POLL, "broker", "follower_side", "log_dirs_side", "follower_floor", "follower_catch_up")
    within = F.col("kind") == LOG_DIR
    source, target = F.col("hosts")[F.col("leader")], F.col("hosts")[F.col("broker")]
    leader = _limit(source["leader_listed"], F.col("leader_side"))
    follower = _limit(target["follower_listed"], F.col("follower_side"))
    used = (
        side_use(*(F.col(f"{side}_{what}") for what in ("floor", "catch_up", "limit")))
        for side in ("leader", "follower")
    )
    return (
        samples.join(leaders, [*POLL, "leader"], "left")
        .join(targets, [*POLL, "broker"], "left")
        .withColumns(
            {
                "size": F.when(within, F.col("size").cast("double")).otherwise(target["size"]),
                "leader_limit": F.when(within, F.lit(_UNLIMITED)).otherwise(leader),
                "follower_limit": F.when(within, F.col("log_dirs_side")).otherwise(follower),
            }
        )
        .withColumns(
            {
                "limit": least(F.col("leader_limit"), F.col("follower_limit")),
                "use": F.when(~within, greatest(*used)),
            }
        )
    )


def _limit(is_listed: Column, limit: Column) -> Column:
    """Return the limit of a replica: infinite if the broker's list does not name it."""
    return F.when(is_listed, limit).when(~is_listed, F.lit(_UNLIMITED))


def side_use(floor: Column, catch_up: Column, limit: Column) -> Column:
    """Return the share of a broker's limit in use: in-sync traffic that counts against it, plus bytes that moves copy.

    0 without a limit, null at a limit of 0.
    """
    return F.when(limit >= _UNLIMITED, F.lit(0.0)).otherwise(divide(floor + catch_up, limit))


def _with_rates(samples: DataFrame) -> DataFrame:
    of_key = Window.partitionBy(*MOVE).orderBy("n")
    goes_on = F.col("n") - F.lag("n").over(of_key) == 1
    fresh = samples.withColumn("fresh", F.when(goes_on, 0).otherwise(1))
    of_move = Window.partitionBy(*MOVE, "life").orderBy("n")
    whole = of_move.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    before = F.last("size", ignorenulls=True).over(of_move.rowsBetween(Window.unboundedPreceding, -1))
    # A move whose start was seen started with nothing.
    from_nothing = F.when(F.first("previous_at").over(of_move).isNotNull(), F.lit(0.0))
    between = F.col("at") - F.lag("at").over(of_move)
    rate = divide(F.col("grown"), F.col("between"))
    return (
        fresh.withColumn("life", F.sum("fresh").over(of_key))
        .withColumns(
            {
                "began": F.first("at").over(whole),
                "ended": F.last("next_at").over(whole),
                "between": between,
                "grown": growth(F.col("size"), F.coalesce(before, from_nothing)),
            }
        )
        .withColumn("rate", F.when(F.col("kind") == LOG_DIR, rate).otherwise(F.col("bytes_per_second")))
    )


def growth(size: Column, before: Column) -> Column:
    """Return the bytes by which a log grew between two polls, not below 0: deletion by retention does not count."""
    return greatest(size - before, F.lit(0.0))


def greatest(left: Column, right: Column) -> Column:
    """Return the larger of two; null if one is null, which Spark's own ignores."""
    return F.when(left.isNotNull() & right.isNotNull(), F.greatest(left, right))


def least(left: Column, right: Column) -> Column:
    """Return the smaller of two; null if one is null, which Spark's own ignores."""
    return F.when(left.isNotNull() & right.isNotNull(), F.least(left, right))


def move_lifetimes(samples: DataFrame) -> DataFrame:
    """Aggregate the samples of each move to the columns of the mart `moves`, times as Unix s.

    `samples`: of `move_samples`.
    """
    seconds = F.coalesce("ended", "last_seen") - F.col("began")
    at_end = F.coalesce(F.col("ended") - F.col("last_seen"), F.lit(0.0))
    target = F.col("hosts")[F.col("broker")]
    whole = F.coalesce("grown", F.lit(0.0)) + growth(target["size"], F.col("last_size"))
    is_done = F.col("outcome") == COMPLETED
    until_end = F.col("ended") - F.col("eta_first_at")
    return (
        samples.groupBy(*MOVE, "began", "ended")
        .agg(*_sums(), *_firsts_and_lasts())
        .withColumns({"outcome": _outcome(target), "seconds": seconds, "causes": _by_cause(F.col("pairs"))})
        # The last poll that lists a move does not know the bytes that came after it.
        .withColumn("bytes_copied", F.when(is_done & (F.col("kind") != LOG_DIR), whole).otherwise(F.col("grown")))
        .withColumns(
            {
                "uncertain_seconds": F.col("began") - F.col("previous_at") + at_end,
                "unseen_seconds": F.greatest(F.col("seconds") - F.col("held"), F.lit(0.0)),
                "rate_mean": divide(F.col("bytes_copied"), F.col("seconds")),
                "prediction_error": F.when(is_done, relative_error(F.col("predicted_seconds"), F.col("seconds"))),
                "eta_error": F.when(is_done, relative_error(F.col("eta_first"), until_end)),
            }
        )
    )


def relative_error(predicted: Column, taken: Column) -> Column:
    """Return by which share a prediction was too long, negative when too short: predicted / taken - 1.

    `+inf` for never.
    """
    return divide(predicted, taken) - 1.0


def _sums() -> list[Column]:
    has_rate = F.col("bytes_per_second").isNotNull() | (F.col("kind") == LOG_DIR)
    stuck = F.col("stuck").isNotNull()
    # A move that did not advance since an earlier poll lost all the time between the last two.
    stalled = F.coalesce(F.sum(least(F.col("stalled"), F.col("between"))), F.lit(0.0))
    return [
        F.count("*").alias("polls"),
        F.count_distinct("run").alias("runs"),
        F.sum("grown").alias("grown"),
        F.max(F.when(has_rate, F.col("rate"))).alias("rate_max"),
        F.avg("limit").alias("limit_mean"),
        F.avg("use").alias("use_mean"),
        F.sum("held").alias("held"),
        F.when(F.count("stalled") > 0, stalled).alias("stalled_seconds"),
        F.sum(F.when(stuck, F.col("held")).otherwise(F.lit(0.0))).alias("stuck_seconds"),
        F.sum(F.when(F.col("never_ends"), F.col("held")).otherwise(F.lit(0.0))).alias("never_seconds"),
        F.collect_list(F.when(stuck, F.struct("stuck", "held"))).alias("pairs"),
    ]


def _firsts_and_lasts() -> list[Column]:
    firsts = {
        "remaining_bytes": "bytes_at_start",
        "predicted": "predicted_seconds",
        "predicted_bottleneck": "predicted_bottleneck_seconds",
        "eta": "eta_first",
    }
    lasts = {"leader": "leader", "log_dir": "log_dir", "size": "last_size"}
    known = {name: F.when(F.col(name).isNotNull(), F.col("n")) for name in (*firsts, *lasts)}
    return [
        F.min_by("previous_at", "n").alias("previous_at"),
        F.max("at").alias("last_seen"),
        F.max_by("next_hosts", "n").alias("hosts"),
        F.max_by("next_log_dir", "n").alias("next_log_dir"),
        *(F.min_by(name, known[name]).alias(alias) for name, alias in firsts.items()),
        *(F.max_by(name, known[name]).alias(alias) for name, alias in lasts.items()),
        F.min(F.when(F.col("eta").isNotNull(), F.col("at"))).alias("eta_first_at"),
    ]


def _by_cause(pairs: Column) -> Column:
    """Add up the seconds of each cause."""

    def seconds(cause: Column) -> Column:
        mine = F.filter(pairs, lambda each: each["stuck"] == cause)
        return F.struct(cause, F.aggregate(mine, F.lit(0.0), lambda total, each: total + each["held"]))

    return F.map_from_entries(F.transform(F.array_sort(F.array_distinct(pairs["stuck"])), seconds))


def _outcome(target: Column) -> Column:
    """Return how a move ended, from the first poll without it. `target`: its replica in that poll."""
    # A replica that is still marked as adding, but is in sync, has completed: it may even lead.
    is_replica = ~target["adding"] | target["in_isr"]
    reassigned = F.when(is_replica, COMPLETED).when(F.col("hosts").isNotNull() & target.isNull(), CANCELLED)
    arrived = F.col("next_log_dir") == F.col("log_dir")
    between = F.when(arrived, COMPLETED).when(~arrived, CANCELLED)
    known = F.when(F.col("kind") == LOG_DIR, between).otherwise(reassigned)
    return F.when(F.col("ended").isNull(), RUNNING).otherwise(F.coalesce(known, F.lit(UNKNOWN)))


def reassignments(moves: DataFrame) -> DataFrame:
    """Combine rows of the mart `moves` to rows of `reassignments`: one begins where no earlier move goes on."""
    in_order = Window.partitionBy("cluster_id").orderBy("began", "topic", "topic_id", "partition", "broker")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    # A move that runs overlaps with all that begins later, also where a poll did not list it.
    goes_on = F.max(F.coalesce("ended", F.lit(_LATER))).over(earlier) >= F.col("began")
    numbered = (
        moves.where(F.col("kind") == REASSIGNMENT)
        .withColumns({"until": F.coalesce("ended", "last_seen"), "begins": F.when(goes_on, 0).otherwise(1)})
        .withColumn("reassignment", F.sum("begins").over(in_order))
    )
    key = ("cluster_id", "reassignment")
    every = F.count("*")
    planned = F.col("predicted_bottleneck_seconds")
    first = F.struct("began", "topic", "topic_id", "partition", "broker")
    whole = numbered.groupBy(*key).agg(
        F.min("began").alias("began"),
        F.when(F.count("ended") == every, F.max("ended")).alias("ended"),
        F.max("last_seen").alias("last_seen"),
        ((F.unix_micros(F.max("until")) - F.unix_micros(F.min("began"))) / 1e6).alias("seconds"),
        F.min_by(planned, F.when(planned.isNotNull(), first)).alias("planned_seconds"),
        every.alias("replicas"),
        F.count_if(F.col("outcome") == COMPLETED).alias("completed"),
        F.count_if(F.col("outcome") == CANCELLED).alias("cancelled"),
        F.count_distinct("began").alias("waves"),
        F.when(F.count("bytes_copied") == every, F.sum("bytes_copied")).alias("bytes_copied"),
        F.sum("stuck_seconds").alias("stuck_seconds"),
    )
    # The side of a broker that was busy last; of several the one with most bytes.
    received = F.struct("broker", F.lit(_RECEIVES).alias("side"))
    sent = F.struct(F.col("leader").alias("broker"), F.lit(_SENDS).alias("side"))
    busy = (
        numbered.select(*key, "until", "bytes_copied", F.inline(F.array(received, sent)))
        .where("broker IS NOT NULL")
        .groupBy(*key, "broker", "side")
        .agg(F.max("until").alias("until"), F.sum("bytes_copied").alias("bytes"))
    )
    latest = F.struct("until", F.coalesce("bytes", F.lit(-1.0)), F.col("side") == _RECEIVES, -F.col("broker"))
    bottlenecks = busy.groupBy(*key).agg(
        F.max_by("broker", latest).alias("bottleneck_broker"), F.max_by("side", latest).alias("bottleneck_side")
    )
    return whole.join(bottlenecks, [*key])


JOB: Final[Job[None]] = Job(
    "moves",
    "every move: bytes, rate, throttle, stalls, prediction",
    lambda _: None,
    lambda _: None,
    run,
    partial(incremental.preview, job="moves"),
)
