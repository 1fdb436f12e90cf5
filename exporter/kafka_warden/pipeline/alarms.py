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

from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.marts import parsed as columns_of
from kafka_warden.pipeline.promql import Grid, Vector
from kafka_warden.pipeline.rule_runs import Alarm, Rule, Run, metrics
from kafka_warden.pipeline.samples import BEHIND, BUCKET, FOLLOWERS, LAG, POLLS, series
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME, Trial, parsed, rules_of

CHUNK: Final = 6
"""Buckets whose alarms are found at a time, after one that is only looked back to."""
LONGEST_STEP: Final = 60.0
"""Seconds between two evaluations, at most; polls may be closer."""
SIDECARS: Final = "kafka-warden"
"""The label `job`."""
_AT_A_TIME: Final = 200
"""Followers whose series are in memory together."""
FOUND: Final = (
    "cluster_id string, chunk bigint, trial int, subject map<string,string>, about string, began double, fired double,"
    " ended double, last_until double, polls bigint, value_max double, continues boolean"
)
"""`about`: the subject as text. `continues`: it began before the chunk. No `ended`: it goes on at the chunk's end."""
_KEY: Final = ("cluster_id", "trial", "about")

Row = Mapping[str, Any]
"""Of `samples.SERIES`."""


def alarms(history: History, polls: DataFrame, asked: Sequence[Trial]) -> DataFrame:
    """Return the alarms of trials, those that did not fire included.

    `polls`: rows of `timeline`, with the columns of `samples.polls`. Returns `cluster_id`, `trial` (its index),
    `subject`; `began`, `fired`, `ended` and `last_until` (Unix s; no `ended` while the alarm goes on); `seconds`,
    `polls` (evaluations), `value_max`, `would_fire`.
    """
    names = {name for trial in asked for rule in rules_of(trial) for name in metrics([rule])}
    found = series(history, polls, names, _least(asked))
    mine = F.floor(F.col("bucket") / CHUNK)
    also = F.floor((F.col("bucket") + 1) / CHUNK)
    chunks = found.withColumn("chunk", F.explode(F.array_distinct(F.array(mine, also))))
    schema = to_arrow_schema(columns_of(FOUND))

    def evaluate(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
        cluster, chunk = (each.as_py() for each in key)
        listed = [{"cluster_id": cluster, "chunk": chunk, **each} for each in _alarms(rows.to_pylist(), chunk, asked)]
        return pa.Table.from_pylist(listed, schema)

    parts = chunks.groupBy("cluster_id", "chunk").applyInArrow(evaluate, FOUND)
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
        F.sum("polls").alias("polls"),
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
    of = {BY_MESSAGES: LAG, BY_TIME: BEHIND}
    least: dict[str, float] = {}
    for trial in asked:
        if trial.rule.name in of and trial.threshold is not None:
            name = of[trial.rule.name]
            least[name] = min(trial.threshold, least.get(name, trial.threshold))
    return least


def _alarms(rows: Sequence[Row], chunk: int, asked: Sequence[Trial]) -> Iterator[dict[str, Any]]:
    """Yield the alarms of all trials in one chunk of a cluster."""
    start, end = (each * CHUNK * BUCKET for each in (chunk, chunk + 1))
    grid = grid_of(rows, end)
    if grid is None:
        return
    found = vectors(rows, grid)
    for trials, rules, samples in plans_of(asked, found):
        run = Run(rules, samples, grid)
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
    asked: Sequence[Trial], found: Mapping[str, Vector]
) -> Iterator[tuple[Sequence[int], Sequence[Rule], Mapping[str, Vector]]]:
    """Yield the trials, rules and samples of each run: one for all alerts as they are, and one for each other trial."""
    usual = [index for index, trial in enumerate(asked) if not trial.rule.is_of_followers and trial.is_usual]
    of_rules = {name: vector for name, vector in found.items() if name not in FOLLOWERS}
    if usual:
        yield usual, parsed(frozenset()), of_rules
    for index, trial in enumerate(asked):
        if trial.rule.is_of_followers:
            for part in _parts({name: found[name] for name in FOLLOWERS if name in found}):
                yield [index], rules_of(trial), part
        elif index not in usual:
            option = trial.rule.option
            changed = {option: _replaced(of_rules[option], trial.threshold)} if option in of_rules else {}
            yield [index], rules_of(trial), {**of_rules, **changed}


