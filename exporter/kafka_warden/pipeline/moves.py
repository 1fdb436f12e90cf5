"""The job `moves`: every reassignment, and every move between log directories."""

from datetime import UTC, datetime
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.tables.moves import LOG_DIR, REASSIGNMENT
from kafka_warden.pipeline import marks
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import MOVE_SAMPLES, MOVES, REASSIGNMENTS
from kafka_warden.pipeline.move_samples import MOVE, PARTITION, growth, hosts, move_polls, move_samples
from kafka_warden.pipeline.session import persisted, set_shuffle_partitions
from kafka_warden.pipeline.store import in_list, of_mart
from kafka_warden.pipeline.timeline import DAY, POLL, divide, greatest, least, moment, no

_MOMENTS: Final = ("began", "ended", "last_seen", "eta_first_at")


def run(request: Request[None]) -> None:
    """Write the marts `moves`, `move_samples` and `reassignments`.

    Raises:
        StoreError: the store cannot be used.
    """
    with marks.working(request.store, JOB.name, *request.span) as work:
        if work.hours:
            set_shuffle_partitions(request.spark, work.rows)
            _moves(request, work)
    request.progress.say(f"moves: of {len(work.hours)} clusters, up to batch {work.done}")


def _moves(request: Request[None], work: marks.Work) -> None:
    again = marks.unended(request.store, MOVES, work)
    history = History(request.store, only=again.raw, done=work.done)
    with persisted(move_polls(history)) as polls, persisted(move_samples(history, polls)) as shown:
        with request.progress.step("moves: samples"):
            again.replace(work, MOVE_SAMPLES, samples_of(shown))
        with request.progress.step("moves: lifetimes"):
            placed = history.table("brokers").select(*POLL, "broker", "placed")
            found = move_lifetimes(shown, hosts(history, shown), placed)
            lives = found.withColumns({name: moment(name) for name in _MOMENTS}).select(*MOVES.names)
            again.replace(work, MOVES, lives)
    with request.progress.step("moves: reassignments"):
        # Of all stored moves: one that ended long ago may be of the same reassignment as one that goes on.
        mine = in_list("cluster_id", work.hours)
        stored = request.store.read(of_mart(MOVES)).where(mine)
        marks.replace(work, REASSIGNMENTS, reassignments(stored), mine)


def samples_of(shown: DataFrame) -> DataFrame:
    """Return the mart `move_samples`."""
    of_life = Window.partitionBy(*MOVE, "life")
    return (
        shown.withColumns(
            {
                "began": F.min("at").over(of_life),
                "ended": F.max_by("next_at", "n").over(of_life),
                "time": F.col("at"),
                "date": F.date_from_unix_date(F.floor(F.col("at") / DAY).cast("int")),
            }
        )
        .withColumns({name: moment(name) for name in ("began", "ended", "time")})
        .select(*MOVE_SAMPLES.names)
    )


COMPLETED: Final = "completed"
CANCELLED: Final = "cancelled"
RUNNING: Final = "running"
UNKNOWN: Final = "unknown"
"""Values of `outcome`."""


def move_lifetimes(shown: DataFrame, hosts: DataFrame, placed: DataFrame) -> DataFrame:
    """Aggregate the samples of each move's lifetime to the columns of the mart `moves`, times as Unix s.

    `shown` and `hosts`: of `moves.samples`. `placed`: `POLL`, `broker` and `placed`, the log directory of each log.
    """
    summed = shown.groupBy(*MOVE, "life").agg(*_whole(), *_first_and_last(), *_stuck())
    summed = summed.withColumn("causes", _by_cause(F.col("pairs")))
    ended = _with_ends(summed, hosts, placed).withColumn("outcome", _outcome())
    done = F.col("outcome") == COMPLETED
    whole = relative_error(F.col("predicted_seconds"), F.col("seconds"))
    rest = relative_error(F.col("eta_first"), F.col("ended") - F.col("eta_first_at"))
    errors = {"prediction_error": F.when(done, whole), "eta_error": F.when(done, rest)}
    return ended.withColumns(_end_of_log()).withColumns(_times()).withColumns(errors)


def relative_error(predicted: Column, taken: Column) -> Column:
    """Return by which share a prediction was too long, negative when too short: predicted / taken - 1.

    `+inf` for never.
    """
    return divide(predicted, taken) - 1.0


