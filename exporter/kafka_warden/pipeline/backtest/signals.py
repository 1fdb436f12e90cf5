"""Conditions of the rules, poll by poll and subject by subject.

A signal is a row with `on` true, or null if unknown; false ones are left out. A table is read once for all its rules.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.derive import stuck
from kafka_warden.pipeline.backtest import lookback
from kafka_warden.pipeline.backtest.rules import BY_MESSAGES, BY_TIME, THRESHOLDS, THROTTLE_AGES, Trial
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.timeline import POLL, divide, no, yes

SUBJECT: Final[Mapping[str, str]] = {
    "topic": "string",
    "partition": "int",
    "broker": "int",
    "side": "string",
    "log_dir": "string",
    "user": "string",
    "client_id": "string",
}
"""Columns of a signal's subject, with their types; null where a column does not apply."""

Condition = Callable[[Trial], tuple[Column, Column]]
"""Whether it holds (null: unknown), and the number that is compared with the threshold."""


def signals(history: History, timed: DataFrame, trials: Sequence[Trial]) -> DataFrame:
    """Return the signals of all trials: `POLL`, `trial` (index), the columns of `SUBJECT`, `on` and `value`.

    `timed`: rows of `timeline`, with the columns of `OF_POLLS`.
    """
    at, polls = timed.select(*POLL, "at"), timed.select(*POLL, *OF_POLLS)
    brokers = history.table("brokers").join(polls.select(*POLL, "parameters"), [*POLL])
    problems = brokers.select(*POLL, "broker", F.explode("throttle_problems").alias("entry"))
    problems = problems.select(*POLL, "broker", "entry.side", "entry.problem", "entry.seconds")
    bad = history.table("partitions").where(F.col("under_min_isr") | F.col("offline")).groupBy(*POLL)
    counts = bad.agg(F.count_if("under_min_isr").alias("under"), F.count_if("offline").alias("offline"))
    out_of_sync = history.table("replicas").where("NOT adding AND out_seconds IS NOT NULL")
    longest = F.max("out_seconds").alias("out_seconds"), F.bool_or(F.col("state") == "stuck").alias("stuck")
    tables: tuple[tuple[DataFrame, Mapping[str, Condition]], ...] = (
        (history.table("replicas"), _REPLICAS),
        (out_of_sync.groupBy(*POLL, "broker").agg(*longest), _HOSTS),
        (counts, _COUNTS),
        (history.table("moves").where("kind = 'reassignment'"), _MOVES),
        (brokers, _BROKERS),
        (problems, _PROBLEMS),
        (problems.drop("broker", "side"), _PROBLEMS_OF_CLUSTER),
        (polls, _POLLS),
        (lookback.clients(history.table("quotas"), at), _CLIENTS),
        (lookback.remote_topics(history.table("configs"), at), _REMOTE_TOPICS),
        (lookback.failures(brokers, at), _FAILURES),
        (lookback.lost_directories(brokers), _DIRECTORIES),
    )
    found = [_signals(frame, conditions, trials) for frame, conditions in tables]
    # A subject may have several causes, and rows may be there twice.
    together = reduce(DataFrame.unionByName, [each for each in found if each is not None])
    return together.groupBy(*POLL, "trial", *SUBJECT).agg(F.bool_or("on").alias("on"), F.max("value").alias("value"))


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
    return frame.select(*POLL, *about, F.explode(there).alias("signal")).select(*POLL, *SUBJECT, "signal.*")


def _known(condition: Column) -> Column:
    """Take null as false: for example the state of a replica that is not known to be stuck."""
    return F.coalesce(condition, no())


def _by_messages(trial: Trial) -> tuple[Column, Column]:
    follows = F.col("following") & ~F.col("adding")
    return follows & (F.col("lag_messages") >= F.lit(trial.threshold)), F.col("lag_messages")


def _by_time(trial: Trial) -> tuple[Column, Column]:
    behind = F.col("behind_seconds")
    own = trial.threshold is None
    late = F.col("late") if own else behind > F.lit(trial.threshold)
    return F.col("following") & ~F.col("adding") & late, behind


def _above_zero(name: str) -> Condition:
    return lambda _: (F.col(name) > 0, F.col(name))


def _share_of(count: str, limit: str) -> Condition:
    def condition(trial: Trial) -> tuple[Column, Column]:
        used = divide(F.col(count).cast("double"), F.col(f"parameters.{limit}"))
        return used >= F.lit(trial.threshold), used

    return condition


def _unanswered(_: Trial) -> tuple[Column, Column]:
    failed = F.exists("outcomes", lambda each: (each["source"] == "offsets") & ~each["up"])
    return _known(failed), F.lit(None)


