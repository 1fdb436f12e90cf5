"""Known faults of a history, and how well rules find them.

Faults are in `faults.json` of a generated fleet or of a person, or in alerts of other tools, as `GET /api/v2/alerts` of
Alertmanager answers. A line of `faults.json` is a JSON object: `cluster_id`, `kind`, `began`, `ended` (Unix s), and
the subject: `topic`, `partition`, `broker`, or null. `calm.json` beside it has the same form.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import TruthError
from kafka_warden.pipeline.landing import joined, literal
from kafka_warden.pipeline.marts import of_rows
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import address
from kafka_warden.pipeline.timeline import divide

FORM: Final = "cluster_id string, kind string, began double, ended double, topic string, partition int, broker int"
FILE: Final = "faults.json"
EXPORT: Final = ".json"
"""The end of a name of a file with alerts."""
NO_FAULTS: Final = "calm.json"
"""Events that are no faults but look like one, such as restarts; some rules should detect them."""

Fault = tuple[str, str, float, float, str | None, int | None, int | None]
"""Cluster id, kind, begin and end (Unix s), topic, partition, broker."""
_Subject = tuple[str, str, tuple[str | None, int | None, int | None]]

_AFTER_NUMBERS: Final = 1 << 31
"""Kafka's numbers of partitions and brokers are lower."""

_OF: Final = ("cluster_id", "trial")
AFTERMATH: Final = 300.0
"""Seconds after a fault's end in which an alarm is still about it, while replicas catch up; at most its duration."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Where known faults are."""

    place: str
    """Folder of `faults.json`, or a file `*.json` that has alerts of Alertmanager's API."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Of alerts: name to the kind of fault."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Of alerts: label `cluster` to cluster id."""


def faults(spark: SparkSession, known: Truth) -> DataFrame:
    """Read the faults, and the events of `calm.json` if there are any.

    Raises:
        TruthError: there is no such file, or it has another form.
    """
    folder = known.place
    if folder.endswith(EXPORT):
        return of_rows(spark, _exported(known), FORM)
    happened, others = (_read(spark, f"{address(folder)}/{name}") for name in (FILE, NO_FAULTS))
    if happened is None:
        raise TruthError(f"{folder}/{FILE}: no such file; give --truth the folder that has {FILE}, or leave it out")
    return happened if others is None else happened.unionByName(others)


def _exported(known: Truth) -> list[Fault]:
    try:
        text = Path(known.place).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as failure:
        raise TruthError(f"{known.place}: it cannot be read: {failure}") from None
    try:
        return exported(text, known.kinds, known.clusters)
    except TruthError as failure:
        raise TruthError(f"{known.place}: {failure}") from None


def _read(spark: SparkSession, place: str) -> DataFrame | None:
    """Read a file; None if there is none."""
    reader = spark.read.schema(f"{FORM}, broken string").option("columnNameOfCorruptRecord", "broken")
    bad = "broken is not null or cluster_id is null or kind is null or began is null"
    try:
        found = reader.json(literal(place))
        # Spark only finds broken lines in a cached frame. The next round of a loop reads the file again.
        with persisted(found) as cached:
            wrong = cached.where(bad).limit(1).collect()
    except AnalysisException as failure:
        if failure.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    if wrong:
        raise TruthError(f"{place}: a line is not of the form of docs/pipeline.md: {wrong[0].asDict()}")
    return found.withColumn("ended", F.coalesce("ended", F.lit(float("inf")))).drop("broken")


def expected(happened: DataFrame, trials: DataFrame, clusters: DataFrame) -> DataFrame:
    """Pair each fault with the trials that should detect it: of its kind, long enough for their rule, and polled.

    `clusters`: `cluster_id`, `what_if`, `interval` (s), and `since` and `until` (Unix s), the time with polls. Returns
    the columns of the others, and `fault`, an id.
    """
    numbered = happened.withColumn("fault", F.monotonically_increasing_id())
    seen = F.least("ended", "until") - F.greatest("began", "since")
    asked = trials.join(F.broadcast(clusters), "what_if")
    mine = asked.withColumnRenamed("cluster_id", "of_cluster")
    same = (F.col("cluster_id") == F.col("of_cluster")) & F.array_contains("detects", F.col("kind"))
    long_enough = seen > F.col("least_fault") + F.col("interval")
    return numbered.join(F.broadcast(mine), same & long_enough).drop("of_cluster", "interval", "since", "until")