def _whole() -> list[Column]:
    known = F.col("bytes_per_second").isNotNull() | (F.col("kind") == LOG_DIR)
    return [
        F.count("*").alias("polls"),
        F.count_distinct("run").alias("runs"),
        F.min("at").alias("began"),
        F.max("at").alias("last_seen"),
        F.sum("grown").alias("grown_sum"),
        F.max(F.when(known, F.col("rate"))).alias("rate_max"),
        F.avg("limit").alias("limit_mean"),
        F.avg("use").alias("use_mean"),
        F.sum("held").alias("held_sum"),
        # A move that did not advance since an earlier poll lost all the time between the last two.
        F.sum(least(F.col("stalled"), F.col("between"))).alias("stalled_sum"),
        F.count("stalled").alias("stalled_known"),
    ]


def _first(name: str) -> Column:
    """Return the first known value."""
    return F.min_by(name, F.when(F.col(name).isNotNull(), F.col("n")))


def _last(name: str) -> Column:
    return F.max_by(name, F.when(F.col(name).isNotNull(), F.col("n")))


def _first_and_last() -> list[Column]:
    return [
        F.min_by("previous_at", "n").alias("previous_at"),
        F.max_by("next_at", "n").alias("ended"),
        F.max_by("next_run", "n").alias("next_run"),
        F.max_by("next_sequence", "n").alias("next_sequence"),
        _last("leader").alias("leader"),
        _last("log_dir").alias("log_dir"),
        _last("size").alias("last_size"),
        _first("remaining_bytes").alias("bytes_at_start"),
        _first("predicted").alias("predicted_seconds"),
        _first("predicted_bottleneck").alias("predicted_bottleneck_seconds"),
        _first("eta").alias("eta_first"),
        F.min(F.when(F.col("eta").isNotNull(), F.col("at"))).alias("eta_first_at"),
    ]


def _stuck() -> list[Column]:
    stuck = F.col("stuck").isNotNull()
    pairs = F.collect_list(F.when(stuck, F.struct("stuck", "held")))
    return [
        F.coalesce(F.sum(F.when(stuck, F.col("held"))), F.lit(0.0)).alias("stuck_seconds"),
        F.coalesce(F.sum(F.when(F.col("never_ends"), F.col("held"))), F.lit(0.0)).alias("never_seconds"),
        pairs.alias("pairs"),
    ]


def _by_cause(pairs: Column) -> Column:
    """Add up the seconds of each cause."""

    def seconds(cause: Column) -> Column:
        mine = F.filter(pairs, lambda each: each["stuck"] == cause)
        total = F.aggregate(mine, F.lit(0.0), lambda so_far, each: so_far + each["held"])
        return F.struct(cause, total)

    causes = F.array_distinct(F.transform(pairs, lambda each: each["stuck"]))
    return F.map_from_entries(F.transform(F.array_sort(causes), seconds))


def _with_ends(summed: DataFrame, hosts: DataFrame, placed: DataFrame) -> DataFrame:
    """Join the partition's replicas and the broker's directories in the first poll without the move."""
    after = [F.col(name).alias(f"next_{name}" if name in POLL[1:] else name) for name in PARTITION]
    at_end = hosts.select(*after, "hosts")
    directories = placed.select(
        "cluster_id", F.col("run").alias("next_run"), F.col("sequence").alias("next_sequence"), "broker", "placed"
    )
    of_partition = ["cluster_id", "next_run", "next_sequence", *PARTITION[3:]]
    return summed.join(at_end, of_partition, "left").join(
        directories, ["cluster_id", "next_run", "next_sequence", "broker"], "left"
    )


def _outcome() -> Column:
    target = F.col("hosts")[F.col("broker")]
    # A replica that is still marked as adding, but is in sync, has completed: it may even lead.
    reassigned = (
        F.when(F.col("hosts").isNull(), UNKNOWN)
        .when(target.isNull(), CANCELLED)
        .when(~target["adding"] | target["in_isr"], COMPLETED)
        .otherwise(UNKNOWN)
    )
    log = F.filter("placed", lambda each: (each["topic"] == F.col("topic")) & (each["partition"] == F.col("partition")))
    lies_in = F.get(log, F.lit(0))["log_dir"]
    between = (
        F.when(F.col("placed").isNull() | lies_in.isNull(), UNKNOWN)
        .when(lies_in == F.col("log_dir"), COMPLETED)
        .otherwise(CANCELLED)
    )
    return F.when(F.col("ended").isNull(), RUNNING).when(F.col("kind") == LOG_DIR, between).otherwise(reassigned)


