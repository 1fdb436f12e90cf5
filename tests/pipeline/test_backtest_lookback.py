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
    return frame(spark, "at double", [(number, float(each)) for number, each in enumerate(seconds)])


def values(made: DataFrame, *names: str) -> list[Any]:
    return [tuple(row[name] for name in names) for row in made.orderBy("sequence").collect()]


def test_a_client_is_refused_for_a_share_of_half_an_hour(spark: SparkSession) -> None:
    form = "kind string, user string, client_id string, tokens double"
    rows = [
        (0, "mutation", None, "app", -1.0),
        (1, "mutation", None, "app", 5.0),
        (2, "mutation", None, "app", 8.0),
        (3, "mutation", None, "app", INF),
        (3, "configured", None, "app", None),
        (3, "mutation", "else", None, -3.0),
    ]
    made = clients(frame(spark, form, rows), at(spark, 0, 60, 1800, 1801))
    assert values(made.where("client_id = 'app'"), "refused") == [(1.0,), (0.5,), (1 / 3,), (0.0,)]
    assert values(made.where("user = 'else'"), "client_id", "refused") == [("", 1.0)]


def test_what_is_overdue_grows(spark: SparkSession) -> None:
    form = "topic string, overdue_bytes double, copy_stalled_seconds double"
    amounts = [100.0, 126.0, 130.0, 130.0, None, 190.0, 201.0, 205.0]
    rows = [
        *((poll, "a", amount, None if amount is None else float(poll)) for poll, amount in enumerate(amounts)),
        *((poll, "plain", None, None) for poll in range(8)),
        (0, None, None, None),
    ]
    made = remote_topics(frame(spark, form, rows), at(spark, 0, 1799, 1800, 5000, 6000, 19_700, 21_550, 21_900))
    assert {row["topic"] for row in made.collect()} == {"a"}
    assert values(made, "overdue_bytes", "growing", "stalled") == [
        (100.0, False, 0.0),
        (126.0, False, 1.0),
        (130.0, True, 2.0),
        (130.0, False, 3.0),
        (None, None, None),
        (190.0, True, 5.0),
        (201.0, False, 6.0),
        (205.0, True, 7.0),
    ]


def test_failures_are_those_of_late(spark: SparkSession) -> None:
    form = "broker int, beans struct<values: map<string, double>>"

    def beans(**values: float) -> tuple[dict[str, float]]:
        return (dict(values),)

    rows = [
        (0, 1, beans(remote_copy_errors_total=100.0)),
        (1, 1, beans(remote_copy_errors_total=101.0, remote_delete_errors_total=5.0, remote_fetch_errors_total=3.0)),
        (2, 1, None),
        (3, 1, beans(remote_copy_errors_total=3.0, remote_fetch_errors_total=3.0)),
        (4, 1, beans(remote_copy_errors_total=3.0, remote_fetch_errors_total=3.0)),
        *((poll, 2, beans(bytes_in_total=1.0)) for poll in range(5)),
    ]
    made = failures(frame(spark, form, rows), at(spark, 0, 60, 120, 180, 800))
    assert {row["broker"] for row in made.collect()} == {1}
    counted = values(made, "copies_failed", "fetches_failed")
    assert [tuple(None if each is None else each * 600 for each in row) for row in counted] == [
        (None, None),
        (6.0, 3.0),
        (None, None),
        (9.0, 3.0),
        (0.0, 0.0),
    ]


def test_a_lost_directory_is_remembered(spark: SparkSession) -> None:
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
