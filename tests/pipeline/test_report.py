"""The report: what it answers from marts, what it says of missing ones, and where its pages are."""

import math
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.errors import ConfigError, StoreError
from kafka_warden.formatting import in_words
from kafka_warden.pipeline.report import (
    INDEX,
    JOB,
    MART_OF,
    MOST_DRAWN,
    SECTIONS,
    SERIES,
    Answer,
    Find,
    Options,
    Reader,
    build,
    file_of,
    in_instant,
    marts_of,
    save,
)
from kafka_warden.pipeline.report_plots import Plot, draw
from kafka_warden.pipeline.store import Store, of_mart
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME
from tests.pipeline.on_s3 import STORE, make
from tests.pipeline.report_rows import BEGIN, CLUSTERS, EVIL, TOPIC, Row, at, frame, marts
from tests.pipeline.stored import options, request
from tests.pipeline.written import write_table
from tests.support.s3 import BUCKET, backend, serving

Marts = Mapping[str, DataFrame]
OF = {section.name: section for section in SECTIONS}


@pytest.fixture(scope="module")
def made(spark: SparkSession) -> Marts:
    return marts(spark)


@pytest.fixture(scope="module")
def pages(made: Marts) -> Mapping[str, str]:
    return _pages(made.get)


def _pages(find: Find) -> Mapping[str, str]:
    return dict(build(find, Options(f"Fleet {EVIL}", 4), EVIL))


def _answer(find: Find, name: str, cluster_id: str = EVIL) -> Answer:
    with ExitStack() as stack:
        return Reader(find, cluster_id, 4, stack).answer(OF[name])


def _of(spark: SparkSession, **rows: list[Row]) -> Find:
    """Marts of the cluster `c`."""
    return {name: frame(spark, name, [{"cluster_id": "c", **row} for row in given]) for name, given in rows.items()}.get


def test_index_has_a_row_and_a_link_for_each_cluster(pages: Mapping[str, str]) -> None:
    assert list(pages) == [*map(file_of, CLUSTERS), INDEX]
    index = pages[INDEX]
    for cluster in CLUSTERS:
        page = pages[file_of(cluster)]
        row = index.partition(f'href="{quote(file_of(cluster))}"')[2].partition("</tr>")[0]
        findings = re.findall('class="finding">(.*?)</p>', page)
        brief = [text for text, section in zip(findings, SECTIONS, strict=True) if section.brief]
        assert re.findall('<td class="name">(.*?)</td>', row) == brief
        assert ">2026-03-02</td>" in row
        assert f'href="{INDEX}"' in page
    assert index.count("20 moves: ") == 2
    assert "<svg" not in index


def test_report_answers_its_questions(pages: Mapping[str, str]) -> None:
    page = pages[file_of(EVIL)]
    for sentence in (
        "20 moves: 4 cancelled, 12 completed, 4 running.",
        "2 reassignments, 1 of them running. Half of those that ended took 120% of the planned time or less.",
        "raised 131 alarms, 122 of them false, and missed 2; the rule by time raised 11 alarms, 0 of them false, and",
        "3 of 3 things that grow reach their limit by the end of the horizon. The first: partitions of the cluster,",
        "in 12 d, on 2026-03-16 (2026-03-13 14:24:00 to 2026-03-19 14:24:00).",
        "2026-03-02 to 2026-03-05, 3 d",
        "146 alarms.",
    ):
        assert sentence in page, re.findall('class="finding">(.*?)</p>', page)
    assert 'class="missing"' not in page
    assert len(re.findall("<svg", page)) == 10 + 4 + 3
    assert (EVIL in page, TOPIC in page, page.count("<script>")) == (False, False, 1)
    # Titles explain themselves by the description of the mart.
    assert 'title="growth of its log, including bytes produced meanwhile"' in page


def test_same_marts_make_the_same_page(pages: Mapping[str, str], made: Marts) -> None:
    assert _pages(made.get) == pages


def test_missing_marts_are_named_with_what_makes_them(made: Marts) -> None:
    [page] = _pages(lambda _: None).values()
    for mart, job in (("moves", "moves"), ("replica_hour", "rollup"), ("rules", "backtest"), ("forecasts", "forecast")):
        assert f"There is no mart {mart} in this folder." in page
        assert f"kafka-warden pipeline {job} --store" in page
    # One mart is enough for a page.
    pages = _pages({"forecasts": made["forecasts"]}.get)
    assert list(pages) == [*map(file_of, CLUSTERS), INDEX]


