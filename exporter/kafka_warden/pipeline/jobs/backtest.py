"""`kafka-warden pipeline backtest`: when each rule would have fired over a history, and whether for something."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.formulas.samples import SILENT_AFTER
from kafka_warden.pipeline.backtest import truth
from kafka_warden.pipeline.backtest.alarms import alarms
from kafka_warden.pipeline.backtest.rules import Trial, read_what_if, trials
from kafka_warden.pipeline.backtest.score import labelled, scores
from kafka_warden.pipeline.backtest.signals import SUBJECT, signals
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import write
from kafka_warden.pipeline.marts.backtest import ALARMS, RULES
from kafka_warden.pipeline.ops import yes
from kafka_warden.pipeline.session import kept, spread
from kafka_warden.pipeline.timeline import POLL, moment, telling, timeline

_MOMENTS: Final = ("began", "fired", "ended")
_OF: Final = ("cluster_id", "told_by")
_TRIAL: Final = (
    "trial int, rule string, threshold double, what_if boolean, unit string, for_seconds double, wanted double,"
    " keep_seconds double, shows_after double, told_by string, tells_of array<string>"
)


@dataclass(frozen=True, slots=True)
class Options:
    """Of the job.

    Attributes:
        what_if: Rules and thresholds to try beside the usual ones.
        truth: Folder of what really happened; looked for beside the history when not given.
    """

    what_if: tuple[tuple[str, float], ...] = ()
    truth: str | None = None


def run(request: Request[Options]) -> None:
    """Write the marts `alarms` and `rules`."""
    spread(request.spark, request.history.rows("replicas"))
    asked = trials(request.options.what_if)
    folder = request.options.truth or truth.find(request.input)
    happened = None if folder is None else truth.faults(request.spark, folder)
    told = trial_rows(request.spark, asked)
    with (
        kept(fired(request.history, asked, told)) as found,
        kept(labelled(found, told, happened)) as marked,
    ):
        with request.progress.step("backtest: alarms"):
            write(ALARMS, _shown(marked, told), request.output)
        with request.progress.step("backtest: rules"):
            write(RULES, scores(marked, told, _clusters(request.history), happened), request.output)


def _clusters(history: History) -> DataFrame:
    """Name the clusters, and the `interval` (s) of their polls."""
    polls = timeline(history.table("polls"))
    return polls.groupBy("cluster_id").agg((F.max("silent_after") / SILENT_AFTER).alias("interval"))


def trial_rows(spark: SparkSession, asked: Sequence[Trial]) -> DataFrame:
    """Make a frame of the trials; `trial` is the place of each."""
    rows = [
        (
            index,
            each.rule.name,
            each.threshold,
            each.what_if,
            each.rule.unit,
            each.rule.wanted,
            each.rule.wanted,
            each.rule.keep_seconds,
            each.rule.shows_after,
            each.rule.told_by,
            list(each.rule.tells_of),
        )
        for index, each in enumerate(asked)
    ]
    return spark.createDataFrame(rows, _TRIAL)


def fired(history: History, asked: Sequence[Trial], told: DataFrame) -> DataFrame:
    """Tell when each trial's condition held: `backtest.alarms.alarms`."""
    timed = (
        signals(history, asked)
        .join(F.broadcast(told.select("trial", "wanted", "keep_seconds", "told_by")), "trial")
        .join(_tellings(history), [*POLL, "told_by"])
    )
    return alarms(timed)


def _tellings(history: History) -> DataFrame:
    """Number the polls that can tell, apart for all that they may tell of, in one pass."""
    polls = timeline(history.table("polls"))
    knows = {
        "polls": yes(),
        "reassignments_known": F.col("reassignments_known"),
        "under_replicated_known": F.col("under_replicated_known"),
        "min_isr_known": F.col("min_isr_known"),
        "throttles_known": F.col("reassignments_known") & F.col("lists_known"),
        "mutations_known": _tells_of_mutations(),
    }
    names = F.array_compact(F.array(*(F.when(known, F.lit(name)) for name, known in knows.items())))
    return telling(polls.select(*POLL, "at", "silent_after", F.explode(names).alias("told_by")), _OF)


def _tells_of_mutations() -> Column:
    """Whether a controller answered that says it is the active one: others keep buckets that are old."""
    return F.exists("controllers", lambda each: F.coalesce(each["values"]["active_controller_count"], F.lit(1.0)) == 1)


def _shown(marked: DataFrame, told: DataFrame) -> DataFrame:
    labels = F.create_map(*(part for name in SUBJECT for part in (F.lit(name), F.col(name).cast("string"))))
    subject = F.map_filter(labels, lambda _, value: value.isNotNull())
    return (
        marked.join(F.broadcast(told.select("trial", "rule", "threshold", "what_if")), "trial")
        .withColumn("subject", subject)
        .withColumns({name: moment(name) for name in _MOMENTS})
    )


def _add_flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--what-if",
        action="append",
        default=[],
        metavar="RULE=THRESHOLD",
        help="try another threshold beside the usual one, in the rule's unit; may be given many times",
    )
    parser.add_argument(
        "--truth", metavar="FOLDER", help=f"has {truth.FILE}: what really happened (default: beside the history)"
    )


def _read_flags(parsed: Namespace) -> Options:
    return Options(tuple(read_what_if(text) for text in parsed.what_if), parsed.truth)


JOB: Final = Job("backtest", "when each rule would have fired, and whether for something", _add_flags, _read_flags, run)