def is_about(alarm: str, fault: str) -> Column:
    """Return whether an alarm is about a fault: the times overlap, and labels that both have are equal."""
    lasted = F.col(f"{fault}.ended") - F.col(f"{fault}.began")
    over = F.col(f"{fault}.ended") + F.least(lasted, F.lit(AFTERMATH))
    while_it_lasted = (F.col(f"{alarm}.began") < over) & (
        F.coalesce(f"{alarm}.ended", F.lit(float("inf"))) > F.col(f"{fault}.began")
    )
    same = [
        F.coalesce(F.col(f"{alarm}.{name}") == F.col(f"{fault}.{name}"), F.lit(True))
        for name in ("topic", "partition", "broker")
    ]
    return while_it_lasted & same[0] & same[1] & same[2]


def exported(text: str, kinds: Mapping[str, str], clusters: Mapping[str, str]) -> list[Fault]:
    """Read one export, or several one after the other. Alerts of one subject that overlap are one fault.

    The API only has alerts that fire. So a fault begins when its alert fired, and ends when the last export says: a few
    minutes after it was resolved.

    Args:
        text: The answers of the API.
        kinds: Alert name to the kind of fault that it shows. Other alerts are left out.
        clusters: Label `cluster` to cluster id, for alerts without the label `cluster_id`.

    Raises:
        TruthError: another form, an alert of no known cluster, or no alert with a name of `kinds`.
    """
    found: dict[_Subject, list[tuple[float, float]]] = defaultdict(list)
    names = set()
    for alert in _alerts(text):
        try:
            labels, began, ended = dict(alert["labels"]), _seconds(alert["startsAt"]), _seconds(alert["endsAt"])
            # Spark takes strings only, and no half of a surrogate pair.
            "".join(labels.values()).encode()
            name = labels["alertname"]
            names.add(name)
            if name in kinds:
                about = (labels.get("topic"), _number(labels, "partition"), _number(labels, "broker"))
                found[_cluster(labels, clusters), kinds[name], about].append((began, ended))
        except (KeyError, TypeError, ValueError) as failure:
            raise TruthError(f"an alert cannot be read ({failure!r}): {json.dumps(alert)[:300]}") from None
    if not found:
        there = ", ".join(sorted(names)) or "none"
        raise TruthError(f"no alert has a name of --truth-alert NAME=KIND; names in the export: {there}")
    return [
        (cluster, kind, began, ended, *about)
        for (cluster, kind, about), spans in found.items()
        for began, ended in joined(spans)
    ]


def _alerts(text: str) -> Iterator[Any]:
    """Yield the alerts of all arrays."""
    left = text.strip()
    while left:
        try:
            answer, end = json.JSONDecoder().raw_decode(left)
        except ValueError as failure:
            raise TruthError(f"it is no JSON: {failure}; save the answer of GET /api/v2/alerts") from None
        if not isinstance(answer, list):
            raise TruthError("it is no array of alerts; save the answer of GET /api/v2/alerts")
        yield from answer
        left = left[end:].lstrip()


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _number(labels: Mapping[str, str], name: str) -> int | None:
    if name not in labels:
        return None
    text = labels[name]
    if not (text.isascii() and text.isdigit() and int(text) < _AFTER_NUMBERS):
        raise TruthError(f"{labels['alertname']}: its label {name}={text!r} is no number of a {name}")
    return int(text)


def _cluster(labels: Mapping[str, str], clusters: Mapping[str, str]) -> str:
    found = labels.get("cluster_id") or clusters.get(labels.get("cluster", ""))
    if found is None:
        label = labels.get("cluster", "")
        raise TruthError(
            f"{labels['alertname']}: the cluster id of its label cluster={label!r} is unknown; give --truth-cluster"
            f" {label or 'LABEL'}=ID, or alerts with the label cluster_id"
        )
    return found


