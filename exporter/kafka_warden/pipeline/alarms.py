"""Alarms of trials: rules run over the samples of a cluster and some days, and alarms that go on are joined.

The rules need half a day before the days: they look back for up to six hours, and one waits for four.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.pandas.types import to_arrow_schema

from kafka_warden.pipeline import samples
from kafka_warden.pipeline.marts import parsed as columns_of
from kafka_warden.pipeline.promql import Grid, Vector
from kafka_warden.pipeline.rule_runs import Alarm, Rule, Run, metrics
from kafka_warden.pipeline.samples import BEHIND, BUCKET, FOLLOWERS, LAG, POLLS
from kafka_warden.pipeline.timeline import History
from kafka_warden.pipeline.trials import BY_MESSAGES, Trial, parsed, rules_of

CHUNK: Final = 6
"""Buckets whose alarms are found at a time, after one that is only looked back to."""
LONGEST_STEP: Final = 60.0
"""Seconds between two evaluations, at most; polls may be closer."""
SIDECARS: Final = "kafka-warden"
"""The label `job`."""
OF_CLUSTER: Final = -1
"""The part of all series except those of followers."""
PARTS: Final = 256
"""Of the followers of a cluster, at most: those of a part are in memory together."""
FOUND: Final = (
    "cluster_id string, chunk bigint, trial int, subject map<string,string>, about string, began double, fired double,"
    " ended double, last_until double, value_max double, continues boolean"
)
"""`about`: the subject as text. `continues`: it began before the chunk. No `ended`: it goes on at the chunk's end."""
_KEY: Final = ("cluster_id", "trial", "about")

Row = Mapping[str, Any]
"""Of `samples.SERIES`."""


def followers(history: History, polls: DataFrame, asked: Sequence[Trial]) -> DataFrame:
    """Return the series of followers that trials need, by chunks and parts."""
    part = F.pmod(F.xxhash64("labels"), F.lit(PARTS))
    found = samples.followers(history, polls.where("followers_known"), _least(asked))
    return _in_chunks(found).withColumn("part", part)


def _in_chunks(series: DataFrame) -> DataFrame:
    both = (F.floor((F.col("bucket") + more) / CHUNK) for more in (0, 1))
    return series.withColumn("chunk", F.explode(F.array_distinct(F.array(*both))))


