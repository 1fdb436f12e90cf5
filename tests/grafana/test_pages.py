"""The dashboards as people see them: current, complete, readable at 1280 pixels, and linked to what helps."""

import itertools
import json
import re
from collections import Counter
from typing import Any, Final

import pytest

from docs.uses import all_panels, all_rules
from grafana.boards import BOARDS
from grafana.build import render
from grafana.kit.links import TAG
from grafana.quiet import ZERO_BY_NATURE
from sandbox.demo_boards import opened
from tests.support.dashboards import FILES, load, panels, targets
from tests.support.rules import alerting_rules

RUNBOOKS: Final = {rule["alert"] for rule in alerting_rules()}

COLUMNS: Final = 24
LEAST_WIDTH: Final = 6
INFINITE: Final = """
reassignment_eta_seconds reassignment_total_eta_seconds reassignment_predicted_seconds
reassignment_predicted_bottleneck_seconds log_dir_move_eta_seconds
replication_throttle_bytes_per_second replication_throttle_headroom_bytes_per_second
controller_mutation_tokens controller_mutation_quota_per_second controller_mutation_burst_tokens
remote_copy_quota_bytes_per_second remote_fetch_quota_bytes_per_second
broker_partition_limit broker_partition_headroom cluster_partition_limit cluster_partition_headroom
"""
"""Metrics that may be +Inf."""
SHOWN_OTHERWISE: Final = {
    "broker_fenced_responding",  # the state of the broker
    "unknown_min_isr_partitions",  # alerts: KafkaWardenBlind
    "poll_interval_seconds",  # the age of the snapshot
    "source_not_available",  # panels without data
    "dropped_verdicts",  # series left out, by family
    "sink_last_success_timestamp_seconds",  # whether history is written
    "certificate_lifetime_seconds",  # the time that is left of it
    "broker_leader_candidate_partitions",  # partitions without a leader
    "broker_replicas",  # the state of the broker
    "process_start_time_seconds",  # a mark on the time axis
}

PAGES: Final = {file.name: load(file) for file in FILES}
UIDS: Final = [page["uid"] for page in PAGES.values()]
each_page = pytest.mark.parametrize("page", [pytest.param(page, id=page["uid"]) for page in PAGES.values()])
PANELS: Final = {f"{page['uid']}: {panel['title']}": panel for page in PAGES.values() for panel in panels(page)}
each_panel = pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS)
TABLES: Final = {name: panel for name, panel in PANELS.items() if panel["type"] == "table"}
LINKED: Final = {name: panel for name, panel in PANELS.items() if panel.get("links")}
CHOICE: Final = re.compile(r" and on \([\w, ]+\) (?:topk|bottomk)\(")
"""Where an expression goes on with which of its series are shown."""
INFINITE_TARGETS: Final = [
    pytest.param(panel, target, metric, id=f"{name}: {target['refId']}: {metric}")
    for name, panel in PANELS.items()
    for target in panel["targets"]
    for metric in INFINITE.split()
    if f"kafka_warden_{metric}{{" in CHOICE.split(target["expr"])[0]
    and not re.search(rf"count.*{metric}\{{", target["expr"])
]
"""Panel, query and metric, of numbers and lines that may be infinite: a count is finite."""


def test_dashboards_are_current() -> None:
    assert {file.name: file.read_text() for file in FILES} == render(), "run make dashboards"


def test_runbooks_may_be_elsewhere() -> None:
    for name, elsewhere in render("https://wiki.example").items():
        assert elsewhere.replace("https://wiki.example/", "/public/") == render()[name]


def test_identities_are_unique() -> None:
    assert [f"{page['uid']}.json" for page in PAGES.values()] == list(PAGES)
    assert max(Counter([*UIDS, *(page["title"] for page in PAGES.values())]).values()) == 1
    assert all(page["uid"].startswith("kafka-warden-") and len(page["uid"]) <= 40 for page in PAGES.values())


@each_page
def test_dashboard_says_what_it_answers(page: dict[str, Any]) -> None:
    assert re.fullmatch(r"[A-Z][^?]+\?", page["description"])
    assert page["tags"][0] == TAG
    (link,) = page["links"]
    assert (link["type"], link["tags"], link["keepTime"], link["includeVars"]) == ("dashboards", [TAG], True, True)
    assert "id" not in page  # it belongs to one Grafana


