"""Moves poll by poll: what each row of the table `moves` says, under which limits, and in which life of the move."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.formulas import samples
from kafka_warden.history.tables.moves import LOG_DIR, REASSIGNMENT
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.ops import COLUMNS
from kafka_warden.pipeline.timeline import POLL, telling, timeline

MOVE: Final = ("cluster_id", "kind", "topic", "topic_id", "partition", "broker")
PARTITION: Final = (*POLL, "topic", "topic_id", "partition")
_UNLIMITED: Final = float("inf")


def move_samples(history: History) -> DataFrame:
    """Join each row of `moves` with its poll, its replicas and its brokers, and number the lives of each move.

    A life ends with the first poll that tells of moves and no longer of this one; a restart of the sidecar, or an hour
    without a poll, ends none. Besides the columns of both tables: `life`, `of_life_before` (s since the poll before of
    this life, null in its first), `grown` (bytes), `limit`, `use`, `rate`.
    """
    polls = timeline(history.table("polls"))
    told = history.table("moves").drop("schema_version", "time", "clock")
    rows = told.where(F.col("kind") == REASSIGNMENT).join(_reassignments(polls), [*POLL])
    between = told.where(F.col("kind") == LOG_DIR).join(_log_dirs(history, polls), [*POLL, "broker"])
    shown = rows.unionByName(between)
    brokers = broker_sides(history)
    hosted = _with_hosts(shown, hosts(history, shown))
    return _lives(_limited(hosted, brokers).join(_predictions(polls), [*POLL], "left"))


def _reassignments(polls: DataFrame) -> DataFrame:
    return telling(polls.where("reassignments_known"))


def _log_dirs(history: History, polls: DataFrame) -> DataFrame:
    brokers = history.table("brokers").where(F.col("log_dirs").isNotNull()).select(*POLL, "broker")
    return telling(brokers.join(polls, [*POLL]), ("cluster_id", "broker"))


def _predictions(polls: DataFrame) -> DataFrame:
    return polls.select(*POLL, "predicted", "predicted_bottleneck")


def hosts(history: History, shown: DataFrame) -> DataFrame:
    """Gather the replicas of the partitions that move, at each poll that shows it and at the one after.

    `hosts` maps a broker to its replica; the one after tells how a move ended.
    """
    of_partition = PARTITION[1:]
    now = shown.select(*PARTITION)
    then = shown.select(
        "cluster_id", F.col("next_run").alias("run"), F.col("next_sequence").alias("sequence"), *of_partition[2:]
    )
    wanted = now.unionByName(then).where(F.col("run").isNotNull()).distinct()
    # Duplicated rows are alike, and a set takes them once: cheaper than telling them apart before.
    replicas = history.table("replicas", distinct=False).select(
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
    """Limits of each broker in each poll, what counts against them, and where its moving logs lie."""
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
        samples.side_use(COLUMNS, F.col(f"{side}_floor"), F.col(f"{side}_catch_up"), F.col(f"{side}_limit"))
        for side in ("leader", "follower")
    ]
    return (
        shown.join(leaders, [*POLL, "leader"], "left")
        .join(targets, [*POLL, "broker"], "left")
        .withColumns({"leader_limit": leader, "follower_limit": follower})
        .withColumns(
            {
                "limit": COLUMNS.least(F.col("leader_limit"), F.col("follower_limit")),
                "use": F.when(~within, COLUMNS.greatest(used[0], used[1])),
            }
        )
    )


def _listed(named: str, limit: Column) -> Column:
    """Tell the limit that holds for a replica: none for one that the list does not name."""
    return F.when(F.col(named), limit).when(~F.col(named), F.lit(_UNLIMITED))


def _lives(shown: DataFrame) -> DataFrame:
    of_move = Window.partitionBy(*MOVE).orderBy("n")
    since = F.col("n") - F.lag("n").over(of_move)
    numbered = shown.withColumn("fresh", F.when(since == 1, 0).otherwise(1)).withColumn(
        "life", F.sum("fresh").over(of_move)
    )
    of_life = Window.partitionBy(*MOVE, "life").orderBy("n")
    before = F.last("size", ignorenulls=True).over(of_life.rowsBetween(Window.unboundedPreceding, -1))
    # One that was seen to begin began with nothing.
    from_nothing = F.when(F.first("previous_at").over(of_life).isNotNull(), F.lit(0.0))
    grown = samples.growth(COLUMNS, F.col("size"), F.coalesce(before, from_nothing))
    between = F.col("at") - F.lag("at").over(of_life)
    within = F.col("kind") == LOG_DIR
    return numbered.withColumns({"between": between, "grown": grown}).withColumn(
        "rate", F.when(within, COLUMNS.divide(F.col("grown"), F.col("between"))).otherwise(F.col("bytes_per_second"))
    )
