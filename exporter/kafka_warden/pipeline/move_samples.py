"""Moves poll by poll: the rows of the table `moves` with their limits and the number of the move's lifetime."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.tables.moves import LOG_DIR, REASSIGNMENT
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.timeline import CLOCKS, POLL, divide, greatest, informative_polls, least, timeline

MOVE: Final = ("cluster_id", "kind", "topic", "topic_id", "partition", "broker")
PARTITION: Final = (*POLL, "topic", "topic_id", "partition")
_UNLIMITED: Final = float("inf")


def move_polls(history: History) -> DataFrame:
    """Return the polls of `move_samples`, which uses them many times."""
    return timeline(
        history.table("polls").select(*CLOCKS, "reassignments_known", "predicted", "predicted_bottleneck")
    ).drop("parameters")


def move_samples(history: History, polls: DataFrame) -> DataFrame:
    """Join each row of `moves` with its poll, its replicas and its brokers, and number the lifetimes of each move.

    A lifetime ends at the first poll that knows the moves and does not list this one; a restart of the sidecar, or an
    hour without a poll, ends none. Columns besides those of the tables: `life`, its number; `between` (s since the
    previous poll of this lifetime, null in its first); `grown` (bytes); `limit`; `use`; `rate`.
    """
    answered = history.table("brokers").where(F.col("log_dirs").isNotNull()).select(*POLL, "broker")
    by_poll = informative_polls(polls.where("reassignments_known"))
    by_broker = informative_polls(answered.join(polls, [*POLL]), ("cluster_id", "broker"))
    moves = history.table("moves").drop("schema_version", "time", "clock")
    reassigned = moves.where(F.col("kind") == REASSIGNMENT).join(by_poll, [*POLL])
    between = moves.where(F.col("kind") == LOG_DIR).join(by_broker, [*POLL, "broker"])
    shown = reassigned.unionByName(between)
    limited = _limited(_with_hosts(shown, hosts(history, shown)), broker_sides(history))
    return _numbered(limited.join(polls.select(*POLL, "predicted", "predicted_bottleneck"), [*POLL], "left"))


def hosts(history: History, shown: DataFrame) -> DataFrame:
    """Return the replicas of moving partitions, in each poll with the move and in the next one.

    `hosts` maps a broker to its replica.
    """
    of_partition = PARTITION[1:]
    now = shown.select(*PARTITION)
    then = shown.select(
        "cluster_id", F.col("next_run").alias("run"), F.col("next_sequence").alias("sequence"), *of_partition[2:]
    )
    wanted = now.unionByName(then).where(F.col("run").isNotNull()).distinct()
    # `collect_set` drops duplicates cheaper.
    replicas = history.table("replicas").select(
        *PARTITION,
        F.struct(
            "broker",
            F.struct(
                "adding", "in_isr", F.col("size").cast("double").alias("size"), "leader_listed", "follower_listed"
            ),
        ).alias("host"),
    )
    return (
        replicas.join(wanted, [*PARTITION], "leftsemi")
        .groupBy(*PARTITION)
        .agg(F.map_from_entries(F.collect_set("host")).alias("hosts"))
    )


def _with_hosts(shown: DataFrame, found: DataFrame) -> DataFrame:
    joined = shown.join(found, [*PARTITION], "left")
    target = F.col("hosts")[F.col("broker")]
    size = F.when(F.col("kind") == LOG_DIR, F.col("size").cast("double")).otherwise(target["size"])
    return joined.withColumns(
        {
            "size": size,
            "leader_listed": F.col("hosts")[F.col("leader")]["leader_listed"],
            "follower_listed": target["follower_listed"],
        }
    ).drop("hosts")


def broker_sides(history: History) -> DataFrame:
    """Return the limits of each broker in each poll, and the traffic that counts against them."""
    limits = F.col("broker_config.limits")
    configs = (
        history.table("configs")
        .where((F.col("kind") == "broker") & F.col("broker_config").isNotNull())
        .select(
            *POLL,
            "broker",
            limits["leader"]["value"].alias("leader_side"),
            limits["follower"]["value"].alias("follower_side"),
            limits["log_dirs"]["value"].alias("log_dirs_side"),
        )
    )
    brokers = history.table("brokers").select(
        *POLL, "broker", "leader_floor", "leader_catch_up", "follower_floor", "follower_catch_up"
    )
    return brokers.join(configs, [*POLL, "broker"], "full")


def _limited(shown: DataFrame, brokers: DataFrame) -> DataFrame:
    leaders = brokers.select(*POLL, F.col("broker").alias("leader"), "leader_side", "leader_floor", "leader_catch_up")
    targets = brokers.select(*POLL, "broker", "follower_side", "log_dirs_side", "follower_floor", "follower_catch_up")
    within = F.col("kind") == LOG_DIR
    leader = F.when(within, F.lit(_UNLIMITED)).otherwise(_listed("leader_listed", F.col("leader_side")))
    follower = F.when(within, F.col("log_dirs_side")).otherwise(_listed("follower_listed", F.col("follower_side")))
    used = [
        side_use(F.col(f"{side}_floor"), F.col(f"{side}_catch_up"), F.col(f"{side}_limit"))
        for side in ("leader", "follower")
    ]
    return (
        shown.join(leaders, [*POLL, "leader"], "left")
        .join(targets, [*POLL, "broker"], "left")
        .withColumns({"leader_limit": leader, "follower_limit": follower})
        .withColumns(
            {
                "limit": least(F.col("leader_limit"), F.col("follower_limit")),
                "use": F.when(~within, greatest(used[0], used[1])),
            }
        )
    )


def side_use(floor: Column, catch_up: Column, limit: Column) -> Column:
    """Return the share of a broker's limit in use: in-sync traffic that counts against it, plus bytes that moves copy.

    0 without a limit, null at a limit of 0.
    """
    return F.when(limit >= _UNLIMITED, F.lit(0.0)).otherwise(divide(floor + catch_up, limit))


def growth(size: Column, before: Column) -> Column:
    """Return the bytes by which a log grew between two polls, not below 0: deletion by retention does not count."""
    return greatest(size - before, F.lit(0.0))


def _listed(named: str, limit: Column) -> Column:
    """Return the limit of a replica: infinite if the list does not name it."""
    return F.when(F.col(named), limit).when(~F.col(named), F.lit(_UNLIMITED))


def _numbered(shown: DataFrame) -> DataFrame:
    of_move = Window.partitionBy(*MOVE).orderBy("n")
    since = F.col("n") - F.lag("n").over(of_move)
    numbered = shown.withColumn("fresh", F.when(since == 1, 0).otherwise(1)).withColumn(
        "life", F.sum("fresh").over(of_move)
    )
    of_life = Window.partitionBy(*MOVE, "life").orderBy("n")
    before = F.last("size", ignorenulls=True).over(of_life.rowsBetween(Window.unboundedPreceding, -1))
    # A move whose start was seen started with nothing.
    from_nothing = F.when(F.first("previous_at").over(of_life).isNotNull(), F.lit(0.0))
    grown = growth(F.col("size"), F.coalesce(before, from_nothing))
    between = F.col("at") - F.lag("at").over(of_life)
    within = F.col("kind") == LOG_DIR
    return numbered.withColumns({"between": between, "grown": grown}).withColumn(
        "rate", F.when(within, divide(F.col("grown"), F.col("between"))).otherwise(F.col("bytes_per_second"))
    )
