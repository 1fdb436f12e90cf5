"""Makes the text of a rule file out of its template, the thresholds, and what the operator changes.

The templates are of Jinja2 with other marks, since Prometheus' own templates are full of braces: `${name}` is a
threshold or a macro of `macros.jinja`, `[% %]` a statement, `[# #]` a comment.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
import yaml

from kafka_warden.rules.thresholds import changed_to

TEMPLATES: Final = Path(__file__).parent / "templates"
WATCHDOG: Final = TEMPLATES / "watchdog.yml"
"""Optional: other projects bring one."""
CLUSTER: Final = "cluster"
"""The label that names a Kafka cluster."""
OF_PROMETHEUS: Final = frozenset({"alertname", "alertstate", "le", "quantile"})
"""Labels."""
MACROS: Final = "macros.jinja"
CALL: Final = re.compile(r"\$\{(\w+\(.*?\))\}")
"""A call of a macro: all lines of its text are indented like the line of the call."""
SEVERITY: Final = re.compile(r"^( +)severity: (\w+)$", re.MULTILINE)
"""Of every alert. Its other label separates it from alerts of the same name that other projects have."""
MACRO: Final = re.compile(r"\[% macro (\w+)\(")

DASHBOARDS: Final = {
    "brokers": "replicas",
    "cluster": "fleet",
    "controller": "controller",
    "disks": "capacity",
    "limits": "capacity",
    "moves": "moves",
    "replicas": "replicas",
    "sidecar": "sidecar",
    "throttles": "throttles",
    "tiered": "tiered",
}
"""Subject of a rule file to the dashboard that shows it."""

_ALERT: Final = re.compile(r"^ +- alert: (\w+)$", re.MULTILINE)
_GROUP: Final = re.compile(r"^  - name: .+$", re.MULTILINE)
_GROUPING: Final = re.compile(r"\b(?:by|on) \([^)]*\)")
_LABEL: Final = re.compile(rf"(?<=\$labels\.){CLUSTER}\b|(?<![\w.:$-]){CLUSTER}(?==~?\\?[%\"])")
"""The label in a template of Prometheus, and in a selector. Not the variable of the dashboards, `var-cluster`."""
_RUNBOOK: Final = re.compile(r"^( *)runbook_url: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LinkPrefixes:
    """What links begin with; empty: links are paths.

    Attributes:
        runbooks: Before `alerts/runbooks/`.
        grafana: Before `/d/`.
    """

    runbooks: str = ""
    grafana: str = ""

    def added(self, text: str, subject: str) -> str:
        """Return the rules of a subject with the addresses of their runbooks and of its dashboard."""
        # urlquery is a function of Go's templates.
        board = f"/d/kafka-warden-{DASHBOARDS.get(subject)}?var-cluster={{{{ $labels.cluster | urlquery }}}}"
        return _RUNBOOK.sub(
            lambda found: (
                f"{found[1]}runbook_url: {self.runbooks}{found[2]}\n{found[1]}dashboard_url: '{self.grafana}{board}'"
            ),
            text,
        )


@dataclass(frozen=True, slots=True)
class Values:
    """What the operator changes; by default nothing. Durations are as Prometheus writes them.

    Attributes:
        interval: Time between two evaluations of every group; empty: that of Prometheus.
        scrape_interval: Time between two scrapes, for `kafka_warden.rules.delays` only.
        poll_interval: Time between two polls of an exporter, for the same.
        thresholds: The value of each threshold that is changed.
        severity: The severity of each alert that is changed.
        disabled: Alerts that are left out, or one severity of an alert: `KafkaLogDirFilling/critical`.
        alert_labels: Labels of every alert.
        cluster_label: The label that names a Kafka cluster.
        links: What links begin with.
        watchdog: Whether the alert that always fires is added.
    """

    interval: str = ""
    scrape_interval: str = ""
    poll_interval: str = ""
    thresholds: Mapping[str, str] = field(default_factory=dict)
    severity: Mapping[str, str] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()
    alert_labels: Mapping[str, str] = field(default_factory=dict)
    cluster_label: str = CLUSTER
    links: LinkPrefixes = field(default_factory=LinkPrefixes)
    watchdog: bool = False


DEFAULTS: Final = Values()


def _source(template: str) -> str:
    """Return a template with the macros."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    if template != MACROS:
        names = ", ".join(MACRO.findall((TEMPLATES / MACROS).read_text(encoding="utf-8")))
        text = f'[% from "{MACROS}" import {names} with context %]\n' + text
    return "".join(_indented(line) for line in text.splitlines(keepends=True))


