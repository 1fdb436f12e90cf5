"""Polls on one time axis: clocks that are set, and two sidecars, of which the older one is used until it is silent."""

from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.pipeline.timeline import informative_polls, prefer_oldest_run, timeline

FORM = "cluster_id string, run string, sequence bigint, at double, silent_after double"
SILENT = 30.0


CLOCKS = (
    "cluster_id string, run string, sequence bigint, time double, clock double,"
    " parameters struct<poll_interval: double>"
)


@pytest.mark.parametrize("ahead", [2, -2, 20])
@pytest.mark.parametrize("set_right", [8, 18, 30])
def test_polls_of_a_run_stay_in_order(spark: SparkSession, ahead: int, set_right: int) -> None:
    hours = range(72)
    rows = [("one", "run", n, 3600.0 * (n + 1e5 + (ahead if n < set_right else 0)), 3600.0 * n, (10.0,)) for n in hours]
    found = timeline(spark.createDataFrame(rows, CLOCKS)).orderBy("at", "sequence").collect()
    assert [row["sequence"] for row in found] == [*hours]
    true = [3600.0 * (n + 1e5) for n in hours]
    last = 24 * round(set_right / 24)
    wrong = [row["at"] - at for row, at in zip(found, true, strict=True)]
    assert wrong[last:] == [0.0] * (72 - last)
    first = max(last - max(ahead, 0), 0)
    assert wrong[:first] == [3600.0 * ahead] * first


def polls(
    spark: SparkSession, runs: dict[str, Sequence[float]], cluster: str = "one", silent: float = SILENT
) -> DataFrame:
    """Polls of runs, ten seconds apart as a rule."""
    rows = [(cluster, run, number, at, silent) for run, times in runs.items() for number, at in enumerate(times)]
    return spark.createDataFrame(rows, FORM)


def used(spark: SparkSession, runs: dict[str, Sequence[float]]) -> list[tuple[str, float]]:
    return [(row["run"], row["at"]) for row in informative_polls(polls(spark, runs)).orderBy("n").collect()]


def test_the_elder_speaks_until_it_is_silent(spark: SparkSession) -> None:
    elder, younger = [0.0, 10.0, 20.0, 70.0, 80.0], [5.0, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0]
    for first, second in (("a", "b"), ("b", "a")):
        assert used(spark, {first: elder, second: younger}) == [
            *((first, at) for at in (0.0, 10.0, 20.0)),
            *((second, at) for at in (25.0, 35.0, 45.0, 55.0, 65.0)),
            *((first, at) for at in (70.0, 80.0)),
            (second, 85.0),
        ]


OLD, YOUNG = [10.0 * n + 3 for n in range(100)], [10.0 * n + 501 for n in range(50)]


@pytest.mark.parametrize(
    ("old", "left"),
    [
        (OLD, "at > 700"),
        (OLD, "at > 700 AND (run = 'young' OR sequence % 6 = 0)"),
        ([*OLD[:50], *(60.0 * n + 503 for n in range(9))], "true"),
        ([-30.0 * n for n in range(30, 0, -1)] + [10.0 * n + 3 for n in range(100)], "at > 700"),
    ],
)
def test_oldest_run_is_known_when_its_first_polls_were_deleted(
    spark: SparkSession, old: Sequence[float], left: str
) -> None:
    """By the numbers of its later polls, of which some may not be kept, and whose interval may change."""
    used = prefer_oldest_run(polls(spark, {"old": old, "young": YOUNG}, silent=300.0).where(left))
    assert {row["run"] for row in used.where("at > 730 AND at < 960").select("run").distinct().collect()} == {"old"}


def test_younger_run_stays_younger_when_its_interval_becomes_longer(spark: SparkSession) -> None:
    young = [*YOUNG, *(60.0 * n + 1000 for n in range(1, 20))]
    old = [10.0 * n + 3 for n in range(220)]
    used = prefer_oldest_run(polls(spark, {"old": old, "young": young}, silent=300.0))
    assert {row["run"] for row in used.select("run").distinct().collect()} == {"old"}


def test_values_hold_until_the_next_poll_that_is_used(spark: SparkSession) -> None:
    found = informative_polls(polls(spark, {"a": [0.0, 10.0, 20.0], "b": [5.0, 15.0, 25.0]})).orderBy("n").collect()
    assert [(row["held"], row["next_run"]) for row in found] == [(10.0, "a"), (10.0, "a"), (5.0, "b"), (0.0, None)]


def test_runs_that_follow_each_other_are_all_used(spark: SparkSession) -> None:
    one = polls(spark, {"a": [0.0, 10.0], "b": [20.0, 30.0]})
    other = polls(spark, {"c": [5.0, 15.0]}, "other")
    assert prefer_oldest_run(one.unionByName(other)).count() == 6


def test_of_three_the_next_elder_takes_over(spark: SparkSession) -> None:
    runs: dict[str, Sequence[float]] = {
        "a": [0.0, 10.0],
        "b": [1.0, 11.0, 21.0, 31.0],
        "c": [2.0, 12.0, 22.0, 32.0],
        "d": [20.0, 30.0, 40.0],
    }
    assert used(spark, runs) == [
        *(("a", at) for at in (0.0, 10.0)),
        *(("b", at) for at in (11.0, 21.0, 31.0)),
        ("c", 32.0),
        ("d", 40.0),
    ]


def test_a_run_that_does_not_know_does_not_hide_the_other(spark: SparkSession) -> None:
    both = polls(spark, {"a": [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0], "b": [5.0, 15.0, 25.0, 35.0, 45.0, 55.0]})
    knows = both.where("run = 'b' or at <= 10 or at >= 50")
    found = [(row["run"], row["at"]) for row in informative_polls(knows).orderBy("n").collect()]
    assert found == [
        *(("a", at) for at in (0.0, 10.0)),
        *(("b", at) for at in (15.0, 25.0, 35.0, 45.0)),
        *(("a", at) for at in (50.0, 60.0)),
    ]