def _held_back(problem: str) -> Condition:
    def condition(_: Trial) -> tuple[Column, Column]:
        problems = F.col("tiered_problems")
        return F.when(F.size(problems) > 0, problems[problem] > 0).otherwise(no()), F.lit(None)

    return condition


def _fail(name: str) -> Condition:
    return lambda _: (F.col(name) > THRESHOLDS["errors_rate"], F.lit(None))


def _throttle_problem(trial: Trial) -> tuple[Column, Column]:
    old = [
        (F.col("problem") == problem) & (F.col("seconds") >= age)
        for problem, age in THROTTLE_AGES[trial.rule.name].items()
    ]
    return reduce(or_, old), F.col("seconds")


def _will_miss(trial: Trial) -> tuple[Column, Column]:
    deadline = F.col("parameters.moves_deadline") if trial.threshold is None else F.lit(trial.threshold)
    moving = F.col("reassigning_partitions") > 0
    return F.when(moving, F.col("eta") > deadline).when(~moving, no()), F.col("eta")


def _overdue(trial: Trial) -> tuple[Column, Column]:
    overdue = F.col("overdue_bytes")
    grows = F.col("growing") & (overdue > F.lit(trial.threshold))
    holds = _known(F.col("stalled") > F.lit(THRESHOLDS["copy_stalled"])) | _known(grows)
    return F.when(overdue.isNotNull(), holds), overdue


_REPLICAS: Final[Mapping[str, Condition]] = {
    BY_MESSAGES: _by_messages,
    BY_TIME: _by_time,
}
_HOSTS: Final[Mapping[str, Condition]] = {
    "KafkaReplicasOutOfSync": lambda trial: (
        (F.col("out_seconds") > F.lit(trial.threshold)) | _known(F.col("stuck")),
        F.col("out_seconds"),
    )
}
_COUNTS: Final[Mapping[str, Condition]] = {
    "KafkaPartitionUnderMinIsr": _above_zero("under"),
    "KafkaPartitionOffline": _above_zero("offline"),
}
_MOVES: Final[Mapping[str, Condition]] = {
    "KafkaReassignmentStuck": lambda _: (
        # As in rules/templates/moves.rules.yml: a leader that is gone or does not answer is another alert.
        _known(~F.col("stuck").isin([cause.value for cause in sorted(stuck.EXPLAINED)])),
        F.col("stalled"),
    )
}
_BROKERS: Final[Mapping[str, Condition]] = {
    "KafkaPartitionLimit": _share_of("counted", "max_broker_partitions"),
    "KafkaBrokerUnreachable": _unanswered,
    "KafkaRemoteCopyHeldBack": _held_back("copy_held_back"),
    "KafkaRemoteFetchHeldBack": _held_back("fetch_held_back"),
}
_PROBLEMS: Final[Mapping[str, Condition]] = {
    "KafkaThrottleTooLow": _throttle_problem,
    "KafkaThrottleLeftBehind": _throttle_problem,
}
_PROBLEMS_OF_CLUSTER: Final[Mapping[str, Condition]] = {"KafkaThrottleInconsistent": _throttle_problem}
_POLLS: Final[Mapping[str, Condition]] = {
    "KafkaReassignmentWillMissItsTime": _will_miss,
    "KafkaPartitionLimit": _share_of("partitions", "max_partitions"),
}
OF_POLLS: Final = ("parameters", "reassigning_partitions", "eta", "partitions")
"""Columns of the table `polls` that the conditions use."""
_CLIENTS: Final[Mapping[str, Condition]] = {
    "KafkaControllerMutationThrottled": lambda trial: (F.col("refused") > F.lit(trial.threshold), F.col("refused")),
}
_REMOTE_TOPICS: Final[Mapping[str, Condition]] = {"KafkaRemoteCopyHeldBack": _overdue}
_FAILURES: Final[Mapping[str, Condition]] = {
    "KafkaRemoteCopyHeldBack": _fail("copies_failed"),
    "KafkaRemoteFetchHeldBack": _fail("fetches_failed"),
}
_DIRECTORIES: Final[Mapping[str, Condition]] = {"KafkaLogDirOffline": lambda _: (~F.col("online"), F.lit(None))}

ASKED: Final = frozenset(
    {*_REPLICAS, *_HOSTS, *_COUNTS, *_MOVES, *_BROKERS, *_PROBLEMS, *_PROBLEMS_OF_CLUSTER, *_POLLS}
    | {*_CLIENTS, *_REMOTE_TOPICS, *_FAILURES, *_DIRECTORIES}
)
"""Names of the rules that have a condition: all of them."""
