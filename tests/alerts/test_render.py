"""What is made of the rules is current, and a rendering at another scale of time differs in durations only."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from alerts.render import MANIFEST, outputs, rules
from kafka_warden.rules.render import DASHBOARDS, MACROS, TEMPLATES, LinkPrefixes, templates
from kafka_warden.rules.thresholds import UNITS, Threshold, seconds, thresholds
from sandbox.monitoring import ALERTS
from tests.support.rules import rules_in

RANGE = re.compile(r"(?<!%)(?:\[(\w+)(?::(\w+))?\]|(?<=offset )(\w+))")
"""A range, a subquery or an offset, but not `%[1]s` of a format."""
IN_SECONDS = re.compile(r"\d+(?:\.\d+)?(?=[ \t]*# seconds\b)")
COMPARED = re.compile(r"(?:[<>]=?|[=!]=)\s*(?:bool\s*)?(-?\d+(?:\.\d+)?)")
SCALE, FLOOR = 1 / 30, 10.0

each_template = pytest.mark.parametrize("template", templates(), ids=lambda file: file.name)


def texts(rule: dict[str, Any]) -> dict[str, str]:
    return {"expr": rule["expr"], **rule.get("annotations", {}), **rule.get("labels", {})}


def without_durations(text: str) -> str:
    return IN_SECONDS.sub("", RANGE.sub("[]", text))


def durations(text: str) -> list[float]:
    ranges = [seconds(part) for match in RANGE.findall(text) for part in match if part]
    return ranges + [float(number) for number in IN_SECONDS.findall(text)]


def shorter(original: float) -> float:
    return min(original, FLOOR + original * SCALE)


@cache
def made() -> dict[Path, str]:
    return outputs()


@pytest.mark.parametrize("file", made(), ids=lambda file: file.name)
def test_what_is_made_is_current(file: Path) -> None:
    assert file.read_text() == made()[file], "run make rules"


def test_every_rule_file_has_a_template() -> None:
    assert {file.name for file in ALERTS.glob("*.rules.yml")} == {file.name for file in templates()}


@pytest.mark.parametrize("file", [*templates(), TEMPLATES / MACROS], ids=lambda file: file.name)
def test_numbers_stand_in_thresholds(file: Path) -> None:
    text = file.read_text()
    assert RANGE.findall(text) == []
    assert set(COMPARED.findall(re.sub(r"\{\{.*?\}\}", "", text))) <= {"0", "1", "-1"}
    for key, value in re.findall(r"^ +(for|keep_firing_for): (.+)$", text, re.MULTILINE):
        assert re.fullmatch(r"\$\{[a-z_]+\}", value), key


@each_template
def test_alerts_link_to_their_dashboard(template: Path) -> None:
    subject = template.name.removesuffix(".rules.yml")
    if subject == "state":
        return
    board = f"kafka-warden-{DASHBOARDS[subject]}"
    assert (ALERTS.parent / "grafana" / "dashboards" / f"{board}.json").is_file()
    links = LinkPrefixes("https://wiki.example/", "https://grafana.example")
    for plain, linked in zip(rules_in(rules(template)), rules_in(rules(template, links=links)), strict=True):
        if "alert" in plain:
            runbook = f"alerts/runbooks/{plain['alert']}.md"
            path = f"/d/{board}?var-cluster={{{{ $labels.cluster | urlquery }}}}"
            assert (plain["annotations"]["runbook_url"], plain["annotations"]["dashboard_url"]) == (runbook, path)
            assert linked["annotations"]["runbook_url"] == f"https://wiki.example/{runbook}"
            assert linked["annotations"]["dashboard_url"] == f"https://grafana.example{path}"


@pytest.mark.parametrize("threshold", thresholds().values(), ids=lambda threshold: threshold.name)
def test_thresholds_are_used_and_have_a_reason(threshold: Threshold) -> None:
    text = "".join(file.read_text() for file in TEMPLATES.iterdir())
    assert threshold.unit in UNITS
    assert len(threshold.reason) > 20
    assert "|" not in threshold.reason
    assert re.search(rf"\b{threshold.name}\b", text)
    assert seconds(threshold.value) > 0 if threshold.unit == "duration" else float(threshold.value) > 0


@each_template
def test_short_rendering_differs_in_durations_only(template: Path) -> None:
    originals, shorts = rules_in(rules(template)), rules_in(rules(template, SCALE, FLOOR))
    for original, short in zip(originals, shorts, strict=True):
        fixed = {"record", "alert"} & original.keys()
        assert original.keys() == short.keys()
        assert {key: original[key] for key in fixed} == {key: short[key] for key in fixed}
        for key in {"for", "keep_firing_for"} & original.keys():
            assert seconds(short[key]) == pytest.approx(shorter(seconds(original[key])), abs=1e-3)
        for where, text in texts(original).items():
            assert without_durations(texts(short)[where]) == without_durations(text)
            expected = [shorter(length) for length in durations(text)]
            assert durations(texts(short)[where]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("value", "unit", "scale", "floor", "expected"),
    [
        ("5m", "duration", 1, 10, "5m"),
        ("5m", "duration", 1 / 30, 0, "10000ms"),
        ("5m", "duration", 1 / 300, 10, "11000ms"),
        ("5s", "duration", 1 / 300, 10, "5000ms"),
        ("600", "seconds", 1 / 30, 10, "30"),
        ("600", "seconds", 1 / 300, 10, "12"),
        ("600", "bytes", 1 / 30, 10, "600"),
        ("0.8", "ratio", 1 / 30, 10, "0.8"),
    ],
)
def test_a_scale_changes_time_only(value: str, unit: str, scale: float, floor: float, expected: str) -> None:
    assert Threshold("name", value, unit, "why").at(scale, floor) == expected


def test_manifest_has_the_groups_of_all_files() -> None:
    manifest = yaml.safe_load(MANIFEST.read_text())
    files = [ALERTS / template.name for template in templates()]
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    assert (manifest["apiVersion"], manifest["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert manifest["spec"] == {"groups": groups}
    assert len({group["name"] for group in groups}) == len(groups)