def alarms(history: History, polls: DataFrame, late: DataFrame, asked: Sequence[Trial]) -> DataFrame:
    """Return the alarms of trials, those that did not fire included.

    `polls`: rows of `timeline`, with the columns of `samples.polls`. `late`: `followers`. Returns `cluster_id`,
    `trial` (its index), `subject`; `began`, `fired`, `ended` and `last_until` (Unix s; no `ended` while the alarm goes
    on); `seconds`, `value_max`, `would_fire`.
    """
    names = {name for trial in asked for rule in rules_of(trial) for name in metrics([rule])}
    times = _in_chunks(samples.times(polls))
    of_cluster = times.unionByName(_in_chunks(samples.series(history, polls, names)))
    known = _in_chunks(samples.times(polls.where("followers_known")))
    of_parts = known.join(late.select("cluster_id", "chunk", "part").distinct(), ["cluster_id", "chunk"])
    found = of_cluster.withColumn("part", F.lit(OF_CLUSTER)).unionByName(of_parts).unionByName(late)
    schema = to_arrow_schema(columns_of(FOUND))

    def evaluate(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        cluster, chunk, part = (each.as_py() for each in key)
        mine = [index for index, trial in enumerate(asked) if trial.rule.is_of_followers == (part != OF_CLUSTER)]
        listed = _alarms(list(_rows(rows)), chunk, {index: asked[index] for index in mine})
        return pa.Table.from_pylist([{"cluster_id": cluster, "chunk": chunk, **each} for each in listed], schema)

    parts = found.groupBy("cluster_id", "chunk", "part").applyInArrow(evaluate, FOUND)
    last = polls.groupBy("cluster_id").agg(F.floor(F.max("at") / BUCKET / CHUNK).alias("last_chunk"))
    return joined(parts.join(F.broadcast(last), "cluster_id"))


def joined(parts: DataFrame) -> DataFrame:
    """Join the parts of alarms that go on in the next chunk. `parts`: `FOUND`, and the `last_chunk` of its cluster."""
    order = Window.partitionBy(*_KEY).orderBy("chunk", "began")
    goes_on = F.lag(F.col("ended").isNull()).over(order) & (F.lag("chunk").over(order) == F.col("chunk") - 1)
    begins = F.when(F.col("continues") & goes_on, 0).otherwise(1)
    numbered = parts.withColumn("begins", begins).withColumn("number", F.sum("begins").over(order))

    def last(name: str) -> Column:
        return F.max_by(name, F.struct("chunk", "began")).alias(name)

    alarms_ = numbered.groupBy(*_KEY, "number").agg(
        F.first("subject").alias("subject"),
        F.min("began").alias("began"),
        F.min("fired").alias("fired"),
        *map(last, ("ended", "last_until", "chunk", "last_chunk")),
        F.max("value_max").alias("value_max"),
    )
    # What goes on at the end of a chunk, and not in the next one, ended there.
    ended = F.when(F.col("chunk") < F.col("last_chunk"), F.coalesce("ended", "last_until")).otherwise(F.col("ended"))
    return (
        alarms_.withColumn("ended", ended)
        .withColumn("seconds", F.coalesce("ended", "last_until") - F.col("began"))
        .withColumn("would_fire", F.col("fired").isNotNull())
        .drop("number", "chunk", "last_chunk", "about")
    )


def _least(asked: Sequence[Trial]) -> Mapping[str, float]:
    """Return the lowest thresholds of the rules for followers."""
    found: dict[str, list[float]] = defaultdict(list)
    for trial in asked:
        if trial.rule.is_of_followers and trial.threshold is not None:
            found[LAG if trial.rule.name == BY_MESSAGES else BEHIND].append(trial.threshold)
    return {name: min(thresholds) for name, thresholds in found.items()}


def _rows(table: pa.Table) -> Iterator[Row]:
    """Yield rows, with arrays of numpy."""
    arrays = ("at", "value")
    for batch in table.to_batches():
        columns = [batch.column(name) for name in arrays]
        for place, row in enumerate(batch.drop_columns(list(arrays)).to_pylist()):
            yield row | {name: column[place].values.to_numpy() for name, column in zip(arrays, columns, strict=True)}


def _alarms(rows: Sequence[Row], chunk: int, asked: Mapping[int, Trial]) -> Iterator[dict[str, Any]]:
    """Yield the alarms of trials, by their indices, in one chunk of a cluster, or of a part of its followers."""
    start, end = (each * CHUNK * BUCKET for each in (chunk, chunk + 1))
    grid = grid_of(rows, end)
    if grid is None:
        return
    found = vectors(rows, grid)
    for trials, rules, scraped in plans_of(asked, found):
        run = Run(rules, scraped, grid)
        names = [rule.name for rule in rules if rule.is_alert]
        for place, alarms_ in run.alarms.items():
            rule = rules[place]
            hidden = {"cluster", "exporter"} | ({"severity"} if names.count(rule.name) == 1 else set())
            for index in trials:
                if asked[index].rule.name == rule.name:
                    for alarm in alarms_:
                        if row := _row(alarm, grid, start, end):
                            subject = {name: text for name, text in sorted(alarm.labels.items()) if name not in hidden}
                            yield {"trial": index, "subject": subject, "about": str(subject), **row}


def plans_of(
    asked: Mapping[int, Trial], found: Mapping[str, Vector]
) -> Iterator[tuple[Sequence[int], Sequence[Rule], Mapping[str, Vector]]]:
    """Yield the trials, rules and samples of each run: one for all alerts as they are, and one for each other trial."""
    usual = [index for index, trial in asked.items() if not trial.rule.is_of_followers and trial.is_usual]
    if usual:
        yield usual, parsed(frozenset()), found
    for index, trial in asked.items():
        if index not in usual:
            option = trial.rule.option
            changed = {option: _replaced(found[option], trial.threshold)} if option in found else {}
            yield [index], rules_of(trial), {**found, **changed}


def _replaced(vector: Vector, value: float | None) -> Vector:
    return vector if value is None else Vector(vector.labels, np.where(np.isnan(vector.values), np.nan, value))


def _row(alarm: Alarm, grid: Grid, start: float, end: float) -> dict[str, Any] | None:
    """Return the columns of an alarm, None if it is of another chunk."""
    last = grid.count - 1 if alarm.ended is None else alarm.ended
    began, until = grid.at(alarm.began), grid.at(last)
    if until < start or began >= end:
        return None
    return {
        "began": began,
        "fired": None if alarm.fired is None else grid.at(alarm.fired),
        "ended": None if alarm.ended is None else until,
        "last_until": until,
        "value_max": alarm.highest,
        "continues": began < start,
    }


def grid_of(rows: Iterable[Row], end: float) -> Grid | None:
    """Return the evaluations of a chunk, until after the last poll or the end (Unix s); None without a poll."""
    times: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["metric"] == POLLS:
            times[row["run"]].extend(row["at"])
    between = np.concatenate([np.diff(np.sort(each)) for each in times.values()]) if times else np.empty(0)
    if not times:
        return None
    # Polls of a day before a clock was set back may all have one time.
    between = between[between > 0.0]
    usual = float(np.median(between)) if len(between) else LONGEST_STEP
    # The same for any part of a history.
    step = min(float(f"{usual:.2g}"), LONGEST_STEP)
    first, last = min(map(min, times.values())), max(map(max, times.values()))
    start = (math.ceil(first / step - 0.5) + 0.5) * step
    return Grid(start, step, max(math.floor((min(last + step, end) - start) / step) + 1, 1))


def vectors(rows: Iterable[Row], grid: Grid) -> dict[str, Vector]:
    """Return the samples of each metric, as scrapes at the evaluations find them.

    Runs that follow each other are one sidecar. It has no sample while no poll holds.
    """
    parts: dict[str, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    cluster = ""
    for row in rows:
        cluster = row["cluster_id"]
        parts[row["run"]][row["bucket"]].append(row)
    found: dict[str, dict[tuple[tuple[str, str], ...], np.ndarray]] = defaultdict(dict)
    ends: list[float] = []
    for began, run in sorted((min(_polls(buckets[min(buckets)])[0]), run) for run, buckets in parts.items()):
        slot = next((place for place, end in enumerate(ends) if end < began), len(ends))
        ends[slot : slot + 1] = [max(_polls(parts[run][max(parts[run])])[0])]
        own = (("cluster", cluster), ("instance", f"sidecar-{slot}"), ("job", SIDECARS))
        for bucket, listed in parts[run].items():
            after = parts[run].get(bucket + 1)
            until = min(_polls(after)[0]) if after else np.inf
            for metric, labels, shown, values in _scraped(listed, until, began, grid):
                found[metric].setdefault((*own, *labels), np.full(grid.count, np.nan))[shown] = values
    for up in found["up"].values():
        seen = np.flatnonzero(~np.isnan(up))
        # Between its first and last poll a sidecar without one is down, as far as history knows.
        up[seen[0] : seen[-1]] = np.nan_to_num(up[seen[0] : seen[-1]])
    return {name: Vector([dict(each) for each in of], np.array(list(of.values()))) for name, of in found.items()}


def _polls(rows: Iterable[Row]) -> tuple[np.ndarray, np.ndarray]:
    (row,) = (row for row in rows if row["metric"] == POLLS)
    return row["at"], row["value"]


def _scraped(
    rows: Sequence[Row], until: float, began: float, grid: Grid
) -> Iterator[tuple[str, tuple[tuple[str, str], ...], np.ndarray, Any]]:
    """Yield the metric, its labels, the evaluations at which a poll of these holds, and the values then.

    `until`: the first later poll of the run; `began`: its first one (Unix s).
    """
    polled, silent_after = _polls(rows)
    times = grid.times
    place = np.searchsorted(polled, times, side="right") - 1
    holds = (place >= 0) & (times < until) & (times - polled[place] <= silent_after[place])
    shown = np.flatnonzero(holds)
    at = polled[place[shown]]
    interval: Any = np.inf
    for row in rows:
        if row["metric"] != POLLS:
            changed = np.searchsorted(row["at"], at, side="right") - 1
            lacks = changed < 0
            if row["metric"] in FOLLOWERS:
                lacks |= row["at"][changed] != at
            values = np.where(lacks, np.nan, row["value"][changed])
            pairs = zip(row["labels"][::2], row["labels"][1::2], strict=True)
            yield row["metric"], tuple((name, text) for name, text in pairs if text), shown, values
            if row["metric"] == "kafka_warden_poll_interval_seconds":
                interval = values
    for metric in ("up", "kafka_warden_build_info"):
        yield metric, (), shown, 1.0
    yield "process_start_time_seconds", (), shown, began
    # History may have fewer polls than the sidecar made.
    yield "kafka_warden_snapshot_timestamp_seconds", (), shown, np.maximum(at, times[shown] - interval)
