"""The status page as HTML: the numbers of the API and of `/metrics`, escaped, in parts, with every state explained."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_warden.exposition import Page
from kafka_warden.formatting import visible
from kafka_warden.rules.thresholds import thresholds
from kafka_warden.views import Views
from kafka_warden.views.alerts import MARKS, NOT_AVAILABLE, source_state
from kafka_warden.views.conditions import FILLING_ABOVE, FULL_ABOVE, NEAR_LIMIT, noted
from kafka_warden.views.problems import problems
from kafka_warden.views.rows import LogDir, SourceRow, Table
from kafka_warden.web.status import render
from kafka_warden.web.status.render import status
from tests.building import known
from tests.support import status_rows
from tests.support.asking import views_of
from tests.support.page_numbers import Tags
from tests.web.conftest import Served

EVIL = "x\"'><script>alert(1)</script>\u202e\x1b[31m{{7*7}}&amp;"


def text_of(views: Views, query: bytes = b"") -> str:
    answer = status(views, query, "1.2")
    assert answer.status == 200
    return answer.body.decode()


def test_hostile_names_are_text() -> None:
    """Names of topics, users, clients and directories become no markup, and control characters are visible."""
    page = text_of(views_of(status_rows.hostile(EVIL, "\ud800")))

    assert page.count("<script") == 1
    assert "alert(1)&lt;/script&gt;" in page
    assert "\\x1b[31m" in page
    assert "\\u202e" in page
    assert "{{7*7}}" in page
    assert not set(page) & {"\x1b", "\u202e", "\ud800"}
    tags = Tags(page).tags
    assert not any(name.startswith("on") or name == "style" for _, attrs in tags for name in attrs)


@pytest.mark.parametrize(
    "make", [status_rows.troubled, status_rows.quiet, status_rows.blind], ids=lambda each: each.__name__
)
def test_page_is_well_formed_and_can_be_read_aloud(make: Callable[[], Page]) -> None:
    tags = Tags(text_of(views_of(make()))).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in tags if tag == "a"]
    assert {link.partition("#")[2] for link in links if link.startswith(("#", "?")) and "#" in link} <= set(ids)
    assert not [link for link in links if link.startswith("/")], "a prefix of a proxy would be lost"
    for tag, attrs in tags:
        if tag in ("svg", "progress", "table") or attrs.get("tabindex") == "0":
            assert attrs.get("aria-label") or attrs.get("aria-labelledby"), (tag, attrs)


def test_a_row_with_something_wrong_says_so_in_words() -> None:
    text = text_of(views_of(status_rows.troubled()))
    rows = re.findall(r'<tr role="row"[^>]*class="(\w+)"[^>]*>(.*?)</tr>', text, re.DOTALL)
    assert len(rows) > 10
    for severity, row in rows:
        assert re.search(rf'<strong class="{severity}">{MARKS[severity]} \w', row), row


def test_three_thousand_moves_are_served_in_parts() -> None:
    views = views_of(status_rows.moving())
    seen: list[str] = []
    for number in range(1, 151):
        text = text_of(views, f"moves={number}".encode())
        rows = re.findall(r'data-row="([^"]*/\d+/\d+)"', text)
        assert len(rows) == render.ROWS
        assert len(text) < 150_000
        seen += rows
    assert len(set(seen)) == len(seen) == status_rows.MANY
    assert 'href="?moves=2#moves-table"' in text_of(views)
    assert 'rel="next"' not in _section(text_of(views, b"moves=150"), "moves")
    assert re.findall(r'data-row="([^"]*/\d+/\d+)"', text_of(views, b"moves=9999")) == seen[-render.ROWS :]


def test_filters_choose_rows_and_stay_in_the_links() -> None:
    views = views_of(status_rows.moving(400))
    text = text_of(views, b"topic=placed&broker=5")
    rows = re.findall(r'data-row="([^"]*)/\d+/(\d+)"', text)

    assert set(rows) == {("orders.placed", "5")}
    assert 'href="?topic=placed&amp;broker=5&amp;moves=2#moves-table"' in text
    assert 'value="placed"' in text
    assert "Nothing matches the filter" in text_of(views, b"topic=%3Cnothing%3E")
    assert "<nothing>" not in text_of(views, b"topic=%3Cnothing%3E")


@pytest.mark.parametrize(
    "query", [b"moves=x", b"moves=-1", b"moves=" + b"9" * 50, b"a" * 3000, b"&".join(b"a=1" for _ in range(50))]
)
def test_a_query_that_cannot_be_answered_is_a_400(query: bytes) -> None:
    answer = status(views_of(status_rows.quiet()), query, "1")

    assert answer.status == 400
    assert b"999999" not in answer.body


def test_empty_states_say_what_would_appear() -> None:
    text = text_of(views_of(status_rows.quiet()))

    assert "Nothing needs a look" in text
    for sentence in (
        "Stuck moves, throttles",
        "No reassignment is in progress",
        "No throttle is set",
        "No replica is out of sync",
        "No topic is known to have remote storage",
    ):
        assert sentence in text


def test_empty_states_claim_no_more_than_is_known() -> None:
    """Replicas that 3,000 moves add are not out of sync; without configurations limits are unknown."""
    assert "No replica is out of sync." in text_of(views_of(status_rows.moving()))
    views = views_of(status_rows.quiet())
    unknown = replace(known(views.cluster), throttles_known=False)
    assert "throttles are not known" in text_of(replace(views, cluster=unknown))


def test_problems_of_one_kind_have_different_ids() -> None:
    views = views_of(status_rows.troubled())
    problem = views.tables["problems"].rows[0]
    tags = Tags(text_of(replace(views, tables={**views.tables, "problems": Table((problem, problem), 2)}))).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_rows_are_rated_by_the_thresholds_of_the_alerts() -> None:
    names = ("disk_full", "disk_critical", "limit_near")
    assert [float(thresholds()[name].value) for name in names] == [FILLING_ABOVE, FULL_ABOVE, NEAR_LIMIT]


def test_a_volume_that_is_nearly_full_and_series_that_are_left_out_are_problems() -> None:
    views = views_of(status_rows.quiet())
    dirs = tuple(LogDir(1, f"/{left}", 1.0, 5.0, left, 100.0, 0.0) for left in (2.0, 9.0, 11.0))
    sidecar = replace(views.sidecar, dropped_series={"replica_lag_messages": 1200})
    views = replace(views, tables={**views.tables, "log-dirs": Table(dirs, 3)}, sidecar=sidecar)
    assert [(problem.kind, problem.sentence) for problem in problems(views)] == [
        ("log_dir_full", "Log directories more than 97% full: /2.0 of broker 1."),
        ("log_dir_filling", "Log directories more than 90% full: /9.0 of broker 1."),
        ("series_dropped", "Series left out of /metrics because of limits.series: 1,200."),
    ]
    assert [noted(each).severity for each in dirs] == ["critical", "warning", None]


def test_a_cluster_that_cannot_be_reached_may_be_another_one_by_now() -> None:
    views = views_of(status_rows.quiet())
    lost = SourceRow("metadata", "", 0.0, None, 0.1, None, {"refused": 2, "other_cluster": 3})
    tables = {**views.tables, "sources": Table((lost,), 1)}
    views = replace(views, sidecar=replace(views.sidecar, cluster_reachable=0.0), tables=tables)
    (sentence,) = (each.sentence for each in problems(views) if each.kind == "cluster_unreachable")
    assert " Another cluster has answered instead in 3 polls, and is not used: the log names both." in sentence


def test_without_a_fresh_snapshot_the_page_says_so() -> None:
    """The last time is shown, and the cluster's sections are left out: old numbers would look like present ones."""
    text = text_of(views_of(status_rows.blind()))

    assert "No fresh data." in text
    assert '<time datetime="2023-11-14T22:14:50Z">' in text
    assert 'id="moves"' not in text
    assert "not answered" in text


