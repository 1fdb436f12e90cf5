"""`kafka-warden pipeline backtest`: when each alert would have fired over a history, and whether it was right.

The rules are those of `kafka-warden rules`, rendered with other thresholds for a trial, and run over the samples that
Prometheus would have scraped. Two rules for followers are shown with them: Kafka's by time, and the rule by messages
that it replaced (KIP-16; Hands-Free Kafka Replication).
"""

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline import incremental, samples
from kafka_warden.pipeline.alarms import alarms, followers
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import ALARMS, RULES, of_rows
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import in_list, of_mart
from kafka_warden.pipeline.timeline import SILENT_AFTER, History, moment, timeline
from kafka_warden.pipeline.trials import KINDS, UNANSWERED, Trial, read_what_if, trials
from kafka_warden.pipeline.truth import EXPORT, FILE, Truth, faults, labelled, scores

_MOMENTS: Final = ("began", "fired", "ended")
_TRIED: Final = ("rule", "threshold", "what_if", "for_seconds")
"""The columns in which trials differ."""
_PLACE: Final = {"topic": "string", "partition": "int", "broker": "int"}
"""Labels of a subject that faults have, too."""
ALL_ROWS: Final = (1.0, math.inf)
"""Start and end (Unix s) of what raw rows may have."""
_TRIAL: Final = (
    "trial int, rule string, threshold double, what_if boolean, unit string, for_seconds double, least_fault double,"
    " detects array<string>"
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    what_if: tuple[Trial, ...] = ()
    """What to try besides the usual rules."""
    truth: Truth | None = None
    """None: the faults are unknown."""


def run(request: Request[Options]) -> None:
    """Write the marts `alarms` and `rules`.

    Raises:
        StoreError: the store cannot be used.
        TruthError: as `truth.faults`.
    """
    asked = trials(request.options.what_if)
    known = request.options.truth
    happened = None if known is None else faults(request.spark, known)
    for name, metric in UNANSWERED.items():
        request.progress.say(f"backtest: without {name}, since history lacks {metric}")
    # What-ifs, and faults that were not known before, are of all raw rows. Alarms of what-ifs are kept until the next
    # run.
    span = ALL_ROWS if request.options.what_if or known else request.span
    incremental.compute(request, JOB.name, span, lambda work: _backtest(request, work, asked, happened))


def _backtest(
    request: Request[Options], work: incremental.Work, asked: Sequence[Trial], happened: DataFrame | None
) -> None:
    """Replace the alarms that may have changed, and all scores of their clusters."""
    store, trial_frame = request.store, trial_rows(request.spark, asked)
    again = incremental.unended(store, ALARMS, work)
    history = History(store, only=again.raw)
    mine = in_list("cluster_id", work.hours)

    def stored() -> DataFrame:
        return of_trials(store.read(of_mart(ALARMS)).where(mine), trial_frame)

    with (
        persisted(timeline(samples.polls(history))) as polls,
        persisted(followers(history, polls, asked)) as late,
    ):
        with request.progress.step("backtest: alarms"):
            found = with_place(alarms(history, polls, late, asked)).join(F.broadcast(trial_frame), "trial")
            whole = with_begin(found, stored(), polls.groupBy("cluster_id").agg(F.min("at").alias("first")))
            dated = labelled(whole, happened).withColumns({name: moment(name) for name in _MOMENTS})
            again.replace(work, ALARMS, dated, "what_if")
        with request.progress.step("backtest: rules"):
            kept = stored()
            incremental.replace(work, RULES, scores(kept, trial_frame, _clusters(polls, kept), happened), mine)


def with_begin(found: DataFrame, stored: DataFrame, first: DataFrame) -> DataFrame:
    """Give alarms that go on from before the first raw poll the begin of their stored row, and what is known since.

    `stored`: of `of_trials`. `first`: the time of the first poll of each `cluster_id`.
    """
    # Maps cannot be compared.
    subject = F.array_sort(F.map_entries("subject")).alias("about")
    key, forever = ("cluster_id", "trial", "about"), F.lit(math.inf)
    reaches = (F.col("began") < F.col("first")) & (F.coalesce("ended", forever) >= F.col("first"))
    old = F.broadcast(stored.select("*", subject).join(F.broadcast(first), "cluster_id").where(reaches)).alias("old")
    number = F.row_number().over(Window.partitionBy(*key).orderBy("began")).alias("number")
    new = found.select("*", subject).select("*", number).alias("new")
    same = [F.col(f"new.{name}") == F.col(f"old.{name}") for name in key]
    goes_on = (F.col("number") == 1) & (F.col("new.began") <= F.coalesce("old.ended", forever))
    began, fired = (F.coalesce(f"old.{name}", f"new.{name}") for name in ("began", "fired"))
    changed = {
        "began": began,
        "fired": fired,
        "seconds": F.col("new.seconds") + F.col("new.began") - began,
        "value_max": F.greatest("new.value_max", "old.value_max"),
        "would_fire": fired.isNotNull(),
    }
    both = new.join(old, [*same, goes_on], "left")
    return both.select(*(changed.get(name, F.col(f"new.{name}")).alias(name) for name in found.columns))


def _clusters(polls: DataFrame, kept: DataFrame) -> DataFrame:
    """Return `clusters` of `truth.expected`. Stored alarms may be older than the raw polls."""
    interval = (F.max("silent_after") / SILENT_AFTER).alias("interval")
    found = polls.groupBy("cluster_id").agg(interval, F.min("at").alias("first"), F.max("at").alias("until"))
    oldest = kept.groupBy("cluster_id", "what_if").agg(F.min("began").alias("oldest"))
    both = found.withColumn("what_if", F.explode(F.array(F.lit(False), F.lit(True))))
    known = both.join(oldest, ["cluster_id", "what_if"], "left")
    return known.withColumn("since", F.least("first", "oldest")).drop("first", "oldest")


def trial_rows(spark: SparkSession, asked: Sequence[Trial]) -> DataFrame:
    """Return the trials as a frame; `trial` is the index of each."""
    rows = []
    for index, each in enumerate(asked):
        rule = each.rule
        trial = (index, rule.name, each.threshold, each.what_if, rule.unit, each.wanted, rule.least_fault)
        rows.append((*trial, list(rule.detects)))
    return of_rows(spark, rows, _TRIAL)


def with_place(frame: DataFrame) -> DataFrame:
    """Add the labels of the subject that faults have."""
    return frame.withColumns({name: F.col("subject")[name].try_cast(kind) for name, kind in _PLACE.items()})


def of_trials(alarms: DataFrame, trial_frame: DataFrame) -> DataFrame:
    """Return those rows of the mart `alarms` that are of a trial, with `trial`, `detects` and the subject's columns.

    Alarms with another threshold or duration are left out.
    """
    trial = F.broadcast(trial_frame.select("trial", "detects", *_TRIED)).alias("trial")
    same = [F.col(f"alarm.{name}").eqNullSafe(F.col(f"trial.{name}")) for name in _TRIED]
    times = {name: F.unix_micros(name) / 1e6 for name in _MOMENTS}
    return with_place(alarms.alias("alarm").join(trial, same).select("alarm.*", "trial", "detects").withColumns(times))


def _add_flags(parser: ArgumentParser) -> None:
    what = (
        "try other thresholds, in the rule's unit, and how long they have to hold, besides the usual; can be repeated"
    )
    parser.add_argument("--what-if", action="append", default=[], metavar="RULE=THRESHOLD,...@FOR,...", help=what)
    what = f"folder of {FILE}, the known faults, or a .json file with alerts of Alertmanager's API (default: none)"
    parser.add_argument("--truth", metavar="PLACE", help=what)
    what = "of alerts: the kind of fault that one shows; can be repeated"
    parser.add_argument("--truth-alert", action="append", default=[], metavar="NAME=KIND", help=what)
    what = "of alerts: the cluster id of a label `cluster`; can be repeated"
    parser.add_argument("--truth-cluster", action="append", default=[], metavar="LABEL=ID", help=what)


def _read_flags(parsed: Namespace) -> Options:
    kinds, clusters = _pairs("--truth-alert", parsed.truth_alert), _pairs("--truth-cluster", parsed.truth_cluster)
    for kind in kinds.values():
        if kind not in KINDS:
            raise ConfigError(f"--truth-alert: no rule detects {kind!r}; kinds: {', '.join(sorted(KINDS))}")
    exported = parsed.truth is not None and parsed.truth.endswith(EXPORT)
    if (kinds or clusters) and not exported:
        raise ConfigError("--truth-alert and --truth-cluster: only valid with --truth FILE.json")
    if exported and not kinds:
        raise ConfigError(
            f"--truth {parsed.truth}: give --truth-alert NAME=KIND for alerts that are faults, or the folder of {FILE}"
        )
    if (parsed.what_if or parsed.truth) and (parsed.start > 0 or parsed.end != math.inf):
        raise ConfigError(
            "--start, --end: not valid with --what-if or --truth, which take all raw rows; leave them out"
        )
    what_if = tuple(trial for text in parsed.what_if for trial in read_what_if(text))
    return Options(what_if, Truth(parsed.truth, kinds, clusters) if parsed.truth else None)


def _pairs(flag: str, given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, sign, value in pairs:
        if not (name and value):
            raise ConfigError(f"{flag} {name}{sign}{value}: expected NAME=VALUE")
    found = {name: value for name, _, value in pairs}
    if len(found) < len(pairs):
        raise ConfigError(f"{flag}: a name is given twice: {' '.join(given)}")
    return found


JOB: Final = Job(
    "backtest",
    "when each rule would have fired, and whether it was right",
    _add_flags,
    _read_flags,
    run,
    partial(incremental.preview, job="backtest"),
)
