"""The report: what it says of marts, and of marts that are not there."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.pipeline.backtest.rules import BY_MESSAGES, BY_TIME
from kafka_warden.pipeline.report import alarms, alarms_section, limits_section, moves, moves_section
from kafka_warden.pipeline.report.build import build
from kafka_warden.pipeline.report.page import INDEX, Head, file_of
from kafka_warden.pipeline.report.parts import Section
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.replication import STATES, Span, health_of
from tests.pipeline.report_rows import BEGIN, CLUSTERS, EVIL, SCHEMAS, marts

Made = Mapping[str, DataFrame]


@pytest.fixture(scope="module")
def made(spark: SparkSession) -> Made:
    return marts(spark)


@pytest.fixture(scope="module")
def pages(made: Made) -> Mapping[str, str]:
    return _pages(made.get)


def _marts(found: Callable[[str], DataFrame | None]) -> Marts:
    return Marts(found, lambda job: f"kafka-warden pipeline {job} --store store")


def _pages(found: Callable[[str], DataFrame | None]) -> Mapping[str, str]:
    return dict(build(_marts(found), Head(f"Fleet {EVIL}", EVIL, "1.0"), 4))


def test_index_has_a_row_and_a_link_for_each_cluster(pages: Mapping[str, str]) -> None:
    assert list(pages) == [*map(file_of, CLUSTERS), INDEX]
    index = pages[INDEX]
    for cluster in CLUSTERS:
        page = pages[file_of(cluster)]
        row = index.partition(f'href="{quote(file_of(cluster))}"')[2].partition("</tr>")[0]
        findings = re.findall('class="finding">(.*?)</p>', page)
        assert len(findings) == 4
        assert all(f"<td>{finding}</td>" in row for finding in findings)
        assert "<td>2026-03-02 to 2026-03-05</td>" in row
        assert f'href="{INDEX}"' in page
    assert index.count("20 moves: ") == 2
    assert "<svg" not in index


def test_a_cluster_of_one_mart_has_a_page(made: Made) -> None:
    pages = _pages({"forecasts": made["forecasts"]}.get)
    assert list(pages) == [*map(file_of, CLUSTERS), INDEX]
    assert pages[INDEX].count("<td>unknown</td>") == 2
    assert "There is no mart moves in this folder." in pages[file_of(CLUSTERS[0])]


def test_report_answers_its_questions(pages: Mapping[str, str]) -> None:
    page = pages[file_of(EVIL)]
    assert "20 moves: " in page
    assert "raised 131 alarms, 122 of them false, and missed 2; the rule by time raised 11 alarms, 0 of them" in page
    assert "3 of 3 things that grow reach their limit by the end of the horizon." in page
    assert "in 12 days, on 2026-03-16 (2026-03-13 to 2026-03-19)" in page
    assert "2026-03-02 00:00:00 to 2026-03-05 00:00:00 UTC, 3 d" in page
    assert "kafka-warden 1.0" in page
    assert "16 of 20 moves are not drawn here" in page
    assert 'class="missing"' not in page


def test_same_marts_make_the_same_page(pages: Mapping[str, str], made: Made) -> None:
    assert _pages(made.get) == pages


def test_missing_marts_are_named_with_what_makes_them() -> None:
    [page] = _pages(lambda _: None).values()
    for mart, job in (("moves", "moves"), ("cluster_hour", "rollup"), ("rules", "backtest"), ("forecasts", "forecast")):
        assert f"There is no mart {mart} in this folder." in page
        assert f"kafka-warden pipeline {job} --store store" in page
    assert "<svg" not in page


SECTIONS: Mapping[str, Callable[[Marts], Section]] = {
    "move_samples": lambda found: moves_section.section(found, 2),
    "alarms": alarms_section.section,
    "forecast_paths": limits_section.section,
}


@pytest.mark.parametrize("lacking", SECTIONS)
def test_one_missing_mart_takes_nothing_else_away(made: Made, lacking: str) -> None:
    written = SECTIONS[lacking](_marts(lambda name: None if name == lacking else made.get(name))).html()
    assert f"There is no mart {lacking} in this folder." in written
    assert written.count('class="missing"') == 1
    assert "<svg" in written


def test_empty_marts_are_answers(spark: SparkSession) -> None:
    [page] = _pages(lambda name: spark.createDataFrame([], SCHEMAS[name.replace("_minute", "_hour")])).values()
    assert "Nothing was moved in this history." in page
    assert "This history has no poll." in page
    assert "no rule was tried on this history" in page
    assert "This history has nothing to forecast." in page
    assert "There is no mart" not in page


def test_a_thousand_moves_stay_small(spark: SparkSession) -> None:
    written = moves_section.section(_marts(marts(spark, 1000).get), 12).html()
    assert "1,000 moves" in written
    assert 400_000 < len(written.encode()) < 3_000_000


def test_moves_beyond_the_most_are_counted(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "MOST", 30)
    written = moves_section.section(_marts(made.get), 0).html()
    assert "10 shorter moves are left out of plots and tables." in written


def test_replica_time_is_counted_by_polls(spark: SparkSession) -> None:
    start = BEGIN
    cluster = spark.createDataFrame([("c", start, 100, 3, 10, 2)], SCHEMAS["cluster_hour"])
    rows = [
        ("c", start, "t", "id", 0, 1, 100, {"slow": 50, "in_sync": 50}, 50),
        ("c", start, "t", "id", 1, 2, 100, {"stuck": 100}, 100),
    ]
    replica = spark.createDataFrame(rows, SCHEMAS["replica_hour"])
    begin = start.timestamp()
    health = health_of(cluster, replica, Span(begin, begin + 3600, 3600, "hour"))
    assert health.seconds == {"stuck": 3600.0, "slow": 1800.0}
    assert health.states == {"stuck": (1.0,), "slow": (0.5,)}
    assert health.topics == {("c", "t"): {"slow": 1800.0, "stuck": 3600.0}}
    assert health.under == {"c": (2,)}
    assert health.times == (begin,)


def test_unknown_counts_outside_the_isr_only(spark: SparkSession) -> None:
    cluster = spark.createDataFrame([("c", BEGIN, 100, 3, 10, 2)], SCHEMAS["cluster_hour"])
    rows = [
        ("c", BEGIN, "t", "id", 0, 1, 100, {"unknown": 30, "in_sync": 70}, 0),
        ("c", BEGIN, "t", "id", 1, 1, 100, {"unknown": 30, "slow": 50, "in_sync": 20}, 60),
        ("c", BEGIN, "t", "id", 2, 1, 100, {"moving": 100}, 80),
    ]
    replica = spark.createDataFrame(rows, SCHEMAS["replica_hour"])
    begin = BEGIN.timestamp()
    health = health_of(cluster, replica, Span(begin, begin + 3600, 3600, "hour"))
    assert health.seconds == {"slow": 1800.0, "moving": 3600.0, "unknown": 360.0}


def test_alarm_by_messages_meets_one_by_time(spark: SparkSession) -> None:
    def alarm(rule: str, partition: str, begin: int, end: int | None, what_if: bool = False) -> tuple[object, ...]:
        ended = None if end is None else BEGIN + dt.timedelta(seconds=end)
        began = BEGIN + dt.timedelta(seconds=begin)
        return ("c", rule, None, what_if, {"partition": partition}, began, ended, 1.0, True, None)

    rows = [
        alarm(BY_MESSAGES, "0", 0, 10),
        alarm(BY_MESSAGES, "0", 100, 110),
        alarm(BY_MESSAGES, "1", 0, 10),
        alarm(BY_MESSAGES, "2", 500, None),
        alarm(BY_MESSAGES, "3", 0, 10, what_if=True),
        alarm(BY_TIME, "0", 5, 20),
        alarm(BY_TIME, "2", 0, None),
    ]
    assert alarms.missed_by_time(spark.createDataFrame(rows, SCHEMAS["alarms"])) == (4, 2)


def test_alarm_that_still_fires_lasted_until_the_last_poll(spark: SparkSession) -> None:
    rows: list[tuple[Any, ...]] = [
        ("c", "stuck", None, False, {}, BEGIN, None, 7200.0, True, None),
        ("c", "late", None, False, {}, BEGIN, BEGIN + dt.timedelta(seconds=300), 300.0, True, None),
    ]
    read, left_out = alarms.alarms_of(spark.createDataFrame(rows, SCHEMAS["alarms"]))
    assert ([(each.rule, each.ended - each.began) for each in read], left_out) == ([("stuck", 7200), ("late", 300)], 0)


def test_rules_of_all_clusters_are_summed(spark: SparkSession) -> None:
    columns = ("out_of_sync_by_time", None, False, "s", 0.0)
    rows = [("a", *columns, 4, 1, 8.0, 3, 1, 5, 2, 7.0), ("b", *columns, 6, 2, 9.0, 6, 0, 5, 0, 3.0)]
    [rule] = alarms.rules_of(spark.createDataFrame(rows, SCHEMAS["rules"]))
    assert (rule.alarms, rule.precision, rule.recall) == (10, 0.9, 0.8)
    assert (rule.short, rule.alarm_seconds, rule.delay_seconds) == (3, 17.0, None)
    unknown = [*rows, ("c", *columns, 1, 0, 1.0, None, None, None, None, None)]
    [rule] = alarms.rules_of(spark.createDataFrame(unknown, SCHEMAS["rules"]))
    assert (rule.alarms, rule.precision, rule.recall) == (11, None, None)


def test_every_state_that_is_not_in_sync_has_a_colour() -> None:
    """A state that is new to the sidecar must not be lost in the report."""
    assert set(STATES) == set(ReplicaState) - {ReplicaState.IN_SYNC}