def _replaced(vector: Vector, value: float | None) -> Vector:
    return vector if value is None else Vector(vector.labels, np.where(np.isnan(vector.values), np.nan, value))


def _parts(found: Mapping[str, Vector]) -> Iterator[Mapping[str, Vector]]:
    """Cut the series of followers, which may be many, into parts with all series of a follower."""
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, vector in found.items():
        for row, labels in enumerate(vector.labels):
            places[labels["topic"], labels["partition"], labels["broker"]].append((name, row))
    listed = list(places.values())
    for first in range(0, len(listed), _AT_A_TIME):
        rows: dict[str, list[int]] = defaultdict(list)
        for name, row in (each for part in listed[first : first + _AT_A_TIME] for each in part):
            rows[name].append(row)
        yield {
            name: Vector([found[name].labels[row] for row in kept], found[name].values[kept])
            for name, kept in rows.items()
        }


def _row(alarm: Alarm, grid: Grid, start: float, end: float) -> dict[str, Any] | None:
    """Return the columns of an alarm, None if it is of another chunk."""

    def time(place: int | None) -> float | None:
        return None if place is None else grid.start + place * grid.step

    until = grid.count - 1 if alarm.ended is None else alarm.ended
    if (time(until) or 0.0) < start or (time(alarm.began) or 0.0) >= end:
        return None
    first = max(alarm.began, -int(-(start - grid.start) // grid.step), 0)
    return {
        "began": time(alarm.began),
        "fired": time(alarm.fired),
        "ended": time(alarm.ended),
        "last_until": time(until),
        "polls": max(until - first + (alarm.ended is None), 0),
        "value_max": alarm.highest,
        "continues": (time(alarm.began) or 0.0) < start,
    }


def grid_of(rows: Iterable[Row], end: float) -> Grid | None:
    """Return the evaluations of a chunk, until after the last poll or the end (Unix s); None without a poll."""
    times: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["metric"] == POLLS:
            times[row["run"]] += row["at"]
    between = np.concatenate([np.diff(np.sort(each)) for each in times.values()]) if times else np.empty(0)
    if not times:
        return None
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


def _polls(rows: Iterable[Row]) -> tuple[Sequence[float], Sequence[float]]:
    (row,) = (row for row in rows if row["metric"] == POLLS)
    return row["at"], row["value"]


def _scraped(
    rows: Sequence[Row], until: float, began: float, grid: Grid
) -> Iterator[tuple[str, tuple[tuple[str, str], ...], np.ndarray, Any]]:
    """Yield the metric, its labels, the evaluations at which a poll of these holds, and the values then.

    `until`: the first later poll of the run; `began`: its first one (Unix s).
    """
    polled, silent_after = map(np.array, _polls(rows))
    times = grid.times
    place = np.searchsorted(polled, times, side="right") - 1
    holds = (place >= 0) & (times < until) & (times - polled[place] <= silent_after[place])
    shown = np.flatnonzero(holds)
    at = polled[place[shown]]
    interval: Any = np.inf
    for row in rows:
        if row["metric"] != POLLS:
            changed = np.searchsorted(row["at"], at, side="right") - 1
            values = np.where(changed < 0, np.nan, np.array(row["value"])[changed])
            pairs = zip(row["labels"][::2], row["labels"][1::2], strict=True)
            yield row["metric"], tuple((name, text) for name, text in pairs if text), shown, values
            if row["metric"] == "kafka_warden_poll_interval_seconds":
                interval = values
    for metric in ("up", "kafka_warden_build_info"):
        yield metric, (), shown, 1.0
    yield "process_start_time_seconds", (), shown, began
    # History may have fewer polls than the sidecar made.
    yield "kafka_warden_snapshot_timestamp_seconds", (), shown, np.maximum(at, times[shown] - interval)
