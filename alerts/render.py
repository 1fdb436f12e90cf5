"""Makes the rule files of the repository, the table about them, and their manifests: `make rules`.

Out of `kafka_warden.rules` and `alertmanager.yml` come the `alerts/*.rules.yml`, the table in `alerts/README.md`, the
manifests of the Prometheus operator in `deploy/`, and what the status page knows of alerts, at scale 1. Tests and the
demo render the same templates at a smaller one, where nothing but durations differs.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from alerts import routing
from kafka_warden.formatting import in_time
from kafka_warden.rules import render
from kafka_warden.rules.delays import Intervals, delays
from kafka_warden.rules.render import DEFAULTS, WATCHDOG, LinkPrefixes, Values, templates
from kafka_warden.rules.thresholds import at_scale, thresholds

HERE: Final = Path(__file__).parent
README: Final = HERE / "README.md"
DEPLOY: Final = HERE.parent / "deploy"
MANIFEST: Final = DEPLOY / "prometheusrule.yaml"
ROUTING: Final = DEPLOY / "alertmanagerconfig.yaml"
CHART: Final = DEPLOY / "chart" / "files" / "rules.yaml"
VIEWS: Final = HERE.parent / "exporter" / "kafka_warden" / "views"
SEVERITIES: Final = VIEWS / "severities.txt"
"""The severities of each alert, the mildest first, for the status page, which cannot read the rules."""
BEGIN: Final = "<!-- alerts: made by `make rules` -->\n"
END: Final = "<!-- end of alerts -->\n"
HEADER: Final = "# Made from exporter/kafka_warden/rules by `make rules`: do not edit.\n"
WIDTH: Final = 110
HOUR: Final = 60
"""Minutes."""


class _Dumper(yaml.SafeDumper):
    """Writes expressions as they are read: a line a line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def rules(template: Path, scale: float = 1.0, floor: float = 0.0, links: LinkPrefixes = DEFAULTS.links) -> str:
    """The text of one rule file at a scale of time; see `at_scale`."""
    return HEADER + render.rules(template, Values(links=links), at_scale(scale, floor))


def table() -> str:
    """The table of alerts: the first sentence of each runbook, and the longest time until it is sent, in minutes."""
    times: dict[str, list[int]] = {}
    for case, seconds in delays({}, Intervals()).items():
        times.setdefault(case.alert, []).append(math.ceil(seconds / 60))
    lines = ["| Alert | Severity | What is wrong | Sent after at most |", "|---|---|---|---|"]
    for alert, found in render.severities().items():
        page = (HERE / "runbooks" / f"{alert}.md").read_text(encoding="utf-8")
        wrong = re.split(r"(?<=\.)\s", page.split("\n\n")[1], maxsplit=1)[0].replace("\n", " ")
        severity, first, last = ", ".join(sorted(found)), min(times[alert]), max(times[alert])
        sent = in_time(60 * last)
        if first < last:
            sent = f"{first if last < HOUR else in_time(60 * first)} to {sent}"
        lines.append(f"| [{alert}](runbooks/{alert}.md) | {severity} | {wrong} | {sent} |")
    return "\n".join(lines) + "\n"


def manifest() -> str:
    """All groups as one PrometheusRule, for the Prometheus operator."""
    document: dict[str, Any] = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "kafka-warden", "labels": {"app.kubernetes.io/name": "kafka-warden"}},
        "spec": {"groups": groups(DEFAULTS)},
    }
    return HEADER + _yaml(document)


def groups(values: Values, numbers: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The groups of all files; `numbers` is the text of every threshold, by default its value."""
    texts = [render.rules(template, values, numbers) for template in templates()]
    return [group for text in texts for group in yaml.safe_load(text)["groups"]]


def chart() -> str:
    """All groups for the Helm chart, and the labels that its values must not use.

    The values fill in thresholds and the label of the cluster, each a `${name}`.
    """
    names = {name: f"${{{name}}}" for name in thresholds()}
    made = groups(Values(cluster_label="${cluster_label}"), names)
    return HEADER + _yaml({"labels": sorted(render.labels()), "groups": made})


def severities() -> str:
    """A line for each alert."""
    order = ("info", "warning", "critical")
    return "".join(
        f"{alert} {' '.join(sorted(each, key=order.index))}\n" for alert, each in render.severities().items()
    )


def outputs() -> dict[Path, str]:
    """What every made file has to hold."""
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    return {
        **{HERE / template.name: rules(template) for template in (*templates(), WATCHDOG)},
        README: f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}",
        MANIFEST: manifest(),
        CHART: chart(),
        SEVERITIES: severities(),
        ROUTING: routing.MANIFEST_HEADER + _yaml(routing.manifest()),
    }


def _yaml(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)


if __name__ == "__main__":
    for path, content in outputs().items():
        path.write_text(content, encoding="utf-8")
