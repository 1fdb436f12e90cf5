"""Makes the rules and their manifests out of `templates/`, `thresholds.yml`, `addresses.yml` and `alertmanager.yml`.

`make rules` writes the `alerts/*.rules.yml`, the tables in `alerts/README.md`, `alertmanager-fragment.yml` and the
manifests of the Prometheus operator in `deploy/`, at scale 1. Tests and the demo render the same templates at a smaller
one, where nothing but durations differs.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any, Final

import yaml

from alerts import routing
from alerts.addresses import Addresses, addresses
from alerts.thresholds import Threshold, thresholds

HERE: Final = Path(__file__).parent
TEMPLATES: Final = HERE / "templates"
README: Final = HERE / "README.md"
FRAGMENT: Final = HERE / "alertmanager-fragment.yml"
DEPLOY: Final = HERE.parent / "deploy"
MANIFEST: Final = DEPLOY / "prometheusrule.yaml"
ROUTING: Final = DEPLOY / "alertmanagerconfig.yaml"
VIEWS: Final = HERE.parent / "exporter" / "kafka_warden" / "views"
SEVERITIES: Final = VIEWS / "severities.txt"
"""The severity of each alert, for the status page, which cannot read the rules."""
DASHBOARDS: Final = {
    "brokers": "replicas",
    "cluster": "fleet",
    "controller": "controller",
    "disks": "capacity",
    "limits": "capacity",
    "moves": "moves",
    "process": "sidecar",
    "replicas": "replicas",
    "sidecar": "sidecar",
    "throttles": "throttles",
    "tiered": "tiered",
}
"""Subject of a rule file to the dashboard that shows it."""
BEGIN: Final = "<!-- {}: made by `make rules` -->\n"
END: Final = "<!-- end of {} -->\n"
MANY: Final = 4
"""Rules that a threshold's row names one by one."""
HEADER: Final = "# Made from templates/{name} and thresholds.yml by `make rules`: do not edit.\n"
WIDTH: Final = 110


class RuleTemplate(Template):
    """Only `${name}` is a placeholder: Prometheus' own templates are full of `$labels` and `$value`."""

    # typeshed gives the type that the class has once it is made
    pattern = r"\$(?:(?P<escaped>(?!))|(?P<named>(?!))|\{(?P<braced>[a-z_]+)\}|(?P<invalid>(?!)))"  # type: ignore[assignment]


class _Dumper(yaml.SafeDumper):
    """Writes expressions as they are read: a line a line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def templates() -> tuple[Path, ...]:
    """Every template, one per subject."""
    return tuple(sorted(TEMPLATES.glob("*.rules.yml")))


def rules(template: Path, scale: float = 1.0, floor: float = 0.0, links: Addresses | None = None) -> str:
    """The text of one rule file.

    Args:
        template: The file to fill in.
        scale: What durations, and thresholds in seconds, are multiplied by; above 0, at most 1.
        floor: Seconds that are added to each, since scrapes and polls take their time. None becomes longer than at
            scale 1, and their order stays.
        links: What `runbook_url` and `dashboard_url` begin with; `addresses.yml` by default.

    Raises:
        KeyError: The template names a threshold that `thresholds.yml` does not have, or has no dashboard.
    """
    values = {threshold.name: threshold.at(scale, floor) for threshold in thresholds()}
    text = RuleTemplate(template.read_text(encoding="utf-8")).substitute(values)
    return HEADER.format(name=template.name) + _linked(text, template, links or addresses())


def alert_table() -> str:
    """The table of alerts: after how long, and what each one says."""
    lines = ["| File | Alert | Severity | `for` | Says |", "|---|---|---|---|---|"]
    for template in templates():
        for number, rule in enumerate(_alerts(template)):
            file = f"`{template.name}`" if number == 0 else ""
            cells = (rule["labels"]["severity"], rule["for"], rule["annotations"]["summary"])
            lines.append(f"| {file} | `{rule['alert']}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def threshold_table() -> str:
    """The table of thresholds, with the rules that each one is in."""
    named = [(rule, text) for template in templates() for rule, text in _parts(template)]
    lines = ["| Threshold | Value | In | Why |", "|---|---|---|---|"]
    lines += [_row(threshold, named) for threshold in thresholds()]
    return "\n".join(lines) + "\n"


def manifest() -> str:
    """All groups as one PrometheusRule, for the Prometheus operator."""
    groups = [group for template in templates() for group in yaml.safe_load(rules(template))["groups"]]
    document: dict[str, Any] = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "kafka-warden", "labels": {"app.kubernetes.io/name": "kafka-warden"}},
        "spec": {"groups": groups},
    }
    return f"# Made from alerts/templates and alerts/thresholds.yml by `make rules`: do not edit.\n{_yaml(document)}"


def outputs() -> dict[Path, str]:
    """What every made file has to hold."""
    readme = README.read_text(encoding="utf-8")
    for what, table in (("alerts", alert_table()), ("thresholds", threshold_table())):
        begin, end = BEGIN.format(what), END.format(what)
        before, rest = readme.split(begin)
        readme = f"{before}{begin}{table}{end}{rest.split(end)[1]}"
    made = {HERE / template.name: rules(template) for template in templates()}
    severities = {rule["alert"]: rule["labels"]["severity"] for template in templates() for rule in _alerts(template)}
    alerts = list(severities)
    made[SEVERITIES] = "".join(f"{alert} {severity}\n" for alert, severity in severities.items())
    made[FRAGMENT] = routing.FRAGMENT_HEADER + _yaml(routing.fragment(alerts))
    made[ROUTING] = routing.MANIFEST_HEADER + _yaml(routing.manifest(alerts))
    return {**made, README: readme, MANIFEST: manifest()}


def _alerts(template: Path) -> list[dict[str, Any]]:
    values = {threshold.name: threshold.value for threshold in thresholds()}
    document = yaml.safe_load(RuleTemplate(template.read_text(encoding="utf-8")).safe_substitute(values))
    return [rule for group in document["groups"] for rule in group["rules"] if "alert" in rule]


def _yaml(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)


def _linked(text: str, template: Path, links: Addresses) -> str:
    """The rules with addresses: of each runbook, and of the dashboard of their subject for the alert's cluster."""
    board = DASHBOARDS[template.name.removesuffix(".rules.yml")]
    # urlquery is a function of Go's templates.
    dashboard = f"{links.grafana}/d/kafka-warden-{board}?var-cluster={{{{ $labels.cluster | urlquery }}}}"
    return re.sub(
        r"^( *)runbook_url: (.+)$",
        lambda found: f"{found[1]}runbook_url: {links.runbooks}{found[2]}\n{found[1]}dashboard_url: '{dashboard}'",
        text,
        flags=re.MULTILINE,
    )


def _parts(template: Path) -> Iterable[tuple[str, str]]:
    """The text of every rule of a template by its name."""
    for text in re.split(r"\n(?= *- (?:record|alert): )", template.read_text(encoding="utf-8"))[1:]:
        yield re.findall(r"- (?:record|alert): (\S+)", text)[0], text


def _row(threshold: Threshold, named: Iterable[tuple[str, str]]) -> str:
    placeholder = f"${{{threshold.name}}}"
    where = list(dict.fromkeys(f"`{rule}`" for rule, text in named if placeholder in text))
    used = f"{len(where)} rules" if len(where) > MANY else ", ".join(where)
    return f"| `{threshold.name}` | {threshold.shown} | {used} | {threshold.reason} |"


if __name__ == "__main__":
    for path, content in outputs().items():
        path.write_text(content, encoding="utf-8")
