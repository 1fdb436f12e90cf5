"""The queries of the dashboards: they parse, name only what is served, and no second sidecar changes a number."""

import re
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

import pytest

from kafka_warden.catalogue.replication import QUANTILES
from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblem
from kafka_warden.derive.tiered import Problem as TieredProblem
from kafka_warden.model import BrokerState, Side
from tests.support.dashboards import Target, targets
from tests.support.rules import LABEL_LIST, MATCHER, METRIC, SERVED, TARGET_LABELS, check_queries

AGGREGATION: Final = re.compile(r"\b(?:max|min|sum|count)(?: by \(([^)]*)\))? \(")
OF_ALERTS: Final = {"alertname", "severity", "broker"}
THOUSANDS: Final = {"topic", "partition", "user", "client_id"}
"""Labels with thousands of values."""
VALUES: Final[dict[tuple[str, str], AbstractSet[str]]] = {
    ("broker_state", "state"): set(BrokerState),
    ("replica_state", "state"): set(ReplicaState),
    ("broker_out_of_sync_replicas", "state"): set(ReplicaState),
    ("replication_throttle_bytes_per_second", "side"): set(Side),
    ("replication_throttle_headroom_bytes_per_second", "side"): {Side.LEADER, Side.FOLLOWER},
    ("broker_catch_up_bytes_per_second", "side"): {Side.LEADER, Side.FOLLOWER},
    ("replication_throttle_problem_seconds", "problem"): set(ThrottleProblem),
    ("tiered_storage_problem_seconds", "problem"): set(TieredProblem),
    ("reassignment_replicas", "change"): {"adding", "removing"},
    ("controller_event_queue_seconds", "quantile"): set(QUANTILES.values()),
}
"""Metric and label to the values that the code knows."""


