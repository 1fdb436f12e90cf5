"""Generates docs/catalogue.md: which alerts and panels use each metric, from rules and dashboards: `make docs`."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
MANY: Final = 12
"""Alerts that a cell names one by one."""

INTRODUCTION: Final = """\
# From metric to runbook

Which alerts and which panels use each metric, directly or through a recording rule. Made from the catalogue, the rules
and the dashboards by `make docs`; do not edit.

- The name of an alert leads to its runbook. [alerts/README.md](../alerts/README.md) has severity, duration and
  thresholds.
- Panels are in *italics*, after the name of their dashboard ([grafana/README.md](../grafana/README.md)).
- [metrics.md](metrics.md) has the meaning of each metric, and a sample. A metric without alert and panel is for queries
  of your own.
"""

BY_ALERT: Final = """\
## By alert

Metrics that the condition reads, and the panels that link to the runbook. Not repeated are metrics that only a
recording rule reads for more than {many} alerts: they show whether data are fresh.

| Alert | Metrics | Panels |
|---|---|---|
"""

Sections = Iterable[tuple[str, Iterable[str]]]
"""Title of a section to the full names of its metrics."""


@dataclass(frozen=True, slots=True)
class Rule:
    """An alert, with the metrics that its condition reads, and those of them that no recording rule reads for it."""

    name: str
    metrics: frozenset[str]
    direct: frozenset[str]


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


def all_rules() -> list[Rule]:
    """Every alert."""
    records, alerts = expressions()
    return [Rule(name, read_metrics(expr, records), read_metrics(expr, {})) for name, expr in alerts.items()]


def all_panels() -> list[Panel]:
    """Every panel of every dashboard that has queries."""
    records, _ = expressions()
    pages = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(DASHBOARDS.glob("*.json")))
    shown = [
        (page["title"], panel) for page in pages for row in page["panels"] for panel in (row, *row.get("panels", ()))
    ]
    return [_panel(title, panel, records) for title, panel in shown if "targets" in panel]


def _panel(dashboard: str, panel: Mapping[str, Any], records: Mapping[str, str]) -> Panel:
    metrics = frozenset[str]().union(*(read_metrics(target["expr"], records) for target in panel["targets"]))
    runbooks = RUNBOOK.findall(json.dumps(panel.get("links", [])))
    return Panel(dashboard.rpartition("/")[2].strip(), panel["title"], metrics, frozenset(runbooks))


def render(sections: Sections) -> str:
    """The whole document."""
    found, panels = all_rules(), all_panels()
    parts = [INTRODUCTION]
    for title, metrics in (*sections, ("The process", process())):
        parts += [f"## {title}\n", "| Metric | Alerts | Panels |\n|---|---|---|"]
        parts += [_metric_row(name, found, panels) for name in metrics]
        parts.append("")
    return "\n".join([*parts, BY_ALERT.format(many=MANY)]) + "".join(_alert_rows(found, panels))


def _metric_row(name: str, found: Iterable[Rule], panels: Iterable[Panel]) -> str:
    alerts = [_link(rule.name) for rule in found if name in rule.metrics]
    named = f"{len(alerts)} alerts" if len(alerts) > MANY else ", ".join(alerts)
    return f"| `{name}` | {named} | {_panels(panel for panel in panels if name in panel.metrics)} |"


def _alert_rows(found: Sequence[Rule], panels: Sequence[Panel]) -> Iterator[str]:
    shared = {name for name in families().values() if sum(name in rule.metrics for rule in found) > MANY}
    for rule in found:
        metrics = ", ".join(f"`{name}`" for name in sorted(rule.direct | (rule.metrics - shared)))
        yield f"| {_link(rule.name)} | {metrics} | {_panels(each for each in panels if rule.name in each.runbooks)} |\n"


def _link(alert: str) -> str:
    return f"[{alert}](../alerts/runbooks/{alert}.md)"


def _panels(panels: Iterable[Panel]) -> str:
    titles: dict[str, list[str]] = {}
    for panel in panels:
        titles.setdefault(panel.dashboard, []).append(f"*{panel.title.replace('|', '/')}*")
    return "; ".join(f"{dashboard}: {', '.join(dict.fromkeys(each))}" for dashboard, each in titles.items())