@pytest.mark.parametrize(("name", "lacking"), [("moves", "move_samples"), ("limits", "forecast_paths")])
def test_one_missing_mart_takes_nothing_else_away(made: Marts, name: str, lacking: str) -> None:
    answer = _answer({**made, lacking: None}.get, name)
    assert answer.missing == [lacking]
    assert answer.rows
    assert len(answer.plots) == len(OF[name].plots) - 1


def test_empty_marts_are_answers(spark: SparkSession) -> None:
    [page] = _pages(lambda name: frame(spark, name, [])).values()
    for section in SECTIONS:
        outside = "outside" in marts_of(section.query)
        assert ("This history has no poll." if outside else section.empty) in page
    assert "There is no mart" not in page


def test_a_thousand_moves_stay_small_and_more_are_counted(spark: SparkSession) -> None:
    many = frame(spark, "moves", [{"cluster_id": "c", "topic": "t", "partition": n, "broker": 1, "kind": "log_dir",
        "began": at(n), "seconds": float(n), "outcome": "completed"} for n in range(1600)])  # fmt: skip
    page, _ = _pages({"moves": many}.get).values()
    assert "100 more are left out: at most 1,500 are listed and drawn." in page
    # The shortest are left out.
    assert (page.count("<tr>"), ">t-1599 " in page, ">t-99 " in page) == (1501, True, False)
    assert len(page) < 3_000_000


def test_replica_time_is_counted_by_polls_and_unknown_outside_the_isr_only(spark: SparkSession) -> None:
    states = (
        ({"slow": 50, "in_sync": 50}, 50),
        ({"stuck": 100}, 100),
        ({"unknown": 30, "in_sync": 70}, 0),
        ({"unknown": 30, "slow": 50, "in_sync": 20}, 60),
        ({"moving": 100}, 80),
    )
    replicas = [{"start": BEGIN, "topic": "t", "states": found, "out_of_sync_samples": out} for found, out in states]
    find = _of(spark, cluster_hour=[{"start": BEGIN, "polls": 100}], replica_hour=replicas)
    seconds = {"moving": 3600.0, "slow": 3600.0, "stuck": 3600.0, "unknown": 360.0}
    answer = _answer(find, "replication", "c")
    assert {row["state"]: row["seconds"] for row in answer.rows} == seconds
    assert {row["state"]: row["most"] for row in answer.rows} == {state: each / 3600 for state, each in seconds.items()}
    [topic] = _answer(find, "topics", "c").rows
    assert (topic["topic"], topic["states"]) == ("t", seconds)


def test_alarm_by_messages_meets_one_by_time(spark: SparkSession) -> None:
    def alarm(rule: str, partition: str, begin: int, end: int | None, what_if: bool = False) -> Row:
        times = {"began": at(begin), "ended": None if end is None else at(end), "seconds": 600.0}
        return {"rule": rule, "what_if": what_if, "subject": {"partition": partition}, **times, "would_fire": True}

    by_messages = (("0", 0, 10), ("0", 100, 110), ("1", 0, 10), ("2", 500, None), ("3", 0, 10, True))
    by_time = (("0", 5, 20), ("2", 0, None))
    rows = [*(alarm(BY_MESSAGES, *each) for each in by_messages), *(alarm(BY_TIME, *each) for each in by_time)]
    answer = _answer(_of(spark, alarms=rows), "alarms", "c")
    assert answer.sentence == (
        "6 alarms. The rule that counts messages raised 4 of them; during 2 of these the rule by time raised none for"
        " that replica."
    )
    # One that still fires has lasted until the last poll.
    assert {row["until"] - row["began"] for row in answer.rows} == {600.0}


def test_without_truth_faults_are_unknown(spark: SparkSession) -> None:
    rule = {"what_if": False, "alarms": 3, "short": 1, "alarm_seconds": 9.0, "for_seconds": 0.0}
    answer = _answer(_of(spark, rules=[{**rule, "rule": BY_MESSAGES}, {**rule, "rule": BY_TIME}]), "rules", "c")
    assert answer.sentence == "2 rules tried, 2 of them raised alarms. The faults of this history are unknown."
    [(_, [drawn])] = answer.plots
    assert drawn.paths[0][0].tip == f"{in_words(BY_MESSAGES)}: faults unknown 3"


