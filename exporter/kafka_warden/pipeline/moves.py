"""The job `moves`: every reassignment, and every move between log directories."""

from datetime import UTC, datetime
from functools import partial
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.tables.moves import LOG_DIR, REASSIGNMENT
from kafka_warden.pipeline import incremental
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import MOVE_SAMPLES, MOVES, REASSIGNMENTS
from kafka_warden.pipeline.move_samples import MOVE, growth, least, move_polls, move_samples
from kafka_warden.pipeline.session import persisted, set_shuffle_partitions
from kafka_warden.pipeline.store import in_list, of_mart
from kafka_warden.pipeline.timeline import DAY, divide, moment

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
    with incremental.working(request, JOB.name, *request.span) as work:
        if work.hours:
            set_shuffle_partitions(request.spark, work.rows)
            _moves(request, work)
    request.progress.say(f"moves: of {len(work.hours)} clusters")


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