def test_sources_that_are_not_available_show_why() -> None:
    views = views_of(status_rows.troubled())
    page = text_of(views)
    states = [source_state(row.up, row.not_available) for row in views.tables["sources"].rows]
    assert states[:6] == [*["not answered"] * 2, *sorted(NOT_AVAILABLE.values(), key=states.index)]
    assert all(page.count(words) == 1 for words in NOT_AVAILABLE.values())
    problem = next(row for row in views.tables["problems"].rows if row.kind == "sources_down")
    assert "log_dirs" not in problem.sentence


def test_invisible_characters_become_visible() -> None:
    assert visible("a\x00b\u200bc\u202ed\ud800é日本") == "a\\x00b\\u200bc\\u202ed\\ud800é日本"


def test_the_page_is_served_with_its_policy_and_assets(served: Served) -> None:
    """Assets have their hash in the name and may be kept; nothing else may."""
    answer = served.get("/", "Accept-Encoding: gzip")
    assert answer.headers["content-encoding"] == "gzip"
    answer = served.get("/")

    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-store"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert b"kafka-warden 1.2&lt;3&gt;" in answer.body
    for link in re.findall(r'(?:href|src)="(assets/[^"]+)"', answer.body.decode()):
        asset = served.get(f"/{link}")
        assert asset.status == 200
        assert "immutable" in asset.headers["cache-control"]
        assert re.search(r"\.[0-9a-f]{12}\.(css|mjs|svg)$", link)
    assert served.get("/assets/status.css").status == 404
    assert served.get("/assets/../page.py").status == 404


def _section(page: str, name: str) -> str:
    return known(re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL))[0]
