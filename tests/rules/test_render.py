"""What an operator changes is in the rules, and nothing else changes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_warden.rules.command import HEADER, files, one_file
from kafka_warden.rules.render import DEFAULTS, WATCHDOG, LinkPrefixes, Values, rules, severities, templates
from tests.support.exporter_pages import Exporter
from tests.support.over_time import after
from tests.support.promtool import Check, block, failures, write
from tests.support.rules import rules_in

LABEL = "kafka_cluster"
CLUSTER = re.compile(r"(?<![\w.:$-])cluster(?![\w:])|(?<=labels\.)cluster\b")
"""The label, not a part of another name: `cluster:...`, `cluster_id`, `$cluster`, `var-cluster`."""

each_template = pytest.mark.parametrize("template", templates(), ids=lambda file: file.name)


def code(rule: dict[str, Any]) -> list[str]:
    """What Prometheus evaluates of a rule: its expression, and the actions of its templates."""
    texts = [*rule.get("annotations", {}).values(), *rule.get("labels", {}).values()]
    return [rule["expr"], *(part for text in texts for part in re.findall(r"\{\{.*?\}\}", text))]


def groups(values: Values) -> dict[str, Any]:
    return {group["name"]: group for text in files(values).values() for group in yaml.safe_load(text)["groups"]}


def all_rules(values: Values) -> list[dict[str, Any]]:
    return [rule for text in files(values).values() for rule in rules_in(text)]


def changed(values: Values) -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """The rules that differ from the defaults, as (before, after)."""
    before, now = (all_rules(each) for each in (DEFAULTS, values))
    gone = [(rule, None) for rule in before if rule not in now]
    return [*gone, *((None, rule) for rule in now if rule not in before)]


def test_a_threshold_changes_its_rules() -> None:
    rules = [rule for _, rule in changed(Values(thresholds={"offline_for": "7m"})) if rule]
    assert [(rule["alert"], rule["for"]) for rule in rules] == [("KafkaPartitionOffline", "7m")]


def test_a_threshold_changes_its_sum() -> None:
    texts = [rule["expr"] for _, rule in changed(Values(thresholds={"disk_recent": "1h", "page_age": "100"})) if rule]
    assert any("offset 1h" in text and "* 3600" in text for text in texts)
    assert any("< 300" in text for text in texts)
    assert not any("* 1800" in text or "< 320" in text for text in texts)


def test_a_severity_changes_its_alert() -> None:
    (before, _), (_, now) = changed(Values(severity={"KafkaReplicasOutOfSync": "info"}))
    assert before is not None
    assert now == before | {"labels": before["labels"] | {"severity": "info"}}
    assert now["alert"] == "KafkaReplicasOutOfSync"


@pytest.mark.parametrize(
    "alert", [*severities(), *(f"{alert}/{each}" for alert, own in severities().items() for each in own)]
)
def test_a_disabled_alert_is_left_out(alert: str) -> None:
    name, _, severity = alert.partition("/")
    gone = changed(Values(disabled=frozenset({alert})))
    assert gone
    assert all(now is None for _, now in gone)
    assert all(rule["alert"] == name and severity in ("", rule["labels"]["severity"]) for rule, _ in gone if rule)
    assert len(gone) == sum(
        rule.get("alert") == name and severity in ("", rule["labels"]["severity"]) for rule in all_rules(DEFAULTS)
    )


def test_labels_are_added_to_every_alert() -> None:
    added = {"team": "0123", "note": 'say "yes": # no'}
    for before, now in zip(*map(all_rules, (DEFAULTS, Values(alert_labels=added))), strict=True):
        assert now == (before | {"labels": before["labels"] | added} if "alert" in before else before)


def test_an_interval_is_that_of_every_group() -> None:
    assert {group.get("interval") for group in groups(DEFAULTS).values()} == {None}
    assert {group["interval"] for group in groups(Values(interval="30s", watchdog=True)).values()} == {"30s"}


def test_links_begin_with_the_addresses() -> None:
    values = Values(links=LinkPrefixes("https://wiki.example/", "https://grafana.example"))
    found = [rule["annotations"] for rule in all_rules(values) if "alert" in rule]
    assert all(each["runbook_url"].startswith("https://wiki.example/alerts/runbooks/Kafka") for each in found)
    assert all(each["dashboard_url"].startswith("https://grafana.example/d/kafka-warden-") for each in found)


def test_the_watchdog_is_added_where_it_is_wanted() -> None:
    assert groups(Values(watchdog=True)).keys() - groups(DEFAULTS).keys() == {"kafka-warden-watchdog"}
    (rule,) = rules_in(rules(WATCHDOG, Values(alert_labels={"team": "kafka"})))
    assert rule["labels"] == {"severity": "none", "exporter": "kafka-warden", "team": "kafka"}


@each_template
def test_the_label_of_the_cluster_is_renamed(template: Path) -> None:
    plain, renamed = (rules_in(rules(template, values)) for values in (DEFAULTS, Values(cluster_label=LABEL)))
    assert any(CLUSTER.search(text) for rule in plain for text in code(rule))
    assert [text for rule in renamed for text in code(rule) if CLUSTER.search(text)] == []
    assert yaml.safe_load(yaml.safe_dump(renamed).replace(LABEL, "cluster")) == plain
    assert [rule.get("record") for rule in renamed] == [rule.get("record") for rule in plain]


@pytest.mark.process
def test_alerts_fire_with_another_label_of_the_cluster(tmp_path: Path) -> None:
    exporters = [
        Exporter(10, cluster="eks", instance=f"{name}:10073", labels={LABEL: name}) for name in ("prod", "test")
    ]
    exporters[0].set("offline_partitions", after(300, 4))
    made = []
    for name, text in files(Values(cluster_label=LABEL)).items():
        made.append(tmp_path / name)
        made[-1].write_text(text)
    fires = f'ALERTS{{alertname="KafkaPartitionOffline", alertstate="firing", cluster="", {LABEL}="prod"}}'
    checks = [Check(500, f"count({fires})", 1), Check(500, "count(ALERTS)", 1)]
    series = [each for exporter in exporters for each in exporter.series()]
    assert failures(write(tmp_path / "label.test.yml", [block("label", 15, series, checks)], 15, made)) == ""


def test_one_file_has_the_groups_of_all() -> None:
    values = Values(watchdog=True)
    text = one_file(values)
    assert text.startswith(HEADER.partition("{}")[0])
    assert {group["name"]: group for group in yaml.safe_load(text)["groups"]} == groups(values)
