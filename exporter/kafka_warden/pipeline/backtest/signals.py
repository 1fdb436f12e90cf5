"""Conditions of the rules, poll by poll: for what each holds, and for what nobody can tell whether it does.

A signal is a row with `on` true or null; one that is false is left out. All rules of a table are asked in one pass.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.formulas import lag
from kafka_warden.formulas.samples import share
from kafka_warden.pipeline.backtest import lookback
from kafka_warden.pipeline.backtest.rules import BY_MESSAGES, BY_TIME, Trial
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.ops import COLUMNS, no, yes
from kafka_warden.pipeline.timeline import POLL, timeline

SUBJECT: Final[Mapping[str, str]] = {
    "topic": "string",
    "partition": "int",
    "broker": "int",
    "side": "string",
    "log_dir": "string",
    "user": "string",
    "client_id": "string",
}
"""What a signal may be about, and its type; null where it is not about that."""

Condition = Callable[[Trial], tuple[Column, Column]]
"""Whether it holds (null: nobody can tell), and the number that is compared with the threshold."""


def signals(history: History, trials: Sequence[Trial]) -> DataFrame:
    """Gather the signals of all trials.

    Returns:
        `POLL`, `trial` (index), the columns of `SUBJECT`, `on` (true or null) and `value`.
    """
    timed = timeline(history.table("polls"))
    at, polls = timed.select(*POLL, "at"), timed.drop("schema_version", "time", "clock", "at", "silent_after")
    brokers = history.table("brokers").join(polls.select(*POLL, "parameters"), [*POLL])
    problems = brokers.select(*POLL, "broker", F.explode("throttle_problems").alias("told"))
    problems = problems.select(
        *POLL, "broker", F.col("told.side").alias("side"), F.col("told.problem").alias("problem")
    )
    tables: tuple[tuple[DataFrame, Mapping[str, Condition]], ...] = (
        (history.table("replicas", distinct=False), _REPLICAS),
        (history.table("partitions", distinct=False), _PARTITIONS),
        (_counted(history.table("partitions")), _OF_PARTITIONS),
        (history.table("moves", distinct=False).where("kind = 'reassignment'"), _MOVES),
        (brokers, _BROKERS),
        (problems, _PROBLEMS),
        (polls, _POLLS),
        (lookback.clients(history.table("quotas"), at), _CLIENTS),
        (lookback.remote_topics(history.table("configs"), at), _REMOTE_TOPICS),
        (lookback.failures(brokers, at), _FAILURES),
        (lookback.lost_directories(brokers), _DIRECTORIES),
    )
    found = [_signals(frame, conditions, trials) for frame, conditions in tables]
    # Rows that were copied give the same signals.
    return reduce(DataFrame.unionByName, [each for each in found if each is not None]).dropDuplicates(
        [*POLL, "trial", *SUBJECT]
    )


def _signals(frame: DataFrame, conditions: Mapping[str, Condition], trials: Sequence[Trial]) -> DataFrame | None:
    asked = [
        F.struct(F.lit(index).alias("trial"), on.alias("on"), value.cast("double").alias("value"))
        for index, trial in enumerate(trials)
        if trial.rule.name in conditions
        for on, value in [conditions[trial.rule.name](trial)]
    ]
    if not asked:
        return None
    there = F.filter(F.array(*asked), lambda each: F.coalesce(each["on"], yes()))
    about = [
        (F.col(name) if name in frame.columns else F.lit(None)).cast(kind).alias(name) for name, kind in SUBJECT.items()
    ]
    return frame.select(*POLL, *about, F.explode(there).alias("told")).select(*POLL, *SUBJECT, "told.*")


def _counted(partitions: DataFrame) -> DataFrame:
    """Count partitions without a leader, or with too few replicas in sync, of each poll that has any."""
    bad = partitions.where(F.col("under_min_isr") | F.col("offline"))
    return bad.groupBy(*POLL).agg(F.count_if("under_min_isr").alias("under"), F.count_if("offline").alias("offline"))


def _known(condition: Column) -> Column:
    """Take what is null for no: `out_seconds` of a replica in the ISR, say."""
    return F.coalesce(condition, no())


def _by_messages(trial: Trial) -> tuple[Column, Column]:
    follows = F.col("following") & ~F.col("adding")
    return follows & lag.out_of_sync_by_count(F.col("lag_messages"), F.lit(trial.threshold)), F.col("lag_messages")


def _by_time(trial: Trial) -> tuple[Column, Column]:
    behind = F.col("behind_seconds")
    own = trial.threshold is None
    late = F.col("late") if own else lag.out_of_sync_by_time(behind, F.lit(trial.threshold))
    return F.col("following") & ~F.col("adding") & late, behind


def _out_of_sync(trial: Trial) -> tuple[Column, Column]:
    out = F.col("out_seconds")
    return _known(~F.col("adding") & (out > F.lit(trial.threshold))), out


def _in_state(state: str) -> Condition:
    def condition(_: Trial) -> tuple[Column, Column]:
        unsure = F.col("state").isin("unknown", "leader_unavailable")
        return F.when(~unsure, F.col("state") == state).when(F.col("state").isNull(), no()), F.col("behind_seconds")

    return condition


def _bootstrapping(trial: Trial) -> tuple[Column, Column]:
    out = F.col("out_seconds")
    return _known((F.col("state") == "bootstrapping") & (out > F.lit(trial.threshold))), out


def _under_replicated(trial: Trial) -> tuple[Column, Column]:
    return _known(F.col("under_seconds") > F.lit(trial.threshold)), F.col("under_seconds")


def _above_zero(name: str) -> Condition:
    return lambda _: (F.col(name) > 0, F.col(name))


def _stuck(_: Trial) -> tuple[Column, Column]:
    return F.col("stuck").isNotNull(), F.col("stalled")


def _share_of(count: str, limit: str, *, above: bool) -> Condition:
    def condition(trial: Trial) -> tuple[Column, Column]:
        used = share(COLUMNS, F.col(count).cast("double"), F.col(f"parameters.{limit}"))
        return (used > F.lit(trial.threshold)) if above else (used >= F.lit(trial.threshold)), used

    return condition


def _unanswered(source: str) -> Condition:
    def condition(_: Trial) -> tuple[Column, Column]:
        failed = F.exists("outcomes", lambda each: (each["source"] == source) & ~each["up"])
        return _known(failed), F.lit(None)

    return condition


def _held_back(trial: Trial) -> tuple[Column, Column]:
    told = F.col("tiered_problems")
    age = told[trial.rule.problem]
    return F.when(F.size(told) > 0, age > 0).otherwise(no()), age


def _has_problem(trial: Trial) -> tuple[Column, Column]:
    return F.col("problem") == F.lit(trial.rule.problem), F.lit(None)


def _will_miss(trial: Trial) -> tuple[Column, Column]:
    deadline = F.col("parameters.moves_deadline") if trial.threshold is None else F.lit(trial.threshold)
    moving = F.col("reassigning_partitions") > 0
    return F.when(moving, F.col("eta") > deadline).when(~moving, no()), F.col("eta")


def _short_of_tokens(_: Trial) -> tuple[Column, Column]:
    return F.col("tokens") < 0, F.col("tokens")


def _draining(trial: Trial) -> tuple[Column, Column]:
    near = F.col("used") > F.lit(lookback.QUOTA_NEAR)
    return _known(F.col("left") < F.lit(trial.threshold)) | _known(near), F.col("left")


def _overdue(trial: Trial) -> tuple[Column, Column]:
    overdue = F.col("overdue_bytes")
    grows = F.col("growing") & (overdue > F.lit(trial.threshold))
    holds = _known(F.col("stalled") > F.lit(lookback.COPY_STALLED)) | _known(grows)
    return F.when(overdue.isNotNull(), holds), overdue


def _failing(_: Trial) -> tuple[Column, Column]:
    return F.when(F.col("failed").isNotNull(), F.col("failed") > 0), F.col("failed")


def _offline(_: Trial) -> tuple[Column, Column]:
    return ~F.col("online"), F.lit(None)


_REPLICAS: Final[Mapping[str, Condition]] = {
    BY_MESSAGES: _by_messages,
    BY_TIME: _by_time,
    "KafkaReplicaOutOfSyncTooLong": _out_of_sync,
    "KafkaReplicaStuck": _in_state("stuck"),
    "KafkaReplicaSlow": _in_state("slow"),
    "KafkaReplicaBootstrappingTooLong": _bootstrapping,
}
_PARTITIONS: Final[Mapping[str, Condition]] = {"KafkaPartitionUnderReplicated": _under_replicated}
_OF_PARTITIONS: Final[Mapping[str, Condition]] = {
    "KafkaPartitionUnderMinIsr": _above_zero("under"),
    "KafkaPartitionOffline": _above_zero("offline"),
}
_MOVES: Final[Mapping[str, Condition]] = {"KafkaReassignmentStuck": _stuck}
_BROKERS: Final[Mapping[str, Condition]] = {
    "KafkaBrokerNearPartitionLimit": _share_of("counted", "max_broker_partitions", above=False),
    "KafkaBrokerOverPartitionLimit": _share_of("counted", "max_broker_partitions", above=True),
    "KafkaWardenBrokerUnreachable": _unanswered("offsets"),
    "KafkaWardenJmxUnreachable": _unanswered("jmx"),
    "KafkaRemoteCopyHeldBack": _held_back,
    "KafkaRemoteFetchHeldBack": _held_back,
}
_PROBLEMS: Final[Mapping[str, Condition]] = {
    f"KafkaThrottle{name}": _has_problem
    for name in ("Blocked", "BelowInbound", "HoldsOriginals", "Lopsided", "Uneven", "LeftBehind")
}
_POLLS: Final[Mapping[str, Condition]] = {
    "KafkaReassignmentWillMissItsTime": _will_miss,
    "KafkaClusterNearPartitionLimit": _share_of("partitions", "max_partitions", above=False),
    "KafkaClusterOverPartitionLimit": _share_of("partitions", "max_partitions", above=True),
}
_CLIENTS: Final[Mapping[str, Condition]] = {
    "KafkaControllerMutationThrottled": _short_of_tokens,
    "KafkaControllerMutationTokensDraining": _draining,
}
_REMOTE_TOPICS: Final[Mapping[str, Condition]] = {"KafkaRemoteCopyLagGrowing": _overdue}
_FAILURES: Final[Mapping[str, Condition]] = {"KafkaRemoteStorageErrors": _failing}
_DIRECTORIES: Final[Mapping[str, Condition]] = {"KafkaLogDirOffline": _offline}

ASKED: Final = frozenset(
    {*_REPLICAS, *_PARTITIONS, *_OF_PARTITIONS, *_MOVES, *_BROKERS, *_PROBLEMS, *_POLLS}
    | {*_CLIENTS, *_REMOTE_TOPICS, *_FAILURES, *_DIRECTORIES}
)
"""Names of the rules that have a condition: all of them."""