@each_page
def test_panels_have_identities(page: dict[str, Any]) -> None:
    ids = [panel["id"] for panel in opened(page)]
    titles = [panel["title"] for panel in opened(page)]
    assert len(set(ids)) == len(ids)
    assert [title for title, times in Counter(titles).items() if times > 1] == []


@each_page
def test_layout(page: dict[str, Any]) -> None:
    taken: Counter[tuple[int, int]] = Counter()
    for panel in opened(page):
        at = panel["gridPos"]
        taken.update(itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])))
        if panel["type"] != "row":
            assert at["w"] >= LEAST_WIDTH, panel["title"]
            assert 4 <= at["h"] <= 12, panel["title"]
    height = 1 + max(row for _, row in taken)
    assert taken == Counter(itertools.product(range(COLUMNS), range(height)))


@pytest.mark.parametrize(("name", "most"), [("cluster", 12), ("capacity", 12), ("sidecar", 8)])
def test_overviews_stay_short(name: str, most: int) -> None:
    assert len(panels(PAGES[f"kafka-warden-{name}.json"])) <= most


@each_page
def test_only_the_first_heading_is_open(page: dict[str, Any]) -> None:
    first, *others = [panel for panel in page["panels"] if panel["type"] == "row"]
    assert not first.get("panels")
    assert all(row["collapsed"] and row["panels"] for row in others)
    assert [panel["gridPos"]["y"] for panel in page["panels"][len(page["panels"]) - len(others) :]] == [
        max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in page["panels"][: -len(others)]) + number
        for number in range(len(others))
    ]
    assert page["refresh"] == "1m"


@each_panel
def test_panel_is_complete(panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["fieldConfig"]["defaults"]["noValue"]
    assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    source = {"type": "prometheus", "uid": "${datasource}"}
    assert all(holder["datasource"] == source for holder in (panel, *panel["targets"]))
    refs = [target["refId"] for target in panel["targets"]]
    assert refs == sorted(set(refs))


@pytest.mark.parametrize("panel", TABLES.values(), ids=TABLES)
def test_table_is_narrow(panel: dict[str, Any]) -> None:
    titles = list(organized(panel)["renameByName"].values())
    overridden = [override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]]
    assert len(set(titles)) == len(titles)
    assert overridden[0] == ".+"  # empty cells, before the settings of single columns
    assert set(overridden[1:]) <= set(titles)
    assert panel["gridPos"]["w"] / len(titles) >= 2  # some 100 pixels each
    assert panel["options"]["sortBy"][0]["displayName"] in titles


@pytest.mark.parametrize("panel", TABLES.values(), ids=TABLES)
def test_table_has_pages(panel: dict[str, Any]) -> None:
    assert panel["options"]["footer"]["enablePagination"]