def metrics(expr: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Name without the prefix, and its matchers (label, operator, value), of every selector."""
    return [(name, MATCHER.findall(matchers)) for name, matchers in METRIC.findall(expr)]


def label_lists(expr: str) -> list[tuple[str, list[str]]]:
    """Keyword and labels of every list of labels, from the left."""
    return [(word, re.findall(r"\w+", labels)) for word, labels in LABEL_LIST.findall(expr)]


def outermost(expr: str) -> list[str]:
    """Labels of the result of an expression that begins with an aggregation, except topk, which keeps them."""
    first = AGGREGATION.search(expr)
    return re.findall(r"\w+", first[1] or "") if first else []


FILTER: Final = r"\band on \([\w, ]+\) last_over_time\($"
"""What comes after it chooses series, and adds nothing to their values."""
CHOICE: Final = re.compile(r"\b(?:topk|bottomk)\(")
TARGETS: Final = targets()
every = pytest.mark.parametrize("target", TARGETS, ids=str)
GROUPED: Final = [target for target in TARGETS if label_lists(target.expr)]
LEGENDS: Final = [target for target in TARGETS if target.kind in {"timeseries", "state-timeline", "bargauge"}]


def test_queries_parse(tmp_path: Path) -> None:
    assert len(TARGETS) > 100
    check_queries([target.filled() for target in TARGETS], tmp_path)


@every
def test_query_names_only_what_is_served(target: Target) -> None:
    found = metrics(target.expr)
    assert found or "ALERTS{" in target.expr
    for name, matchers in found:
        assert name in SERVED
        assert {label for label, _, _ in matchers} <= SERVED[name] | TARGET_LABELS
        for label, _, value in matchers:
            # Series without the name of a topic have an empty one.
            if value and not value.startswith("$"):
                assert set(value.split("|")) <= VALUES[name, label], (name, label)


@every
def test_query_asks_one_cluster(target: Target) -> None:
    for others in re.findall(r"\b(?:ALERTS\w*|process_\w+)\{([^}]*)\}", target.expr):
        assert others.startswith('cluster=~"$cluster"' if target.board == "fleet" else 'cluster="$cluster"')
    for name, matchers in metrics(target.expr):
        if target.board == "fleet":
            assert matchers[0] == ("cluster", "=~", "$cluster")
            continue
        assert ("cluster", "=", "$cluster") in matchers
        asked = {label for label, _, value in matchers if value.startswith("$")}
        of_sidecars, known_by = "instance" in asked, re.search(rf"0 \* max \(kafka_warden_{name}\b", target.expr)
        if not (of_sidecars or known_by):
            offered = set() if target.board == "cluster" else {"broker", "topic"}
            assert asked - {"cluster"} == SERVED[name] & offered


def test_alerts_are_those_of_this_project() -> None:
    """Alerts are selected by the label that all of ours have: others may have the same names."""
    found = [each for target in TARGETS for each in re.findall(r"\b(ALERTS\w*)\{([^}]*)\}", target.expr)]
    assert {name for name, _ in found} == {"ALERTS", "ALERTS_FOR_STATE"}
    for name, matchers in found:
        assert 'exporter="kafka-warden"' in matchers
        assert "alertname" not in matchers
        assert name == "ALERTS_FOR_STATE" or 'alertstate="firing"' in matchers


@pytest.mark.parametrize("target", GROUPED, ids=str)
def test_labels_are_of_the_metrics(target: Target) -> None:
    known = TARGET_LABELS.union(*(SERVED[name] for name, _ in metrics(target.expr)))
    known |= OF_ALERTS if "ALERTS" in target.expr else set()
    for word, labels in label_lists(target.expr):
        assert word not in {"without", "ignoring"}
        assert set(labels) <= known, word


@every
def test_every_selector_is_aggregated(target: Target) -> None:
    """A metric is inside max, min or sum, or of a range inside them: as it is it would be there once per sidecar."""
    for match in re.finditer(r"kafka_warden_\w+\{", target.expr):
        before = target.expr[: match.start()]
        assert re.search(
            rf"\b(max|min|sum)( by \([^)]*\))? \((?:(?:rate|increase|\w+_over_time)\()?$|{FILTER}", before
        ), before


@pytest.mark.parametrize("target", LEGENDS, ids=str)
def test_legend_has_every_label(target: Target) -> None:
    assert sorted(re.findall(r"{{(\w+)}}", target.legend)) == sorted(outermost(target.expr))


def test_no_query_has_thousands_of_series() -> None:
    many = [target for target in TARGETS if THOUSANDS & set(outermost(target.expr))]
    assert len(many) > 20
    assert [str(target) for target in many if not CHOICE.search(target.expr)] == []


TABLES: Final = [target for target in TARGETS if target.kind == "table"]
BY_NATURE: Final = (
    {"broker"},
    {"broker", "side"},
    {"broker", "side", "origin"},
    {"cluster"},
    {"cluster", "state"},
    {"instance"},
    {"instance", "version"},
    {"instance", "cluster_id", "kafka_version"},
    set[str](),
)
"""Labels of tables with a row, or a few rows, for each broker, cluster or sidecar."""
BOUND: Final = re.compile(r"\(.*\) and on \([\w, ]+\) topk\((\d+), .*\)", re.DOTALL)
MOST_ROWS: Final = 500


@pytest.mark.parametrize("target", TABLES, ids=str)
def test_rows_are_bounded(target: Target) -> None:
    if set(outermost(target.expr)) not in BY_NATURE:
        bound = BOUND.fullmatch(target.expr)
        assert bound
        assert int(bound[1]) <= MOST_ROWS


def test_lines_are_chosen_once() -> None:
    """A choice at each step would draw other lines at each of them: it is made at the end, for the whole range."""
    chosen = [target for target in TARGETS if CHOICE.search(target.expr) and not target.instant]
    assert len(chosen) > 10
    for target in chosen:
        _, ranked = CHOICE.split(target.expr)
        assert set(re.findall(r"kafka_warden_\w+\{[^}]*\}(.*?)\)", ranked)) == {"[$__range] @ end("}, str(target)
