"""Two sidecars of one cluster: no number is doubled, and no query fails where they disagree for a moment.

Prometheus itself evaluates every query, on the golden page as three clusters would serve it.
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.dashboards import Target, targets
from tests.support.promtool import failures, write
from tests.support.rules import check_results

PAGE: Final = Path(__file__).parents[1] / "golden" / "metrics.txt"
SERIES: Final = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
CHANGES: Final = re.compile(r'\b(state|cause|problem|origin)="')
"""Labels that two sidecars may see change one poll apart."""

ALIVE: Final = {
    "kafka_warden_reassignment_total_eta_seconds": 600.0,
    "kafka_warden_reassignment_predicted_seconds": 700.0,
    "kafka_warden_reassignment_predicted_bottleneck_seconds": 500.0,
    "kafka_warden_remote_fetch_quota_bytes_per_second": 2e6,
    "kafka_warden_tiered_storage_problem_seconds": 90.0,
    "kafka_warden_topic_non_preferred_leader_partitions": 1.0,
}
"""What the page has as +Inf or 0, and a panel leaves out then."""

SLOW: Final = 'kafka_warden_broker_out_of_sync_replicas{broker="2",state="slow"}'
"""Of two states with equal numbers, topk chooses any."""
ONE, TWO, UNEQUAL = "one", "two", "unequal"
MINUTES: Final = 30

TARGETS: Final = [target for target in targets() if "$instance" not in target.expr]
"""All queries except those that show each sidecar separately."""


def page() -> Iterator[tuple[str, str, float]]:
    """Name, labels and value of every series of the golden page, where one state has the most replicas."""
    for line in PAGE.read_text().replace(f"{SLOW} 0", f"{SLOW} 1").splitlines():
        if found := SERIES.match(line):
            yield found[1], found[2] or "", ALIVE.get(found[1], float(found[3]))


def served(cluster: str, instance: str, *, otherwise: bool = False) -> Iterator[dict[str, str]]:
    """The page as Prometheus keeps it; `otherwise`: with another state, cause, problem or origin."""
    for name, labels, value in page():
        text = CHANGES.sub(r'\1="other_', labels) if otherwise else labels
        inside = ",".join([*([text] if text else []), f'cluster="{cluster}"', f'instance="{instance}"'])
        step = 60 if name.endswith("_total") else 0
        values = f"{value:+g}".replace("inf", "Inf") if value == float("inf") else f"{value:.17g}"
        repeated = " ".join([values] * MINUTES) if value == float("inf") else f"{values}+{step}x{MINUTES}"
        yield {"series": f"{name}{{{inside}}}", "values": repeated}


def alerts(*clusters: str) -> Iterator[dict[str, str]]:
    """Prometheus has each alert once, however many sidecars there are."""
    for cluster, severity in itertools.product(clusters, ("critical", "warning", "info")):
        labels = (
            f'cluster="{cluster}",alertname="Of{severity}",severity="{severity}",broker="1",exporter="kafka-warden"'
        )
        yield {"series": f'ALERTS{{{labels},alertstate="firing"}}', "values": f"1x{MINUTES}"}
        yield {"series": f"ALERTS_FOR_STATE{{{labels}}}", "values": f"60x{MINUTES}"}


def cases(target: Target) -> list[dict[str, Any]]:
    one, two, unequal = (f"({target.filled(cluster=cluster)})" for cluster in (ONE, TWO, UNEQUAL))
    same = [{"labels": "{}", "value": 0}]
    found = [{"labels": "{}", "value": 1}]
    checks = [
        (f"count({one}) - count({one} == ignoring (cluster) {two})", same),
        (f"count({two}) - count({one} == ignoring (cluster) {two})", same),
        (f"count({unequal}) > bool 0", found),
    ]
    return [{"expr": expr, "eval_time": f"{MINUTES - 5}m", "exp_samples": samples} for expr, samples in checks]


def test_second_sidecar_changes_no_number(tmp_path: Path) -> None:
    moving = [target for target in TARGETS if target.kind != "annotation"]
    test = {
        "interval": "1m",
        "input_series": [
            *alerts(ONE, TWO, UNEQUAL),
            *served(ONE, "a"),
            *(series for instance in "ab" for series in served(TWO, instance)),
            *served(UNEQUAL, "a"),
            *served(UNEQUAL, "b", otherwise=True),
        ],
        "promql_expr_test": [case for target in moving for case in cases(target)],
    }
    assert failures(write(tmp_path / "two.test.yml", [test], 60)) == ""


def test_stuck_moves_without_a_name_count_with_the_others(tmp_path: Path) -> None:
    series = (
        'kafka_warden_reassignment_stuck{{cluster="{}",instance="{}",topic="{}",partition="{}",broker="1",cause="{}"}}'
    )
    shown = {("orders", "0", "target_down"): 1, ("", "", "target_down"): 3, ("", "", "no_progress"): 2}
    asked = [t for t in TARGETS if t.panel in {"Stuck replicas", "Stuck, by cause"} or "by (cluster)" in t.expr]
    queries = {t.panel: t.filled(cluster=ONE) for t in asked if "reassignment_stuck" in t.expr}
    by_cause = [
        {"labels": f'{{cause="{cause}"}}', "value": n} for cause, n in {"target_down": 4, "no_progress": 2}.items()
    ]
    expected = {
        "Stuck replicas": [{"labels": "{}", "value": 6}],
        "Stuck, by cause": by_cause,
        "Clusters": [{"labels": f'{{cluster="{ONE}"}}', "value": 6}],
    }
    assert queries.keys() == expected.keys()
    served = {
        series.format(ONE, instance, *labels): f"{value}x5" for instance in "ab" for labels, value in shown.items()
    }
    cases = [{"expr": query, "eval_time": "1m", "exp_samples": expected[panel]} for panel, query in queries.items()]
    check_results(served, cases, tmp_path)


@pytest.mark.parametrize(
    ("known", "samples"),
    [
        ({"copy": 3, "fetch": 2}, [{"labels": "{}", "value": 5}]),
        ({"delete": 2}, [{"labels": "{}", "value": 2}]),
        ({}, []),
    ],
)
def test_errors_are_the_sum_of_those_that_are_known(
    known: dict[str, int], samples: list[dict[str, Any]], tmp_path: Path
) -> None:
    (errors,) = (target for target in TARGETS if target.panel == "Errors")
    series = f'kafka_warden_remote_{{}}_errors_total{{{{cluster="{ONE}",instance="a",broker="1"}}}}'
    served = {series.format(kind): f"0+{each}x60" for kind, each in known.items()}
    query = errors.filled(cluster=ONE, __range="1m")
    check_results(served, [{"expr": query, "eval_time": "9m", "exp_samples": samples}], tmp_path)
