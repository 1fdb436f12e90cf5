"""What rules look back for, worked out by hand."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.pipeline.backtest.lookback import clients, failures, lost_directories, remote_topics

POLL = "cluster_id string, run string, sequence bigint"
INF = float("inf")


def frame(spark: SparkSession, form: str, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Rows of one run: the first value of each is the poll."""
    return spark.createDataFrame([("cluster", "run", *row) for row in rows], f"{POLL}, {form}")


def at(spark: SparkSession, *seconds: float) -> DataFrame:
    """When the polls were."""
    return frame(spark, "at double", [(number, float(each)) for number, each in enumerate(seconds)])


def values(made: DataFrame, *names: str) -> list[Any]:
    """Values by poll."""
    return [tuple(row[name] for name in names) for row in made.orderBy("sequence").collect()]


def test_tokens_are_the_least_of_five_minutes(spark: SparkSession) -> None:
    """Below zero in the first poll counts in the third, and no longer in the fourth, 301 s later."""
    form = "kind string, user string, client_id string, tokens double, burst double, mutation_rate double, quota double"
    rows = [
        (0, "mutation", None, "app", -1.0, 10.0, 2.0, 2.0),
        (1, "mutation", None, "app", 5.0, 10.0, 1.0, 2.0),
        (2, "mutation", None, "app", 8.0, 10.0, None, None),
        (3, "mutation", None, "app", INF, INF, 3.0, INF),
        (3, "configured", None, "app", None, None, None, None),
        (3, "mutation", "else", None, 1.0, None, None, None),
    ]
    made = clients(frame(spark, form, rows), at(spark, 0, 60, 300, 301))
    mine = made.where("client_id = 'app'")
    assert values(mine, "tokens", "left") == [(-1.0, -0.1), (-1.0, -0.1), (-1.0, -0.1), (5.0, 0.5)]
    assert values(mine, "used") == [(1.0,), (0.75,), (0.75,), (0.25,)], "a quota without end is not used at all"
    assert values(made.where("user = 'else'"), "client_id", "tokens", "left", "used") == [("", 1.0, None, None)]


def test_what_is_overdue_grows_by_its_slope(spark: SparkSession) -> None:
    """Over half an hour; a topic that nothing was ever overdue of has no row, and an answer that is missing is null."""
    form = "topic string, overdue_bytes double, copy_stalled_seconds double"
    rows = [
        (0, "a", 10.0, 0.0),
        (1, "a", 30.0, 0.0),
        (2, "a", 20.0, 5.0),
        (3, "a", 0.0, 0.0),
        (4, "a", None, None),
        *((poll, "plain", None, None) for poll in range(5)),
        (0, None, None, None),
    ]
    made = remote_topics(frame(spark, form, rows), at(spark, 0, 600, 1200, 1900, 2000))
    assert {row["topic"] for row in made.collect()} == {"a"}
    assert values(made, "overdue_bytes", "growing", "stalled") == [
        (10.0, False, 0.0),
        (30.0, True, 0.0),
        (20.0, True, 5.0),
        (0.0, False, 0.0),
        (None, False, None),
    ]


def test_failures_are_those_of_late(spark: SparkSession) -> None:
    """A reset counter counts from 0; without beans it is null; a broker without counters has no row."""
    form = "broker int, beans struct<values: map<string, double>>"

    def beans(**values: float) -> tuple[dict[str, float]]:
        return (dict(values),)

    rows = [
        (0, 1, beans(remote_copy_errors_total=100.0)),
        (1, 1, beans(remote_copy_errors_total=101.0, remote_fetch_errors_total=1.0)),
        (2, 1, None),
        (3, 1, beans(remote_copy_errors_total=3.0)),
        (4, 1, beans(remote_copy_errors_total=3.0)),
        *((poll, 2, beans(bytes_in_total=1.0)) for poll in range(5)),
    ]
    made = failures(frame(spark, form, rows), at(spark, 0, 60, 120, 180, 500))
    assert {row["broker"] for row in made.collect()} == {1}
    assert values(made, "failed") == [(None,), (2.0,), (None,), (5.0,), (0.0,)]


def test_a_lost_directory_is_remembered(spark: SparkSession) -> None:
    """Null without the directories; a directory that is missing from an answer no longer exists."""
    form = "broker int, log_dirs array<struct<path: string, online: boolean>>"
    rows = [
        (0, 1, [("/a", True), ("/b", True)]),
        (1, 1, [("/a", True), ("/b", False)]),
        (2, 1, None),
        (3, 1, [("/a", True)]),
        (1, 2, [("/b", True)]),
    ]
    made = lost_directories(frame(spark, form, rows))
    assert {(row["broker"], row["log_dir"]) for row in made.collect()} == {(1, "/b")}
    assert values(made, "online") == [(True,), (False,), (None,), (True,)]