def organized(panel: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = panel["transformations"][-1]["options"]
    return options


@pytest.mark.parametrize(("panel", "target", "metric"), INFINITE_TARGETS)
def test_infinity_is_shown_sensibly(panel: dict[str, Any], target: dict[str, Any], metric: str) -> None:
    if not re.search(rf"{metric}\{{[^}}]*\}}\) < Inf", target["expr"]):
        assert panel["type"] != "timeseries"
        assert "Infinity" in mapped(panel, target["refId"])


def mapped(panel: dict[str, Any], ref_id: str) -> dict[str, Any]:
    """Values with a word of their own, of one query of a panel."""
    mappings = panel["fieldConfig"]["defaults"].get("mappings", [])
    if panel["type"] == "table":
        titles = organized(panel)["renameByName"]
        title = titles.get(f"Value #{ref_id}") or titles["Value"]
        (override,) = [one for one in panel["fieldConfig"]["overrides"] if one["matcher"]["options"] == title]
        mappings = next((part["value"] for part in override["properties"] if part["id"] == "mappings"), [])
    return {value: word for mapping in mappings for value, word in mapping["options"].items()}


@pytest.mark.parametrize("panel", LINKED.values(), ids=LINKED)
def test_links_lead_somewhere(panel: dict[str, Any]) -> None:
    for link in panel["links"]:
        to_runbook = re.fullmatch(r"\$\{base\}alerts/runbooks/(\w+)\.md", link["url"])
        to_board = re.fullmatch(r"/d/([\w-]+)\?(.*)", link["url"])
        if to_runbook:
            assert to_runbook[1] in RUNBOOKS
            assert link["title"] == f"Runbook {to_runbook[1]}"
        else:
            assert to_board
            assert to_board[1] in UIDS
            assert to_board[2] == "${datasource:queryparam}&${cluster:queryparam}&${__url_time_range}"


CELL_LINKS: Final = [
    pytest.param(link["url"], organized(panel)["renameByName"], id=f"{name}: {override['matcher']['options']}")
    for name, panel in TABLES.items()
    for override in panel["fieldConfig"]["overrides"]
    for part in override["properties"]
    if part["id"] == "links"
    for link in part["value"]
]


@pytest.mark.parametrize(("url", "titles"), CELL_LINKS)
def test_cells_lead_to_what_their_row_names(url: str, titles: dict[str, str]) -> None:
    runbook = re.fullmatch(r"\$\{base\}alerts/runbooks/\$\{__data\.fields\.(\w+)\}\.md", url)
    if runbook:
        assert titles["alertname"] == runbook[1]
        return
    found = re.fullmatch(
        r"/d/([\w-]+)\?\$\{datasource:queryparam\}&var-cluster=\$\{__data\.fields\.(\w+)\}&\$\{__url_time_range\}", url
    )
    assert found
    assert found[1] in UIDS
    assert titles["cluster"] == found[2]


def test_every_cell_of_the_fleet_leads_on() -> None:
    for panel in TABLES.values():
        titles = set(organized(panel)["renameByName"].values())
        if "Cluster" in titles:
            overrides = panel["fieldConfig"]["overrides"]
            linked = {one["matcher"]["options"] for one in overrides if "links" in {p["id"] for p in one["properties"]}}
            assert linked == titles


def test_every_alert_is_linked() -> None:
    linked = set(re.findall(r"alerts/runbooks/(\w+)\.md", json.dumps(list(PAGES.values()))))
    assert linked == RUNBOOKS


def test_what_alerts_read_is_shown() -> None:
    shown = frozenset[str]().union(*(panel.metrics for panel in all_panels()))
    read = frozenset[str]().union(*(rule.metrics for rule in all_rules()))
    assert {name.removeprefix("kafka_warden_") for name in read - shown} == SHOWN_OTHERWISE


@each_page
def test_variables_are_those_that_are_used(page: dict[str, Any]) -> None:
    names = [variable["name"] for variable in page["templating"]["list"]]
    used = set(re.findall(r"\$\{?([a-z]+)\b", json.dumps([page["panels"], page["annotations"]])))
    assert names[:3] == ["datasource", "base", "cluster"]
    assert set(names) == used
    for variable in page["templating"]["list"][2 if '=~\\"$cluster' in json.dumps(page) else 3 :]:
        assert (variable["multi"], variable["includeAll"], variable["allValue"]) == (True, True, ".*")
        assert variable["current"]["value"] == ["$__all"]


@each_page
def test_alerts_and_moves_are_annotated(page: dict[str, Any]) -> None:
    expected = {
        "Critical alerts": "{{alertname}} {{cluster}}",
        "Exporter restarted": "Exporter restarted {{cluster}}",
        "Moves started": "Moves started",
        "All moves ended": "All moves ended",
    }
    if page["uid"] == "kafka-warden-fleet":
        expected = dict(list(expected.items())[:2])
    marks = page["annotations"]["list"]
    assert {mark["name"]: mark["titleFormat"] for mark in marks if mark["enable"]} == expected


def test_what_is_zero_by_nature_exists() -> None:
    queries = {target.key for target in targets()}
    shown = {(board, panel) for board, panel, _ in queries}
    for quiet in ZERO_BY_NATURE:
        place = (quiet.board, quiet.panel)
        assert (*place, quiet.legend) in queries if quiet.legend else place in shown, quiet
        assert quiet.reason
    assert {quiet.board for quiet in ZERO_BY_NATURE} <= {board.name for board in BOARDS}