def _indented(line: str) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return CALL.sub(lambda call: f"${{({call[1]}) | indent({spaces})}}", line)


ENVIRONMENT: Final = jinja2.Environment(
    loader=jinja2.FunctionLoader(_source),
    variable_start_string="${",
    variable_end_string="}",
    block_start_string="[%",
    block_end_string="%]",
    comment_start_string="[#",
    comment_end_string="#]",
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  rules are no HTML, and every value is the project's or the operator's own
)


def templates() -> tuple[Path, ...]:
    """Every template, one per subject; `state.rules.yml` first, since the others read its records."""
    return tuple(sorted(TEMPLATES.glob("*.rules.yml"), key=lambda file: (file.name != "state.rules.yml", file.name)))


def rules(template: Path, values: Values = DEFAULTS, numbers: Mapping[str, str] | None = None) -> str:
    """The text of one rule file.

    Args:
        template: The file to fill in.
        values: What the operator changes.
        numbers: The text of every threshold, by default its value or what the operator changes.

    Raises:
        jinja2.UndefinedError: The template names a threshold or a macro that does not exist.
    """
    subject = template.name.removesuffix(".rules.yml")
    names = numbers or {name: threshold.value for name, threshold in changed_to(values.thresholds).items()}
    text = ENVIRONMENT.get_template(template.name).render(names, subject=subject)
    # An empty line separates rules, and only rules.
    text = "\n\n".join(filter(None, (_changed(rule, values) for rule in text.rstrip().split("\n\n")))) + "\n"
    if values.interval:
        text = _GROUP.sub(rf"\g<0>\n    interval: {values.interval}", text)
    return _with_label(values.links.added(text, subject), values.cluster_label)


def _changed(rule: str, values: Values) -> str:
    """Return the text of one rule with its labels, or nothing for a disabled alert."""
    alert, severity = _ALERT.search(rule), SEVERITY.search(rule)
    if alert is None or severity is None:
        return rule
    if {alert[1], f"{alert[1]}/{severity[2]}"} & values.disabled:
        return ""
    labels = {
        "severity": values.severity.get(alert[1], severity[2]),
        "exporter": "kafka-warden",
        # JSON is YAML.
        **{name: json.dumps(value, ensure_ascii=False) for name, value in values.alert_labels.items()},
    }
    lines = "\n".join(f"{severity[1]}{name}: {value}" for name, value in labels.items())
    return rule[: severity.start()] + lines + rule[severity.end() :]


def _with_label(text: str, label: str) -> str:
    """Return rules in which another label names the Kafka cluster. Names of records stay."""
    text = _GROUPING.sub(lambda labels: re.sub(rf"\b{CLUSTER}\b", label, labels[0]), text)
    return _LABEL.sub(label, text)


def listed(text: str) -> list[dict[str, Any]]:
    """Every rule of a rule file."""
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def alerts(text: str) -> list[dict[str, Any]]:
    """Every alerting rule of a rule file."""
    return [rule for rule in listed(text) if "alert" in rule]


@cache
def severities() -> Mapping[str, tuple[str, ...]]:
    """The severities of each alert, in the order of the templates."""
    found: dict[str, tuple[str, ...]] = {}
    for template in templates():
        for rule in alerts(rules(template)):
            before = found.get(rule["alert"], ())
            found[rule["alert"]] = tuple(dict.fromkeys((*before, rule["labels"]["severity"])))
    return found


@cache
def labels() -> frozenset[str]:
    """The labels that rules match or group by, those of alerts, and those that Prometheus uses."""
    texts = [rules(template) for template in templates()]
    grouped = " ".join(label for text in texts for label in _GROUPING.findall(text))
    static = {label for text in texts for rule in alerts(text) for label in rule["labels"]}
    return frozenset(re.findall(r"\w+", grouped)) - {"by", "on"} | static | OF_PROMETHEUS