def labelled(found: DataFrame, happened: DataFrame | None) -> DataFrame:
    """Add `true_alarm`: null where no faults are known, or none that the rule detects. `found`: with `detects`."""
    if happened is None:
        return found.withColumn("true_alarm", F.lit(None).cast("boolean"))
    alarm = found.withColumn("alarm", F.monotonically_increasing_id()).alias("alarm")
    fault = F.broadcast(happened).alias("fault")
    of_kind = (F.col("alarm.cluster_id") == F.col("fault.cluster_id")) & F.array_contains("detects", F.col("kind"))
    hits = F.count("fault.kind") > 0
    comparable = F.col("would_fire") & (F.size("detects") > 0)
    columns = [F.first(f"alarm.{name}").alias(name) for name in found.columns]
    return (
        alarm.join(fault, of_kind & is_about("alarm", "fault"), "left")
        .groupBy("alarm.alarm")
        .agg(*columns, hits.alias("hits"))
        .withColumn("true_alarm", F.when(comparable, F.col("hits")))
    )


def scores(found: DataFrame, trials: DataFrame, clusters: DataFrame, happened: DataFrame | None) -> DataFrame:
    """Return the mart `rules`: one row per cluster and trial. `clusters`: as in `expected`.

    `found`: stored alarms, with `detects`. Those that were not computed again are compared with the faults here.
    """
    marked = labelled(found, happened)
    counted = marked.groupBy(*_OF).agg(
        F.count_if("would_fire").alias("alarms"),
        F.count_if(~F.col("would_fire")).alias("short"),
        F.sum(F.when(F.col("would_fire"), F.col("seconds"))).alias("alarm_seconds"),
        F.count_if("true_alarm").alias("true_alarms"),
        F.count_if(~F.col("true_alarm")).alias("false_alarms"),
    )
    known = F.lit(happened is not None) & (F.size("detects") > 0)
    events = of_rows(marked.sparkSession, (), FORM) if happened is None else happened
    rows = clusters.select("cluster_id").distinct().crossJoin(F.broadcast(trials))
    for part in (counted, _caught(marked, trials, events, clusters)):
        rows = rows.join(part, [*_OF], "left")
    rows = rows.withColumns(
        {name: F.when(known, _or_zero(name)) for name in ("true_alarms", "false_alarms", "events", "caught")}
        | {name: _or_zero(name) for name in ("alarms", "short", "alarm_seconds")}
    )
    true, false, caught, missed = (
        F.col(name).cast("double") for name in ("true_alarms", "false_alarms", "caught", "missed")
    )
    return rows.withColumn("missed", F.col("events") - F.col("caught")).withColumns(
        {"precision": divide(true, true + false), "recall": divide(caught, caught + missed)}
    )


def _or_zero(name: str) -> Column:
    return F.coalesce(F.col(name), F.lit(0))


def _caught(marked: DataFrame, trials: DataFrame, happened: DataFrame, clusters: DataFrame) -> DataFrame:
    """Count the faults that each rule should detect, and those that it did, and how soon."""
    # A rule that fires already when a fault begins has no delay.
    delay = F.greatest(F.min("alarm.fired") - F.first("fault.began"), F.lit(0.0))
    fault = expected(happened, trials, clusters).alias("fault")
    alarm = marked.where("would_fire").alias("alarm")
    same = (F.col("fault.cluster_id") == F.col("alarm.cluster_id")) & (F.col("fault.trial") == F.col("alarm.trial"))
    return (
        fault.join(alarm, same & is_about("alarm", "fault"), "left")
        .groupBy("fault.cluster_id", "fault.trial", "fault.fault")
        .agg((F.count("alarm.trial") > 0).alias("caught"), F.when(F.count("alarm.trial") > 0, delay).alias("delay"))
        .groupBy(*_OF)
        .agg(
            F.count("*").alias("events"),
            F.count_if("caught").alias("caught"),
            F.median("delay").alias("delay_seconds"),
        )
    )
