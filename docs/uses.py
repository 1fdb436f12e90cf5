"""Which alerts and dashboards use each metric, directly or through a recording rule, for docs/metrics.md."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from prometheus_client import REGISTRY

from alerts.render import rules
from kafka_warden.catalogue import CATALOGUE, Kind
from kafka_warden.rules.render import templates

HERE: Final = Path(__file__).parent
DASHBOARDS: Final = HERE.parent / "grafana" / "dashboards"
NAME: Final = re.compile(r"[a-zA-Z_:][\w:]*")
RUNBOOK: Final = re.compile(r"runbooks/(\w+)\.md")
MANY: Final = 9
"""Alerts that a cell names one by one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An alert, with the metrics that its condition reads."""

    name: str
    metrics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of a dashboard, with the metrics that its queries read, and the alerts whose runbooks it links to."""

    dashboard: str
    title: str
    metrics: frozenset[str]
    runbooks: frozenset[str]


def process() -> Iterator[str]:
    """The families of prometheus-client, which the catalogue does not have."""
    for family in REGISTRY.collect():
        yield f"{family.name}_total" if family.type == "counter" else family.name


@cache
def families() -> Mapping[str, str]:
    """The name of every series to the name of its family."""
    names = [*(metric.full_name for metric in CATALOGUE), *process()]
    summaries = (metric.full_name for metric in CATALOGUE if metric.kind is Kind.SUMMARY)
    return {name: name for name in names} | {f"{name}{end}": name for name in summaries for end in ("_sum", "_count")}


@cache
def expressions() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The expressions of recording rules and of alerts, by name. Several rules of one alert are one expression."""
    groups = (group for template in templates() for group in yaml.safe_load(rules(template))["groups"])
    found = [rule for group in groups for rule in group["rules"]]
    records = {rule["record"]: rule["expr"] for rule in found if "record" in rule}
    alerts: dict[str, str] = {}
    for rule in found:
        if "alert" in rule:
            alerts[rule["alert"]] = alerts.get(rule["alert"], "") + rule["expr"]
    return records, alerts


def read_metrics(expr: str, records: Mapping[str, str]) -> frozenset[str]:
    """Families that an expression reads, directly or through recording rules."""
    known, found, left, seen = families(), set(), [expr], set[str]()
    while left:
        for name in NAME.findall(left.pop()):
            if name in known:
                found.add(known[name])
            elif name in records and name not in seen:
                seen.add(name)
                left.append(records[name])
    return frozenset(found)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every alert."""
    records, alerts = expressions()
    return tuple(Rule(name, read_metrics(expr, records)) for name, expr in alerts.items())


@cache
def all_panels() -> tuple[Panel, ...]:
    """Every panel of every dashboard that has queries."""
    records, _ = expressions()
    pages = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(DASHBOARDS.glob("*.json")))
    shown = [
        (page["title"], panel) for page in pages for row in page["panels"] for panel in (row, *row.get("panels", ()))
    ]
    return tuple(_panel(title, panel, records) for title, panel in shown if "targets" in panel)


def _panel(dashboard: str, panel: Mapping[str, Any], records: Mapping[str, str]) -> Panel:
    metrics = frozenset[str]().union(*(read_metrics(target["expr"], records) for target in panel["targets"]))
    runbooks = RUNBOOK.findall(json.dumps(panel.get("links", [])))
    return Panel(dashboard.rpartition("/")[2].strip(), panel["title"], metrics, frozenset(runbooks))


def alerts_of(name: str) -> str:
    """The cell of a metric: its alerts, which lead to their runbooks."""
    alerts = [_link(rule.name) for rule in all_rules() if name in rule.metrics]
    return f"{len(alerts)} alerts" if len(alerts) > MANY else ", ".join(alerts)


def dashboards_of(names: Iterable[str]) -> str:
    """The dashboards that show any of these metrics, in their order."""
    wanted = frozenset(names)
    return ", ".join(dict.fromkeys(f"*{panel.dashboard}*" for panel in all_panels() if wanted & panel.metrics))


def _link(alert: str) -> str:
    return f"[{alert}](../alerts/runbooks/{alert}.md)"
