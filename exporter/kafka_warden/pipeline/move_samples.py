"""Moves poll by poll: the rows of the table `moves` with their limits, their rates, and the move that they are of."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.tables.moves import LOG_DIR, REASSIGNMENT
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.timeline import CLOCKS, POLL, divide, informative_polls, timeline

MOVE: Final = ("cluster_id", "kind", "topic", "topic_id", "partition", "broker")
_PARTITION: Final = (*POLL, "topic", "topic_id", "partition")
_UNLIMITED: Final = float("inf")


def move_polls(history: History) -> DataFrame:
    """Return the polls of `move_samples`, which uses them many times."""
    return timeline(
        history.table("polls").select(*CLOCKS, "reassignments_known", "predicted", "predicted_bottleneck")
    ).drop("parameters")


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