def _end_of_log() -> dict[str, Column]:
    """Add the bytes that were copied after the last poll with the move."""
    size = F.col("hosts")[F.col("broker")]["size"]
    added = growth(size, F.col("last_size"))
    has_end = (F.col("outcome") == COMPLETED) & (F.col("kind") != LOG_DIR)
    whole = F.coalesce("grown_sum", F.lit(0.0)) + added
    return {"bytes_copied": F.when(has_end, whole).otherwise(F.col("grown_sum"))}


def _times() -> dict[str, Column]:
    seconds = F.coalesce("ended", "last_seen") - F.col("began")
    at_end = F.when(F.col("ended").isNotNull(), F.col("ended") - F.col("last_seen")).otherwise(F.lit(0.0))
    return {
        "seconds": seconds,
        "uncertain_seconds": F.col("began") - F.col("previous_at") + at_end,
        "unseen_seconds": greatest(seconds - F.col("held_sum"), F.lit(0.0)),
        "rate_mean": divide(F.col("bytes_copied"), seconds),
        "stalled_seconds": F.when(F.col("stalled_known") > 0, F.coalesce("stalled_sum", F.lit(0.0))),
    }


_KEY: Final = ("cluster_id", "reassignment")
_LATER: Final = datetime(9999, 1, 1, tzinfo=UTC)
RECEIVES: Final = "follower"
_SIDES: Final = (("broker", RECEIVES), ("leader", "leader"))
"""Column of a broker's id to its side of the throttle."""


def reassignments(moves: DataFrame) -> DataFrame:
    """Aggregate rows of the mart `moves` to those of the mart `reassignments`."""
    numbered = _numbered(moves.where(F.col("kind") == REASSIGNMENT))
    return numbered.groupBy(*_KEY).agg(*_of_reassignment()).join(_bottlenecks(numbered), [*_KEY])


def _numbered(moves: DataFrame) -> DataFrame:
    """Number the reassignments of each cluster: one begins where no earlier move goes on."""
    in_order = Window.partitionBy("cluster_id").orderBy("began", "topic", "topic_id", "partition", "broker")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    # A move that runs overlaps with all that begins later, also where a poll did not list it.
    over = F.coalesce("ended", F.lit(_LATER))
    goes_on = F.coalesce(F.max(over).over(earlier) >= F.col("began"), no())
    return (
        moves.withColumn("until", F.coalesce("ended", "last_seen"))
        .withColumn("begins", F.when(goes_on, 0).otherwise(1))
        .withColumn("reassignment", F.sum("begins").over(in_order))
    )


def _of_reassignment() -> list[Column]:
    every = F.count("*")
    planned = F.col("predicted_bottleneck_seconds")
    first = F.struct("began", "topic", "topic_id", "partition", "broker")
    return [
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
    ]


def _bottlenecks(numbered: DataFrame) -> DataFrame:
    """Find the side of a broker that was busy last; of several the one with most bytes."""
    sides = F.array(*(F.struct(F.col(of).alias("broker"), F.lit(side).alias("side")) for of, side in _SIDES))
    busy = (
        numbered.select(*_KEY, "until", "bytes_copied", F.explode(sides).alias("at"))
        .where("at.broker IS NOT NULL")
        .groupBy(*_KEY, "at")
        .agg(F.max("until").alias("until"), F.sum("bytes_copied").alias("bytes"))
    )
    last = F.max_by(
        "at", F.struct("until", F.coalesce("bytes", F.lit(-1.0)), F.col("at.side") == RECEIVES, -F.col("at.broker"))
    )
    return (
        busy.groupBy(*_KEY)
        .agg(last.alias("at"))
        .select(*_KEY, F.col("at.broker").alias("bottleneck_broker"), F.col("at.side").alias("bottleneck_side"))
    )


JOB: Final[Job[None]] = Job(
    "moves", "every move: bytes, rate, throttle, stalls, prediction", lambda _: None, lambda _: None, run
)
