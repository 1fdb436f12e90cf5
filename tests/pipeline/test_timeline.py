"""Polls on one time axis: clocks that are set, and two sidecars, of which the older one is used until it is silent."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.moves import greatest, growth, least, relative_error, side_use
from kafka_warden.pipeline.timeline import divide, informative_polls, prefer_oldest_run, timeline

INF: Final = math.inf
HOUR: Final = 3600.0
FORM: Final = "cluster_id string, run string, sequence bigint, at double, silent_after double"
CLOCKS: Final = (
    "cluster_id string, run string, sequence bigint, time double, clock double,"
    " parameters struct<poll_interval: double>"
)


def test_columns(spark: SparkSession) -> None:
    """What is unknown or undefined is null."""
    rows: tuple[tuple[Callable[..., Column], tuple[float | None, ...], float | None], ...] = (
        (divide, (1.0, 2.0), 0.5),
        (divide, (1.0, 0.0), None),
        (divide, (0.0, 0.0), None),
        (divide, (INF, INF), None),
        (divide, (1.0, INF), 0.0),
        (divide, (None, 2.0), None),
        (greatest, (1.0, 2.0), 2.0),
        (greatest, (1.0, None), None),
        (least, (1.0, 2.0), 1.0),
        (least, (None, 2.0), None),
        (growth, (5.0, 3.0), 2.0),
        (growth, (2.0, 3.0), 0.0),
        (side_use, (3.0, 4.0, 10.0), 0.7),
        (side_use, (3.0, 4.0, INF), 0.0),
        (side_use, (3.0, 4.0, 0.0), None),
        (relative_error, (150.0, 100.0), 0.5),
        (relative_error, (50.0, 100.0), -0.5),
        (relative_error, (INF, 100.0), INF),
        (relative_error, (10.0, 0.0), None),
    )
    columns = [formula(*(F.lit(value).cast("double") for value in values)) for formula, values, _ in rows]
    (found,) = spark.range(1).select(*(column.alias(str(place)) for place, column in enumerate(columns))).collect()
    for place, (formula, values, expected) in enumerate(rows):
        assert found[place] == (None if expected is None else pytest.approx(expected)), (formula.__name__, values)


@pytest.mark.parametrize("ahead", [2, -2, 20])
@pytest.mark.parametrize("set_right", [8, 18, 30])
def test_polls_of_a_run_stay_in_order(spark: SparkSession, ahead: int, set_right: int) -> None:
    hours = range(72)
    rows = [("one", "run", n, HOUR * (n + 1e5 + (ahead if n < set_right else 0)), HOUR * n, (10.0,)) for n in hours]
    found = timeline(spark.createDataFrame(rows, CLOCKS)).orderBy("at", "sequence").collect()
    assert [row["sequence"] for row in found] == [*hours]
    true = [HOUR * (n + 1e5) for n in hours]
    last = 24 * round(set_right / 24)
    wrong = [row["at"] - at for row, at in zip(found, true, strict=True)]
    assert wrong[last:] == [0.0] * (72 - last)
    first = max(last - max(ahead, 0), 0)
    assert wrong[:first] == [HOUR * ahead] * first


def test_wall_clock_counts_unless_it_was_set(spark: SparkSession) -> None:
    runs = {
        # Both clocks usually differ by 1000 s.
        "set": ((0.0, 1000.0), (60.0, 1060.9), (120.0, 4720.0), (180.0, 520.0), (240.0, 1240.0)),
        "often": tuple((clock, 1000.0 + clock) for clock in (0.0, 1.0, 2.0)),
        # All of the first day is more than a day later than the second: such a clock is wrong as a whole.
        "days": ((0.0, 60 * HOUR), (HOUR, 61 * HOUR), (24 * HOUR, 24 * HOUR), (25 * HOUR, 25 * HOUR)),
    }
    polled = [(run, n, *clocks) for run, every in runs.items() for n, clocks in enumerate(every)]
    rows = [("one", run, n, time, clock, (10.0,)) for run, n, clock, time in polled]
    found = timeline(spark.createDataFrame(rows, CLOCKS)).orderBy("run", "sequence").collect()
    of = {run: [row for row in found if row["run"] == run] for run in runs}
    assert [row["at"] for row in of["set"]] == pytest.approx([1000.0, 1060.9, 1120.0, 1180.0, 1240.0])
    assert [row["at"] for row in of["days"]] == [time for _, time in runs["days"]]
    assert {row["silent_after"] for row in of["set"]} == {180.0}
    assert {row["silent_after"] for row in of["often"]} == {30.0}, "at least three of the configured intervals"


def polls(
    spark: SparkSession, runs: dict[str, Sequence[float]], cluster: str = "one", silent: float = 30.0
) -> DataFrame:
    """Polls of runs, ten seconds apart as a rule."""
    rows = [(cluster, run, number, at, silent) for run, times in runs.items() for number, at in enumerate(times)]
    return spark.createDataFrame(rows, FORM)


ELDER, YOUNGER = [0.0, 10.0, 20.0, 70.0, 80.0], [5.0, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0]


@pytest.mark.parametrize(
    ("runs", "where", "expected"),
    [
        ({"a": ELDER, "b": YOUNGER}, "true", "a0 a10 a20 b25 b35 b45 b55 b65 a70 a80 b85"),
        ({"b": ELDER, "a": YOUNGER}, "true", "b0 b10 b20 a25 a35 a45 a55 a65 b70 b80 a85"),
        ({"a": [0.0, 10.0], "b": [20.0, 30.0]}, "true", "a0 a10 b20 b30"),
        (
            {"a": [0.0, 10.0], "b": [1.0, 11.0, 21.0, 31.0], "c": [2.0, 12.0, 22.0, 32.0], "d": [20.0, 30.0, 40.0]},
            "true",
            "a0 a10 b11 b21 b31 c32 d40",
        ),
        (
            {"a": [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0], "b": [5.0, 15.0, 25.0, 35.0, 45.0, 55.0]},
            "run = 'b' OR at <= 10 OR at >= 50",
            "a0 a10 b15 b25 b35 b45 a50 a60",
        ),
    ],
    ids=("elder until it is silent", "by time, not name", "one after the other", "next elder", "elder does not know"),
)
def test_one_run_is_used_at_a_time(
    spark: SparkSession, runs: dict[str, Sequence[float]], where: str, expected: str
) -> None:
    found = informative_polls(polls(spark, runs).where(where)).orderBy("n").collect()
    assert " ".join(f"{row['run']}{row['at']:g}" for row in found) == expected


def test_clusters_have_runs_of_their_own(spark: SparkSession) -> None:
    one, other = polls(spark, {"a": [0.0, 10.0]}), polls(spark, {"b": [5.0, 15.0]}, "other")
    assert prefer_oldest_run(one.unionByName(other)).count() == 4


OLD, YOUNG = [10.0 * n + 3 for n in range(100)], [10.0 * n + 501 for n in range(50)]


@pytest.mark.parametrize(
    ("old", "young", "left"),
    [
        (OLD, YOUNG, "at > 700"),
        (OLD, YOUNG, "at > 700 AND (run = 'young' OR sequence % 6 = 0)"),
        ([*OLD[:50], *(60.0 * n + 503 for n in range(9))], YOUNG, "true"),
        ([-30.0 * n for n in range(30, 0, -1)] + OLD, YOUNG, "at > 700"),
        # The interval of the younger one becomes longer.
        ([10.0 * n + 3 for n in range(220)], [*YOUNG, *(60.0 * n + 1000 for n in range(1, 20))], "true"),
    ],
)
def test_oldest_run_is_known_when_its_first_polls_were_deleted(
    spark: SparkSession, old: Sequence[float], young: Sequence[float], left: str
) -> None:
    """By the numbers of its later polls, of which some may not be kept, and whose interval may change."""
    used = prefer_oldest_run(polls(spark, {"old": old, "young": young}, silent=300.0).where(left))
    both = used.where(f"at > 730 AND at < {old[-1] - 30}")
    assert {row["run"] for row in both.select("run").distinct().collect()} == {"old"}


def test_values_hold_until_the_next_poll_that_is_used(spark: SparkSession) -> None:
    made = polls(spark, {"a": [0.0, 10.0, 20.0], "b": [5.0, 15.0, 25.0, 100.0]})
    found = informative_polls(made).orderBy("n").collect()
    expected = [(10.0, "a"), (10.0, "a"), (5.0, "b"), (30.0, "b"), (0.0, None)]
    assert [(row["held"], row["next_run"]) for row in found] == expected