def test_every_series_and_state_has_a_colour_and_a_meaning() -> None:
    """A state that is new to the sidecar must not be lost in the report."""
    states = set(ReplicaState) - {ReplicaState.IN_SYNC}
    marks = [mark for section in SECTIONS for plot in section.plots for mark in plot.marks]
    assert {*map(in_words, states), *(mark["series"] for mark in marks if "series" in mark)} <= SERIES.keys()
    assert all(f"WHEN '{state}'" in OF["replication"].query for state in states)


def test_a_gap_in_a_line_stays_a_gap_and_days_have_no_clock() -> None:
    assert [*map(in_instant, (0.0, 60.0, 1e15))] == ["1970-01-01", "1970-01-01 00:01:00", "after the year 9999"]
    plot = Plot("", "lines", [{"series": "rate", "x": "at", "y": "rate"}])
    values = (5.0, None, math.inf, 2.0, 3.0)
    rows = [{"at": 60.0 * place, "rate": rate} for place, rate in enumerate(values)]
    [drawn] = draw(plot, rows, {"rate": "blue"})
    assert [[x for x, _ in shape.places] for shape, _ in drawn.paths] == [[0.0], [180.0, 240.0]]
    assert [text for _, text in drawn.across] == ["01-01", "00:01", "00:02", "00:03", "00:04"]
    assert draw(plot, rows[1:3], {}) == []


def test_pages_are_made_beside_the_marts(spark: SparkSession, made: Marts, tmp_path: Path) -> None:
    folder = tmp_path / "a store"
    with pytest.raises(StoreError, match="no store; first run kafka-warden pipeline ingest"):
        JOB.run(request(spark, folder, Options()))
    store = Store(spark, folder)
    store.create()
    JOB.run(request(spark, folder, Options()))
    assert f"kafka-warden pipeline moves --store &#39;{folder}&#39;" in (folder / INDEX).read_text()
    for name, rows in made.items():
        write_table(store, of_mart(MART_OF[name]), rows.toArrow())
    JOB.run(request(spark, folder, Options(made="2026-03-05")))
    page = (folder / file_of(CLUSTERS[1])).read_text()
    assert "2026-03-05</dd>" in page
    assert ": shop-eu</h1>" in page
    assert f"<dd>{CLUSTERS[1]}</dd>" in page
    assert page.count("<section") == len(SECTIONS)
    assert {place.name for place in folder.glob("*.html")} == {INDEX, *map(file_of, CLUSTERS)}
    assert ">shop-eu</a>" in (folder / INDEX).read_text()


@pytest.mark.parametrize("cluster", ["x" * 300, "ж" * 50, "%" * 86, "../../a b", "q3Vb5hX2Tz6nYw0fKpLmRg"])
def test_page_of_every_cluster_id_can_be_written(tmp_path: Path, cluster: str) -> None:
    others = {cluster, f"{cluster}y", f"{cluster}z", file_of(cluster).removeprefix("report-").removesuffix(".html")}
    for each in others:
        save(each, tmp_path, file_of(each))
    assert {(tmp_path / file_of(each)).read_text() for each in others} == others


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_page_is_replaced_as_a_whole(tmp_path: Path, scheme: str) -> None:
    for text in ("first, which is longer", "second ü"):
        assert save(text, f"{scheme}{tmp_path}/new folder", INDEX) == str(tmp_path / "new folder" / INDEX)
    assert [place.name for place in (tmp_path / "new folder").iterdir()] == [INDEX]
    assert (tmp_path / "new folder" / INDEX).read_text(encoding="utf-8") == "second ü"
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/report\.html: cannot be written: .*check the folder"):
        save("page", tmp_path / "file", INDEX)


def test_page_in_a_bucket_has_the_type_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as bucket:
        make(bucket)
        for name, value in bucket.environment().items():
            monkeypatch.setenv(name, value)
        assert save("page", STORE, INDEX) == f"{STORE}/{INDEX}"
        page = backend().buckets[BUCKET].keys[f"store/{INDEX}"]
        assert (page.value, page.metadata["content-type"]) == (b"page", "text/html; charset=utf-8")


def test_flags_become_options() -> None:
    assert options(JOB) == Options()
    given = ("--title", "T", "--moves", "3", "--made", "2026-11-30")
    assert options(JOB, *given) == Options("T", 3, "2026-11-30")
    for wrong in ("-1", "x", str(MOST_DRAWN + 1)):
        with pytest.raises(ConfigError, match="--moves: expected"):
            options(JOB, f"--moves={wrong}")
