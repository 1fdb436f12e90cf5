"""The rules load, do what their promtool tests say, and name only what the sidecar serves."""

import re
from pathlib import Path
from typing import Any

import pytest

from kafka_warden.derive import stuck
from kafka_warden.rules.thresholds import seconds, thresholds
from sandbox.monitoring import ALERTS
from sandbox.monitoring_tools import tools
from tests.alerts.runbook import PAGES, blocks
from tests.support.processes import checked
from tests.support.rules import (
    FILES,
    LABEL_LIST,
    METRIC,
    SERVED,
    TARGET_LABELS,
    VALUES,
    alerting_rules,
    check_queries,
    rules_in,
)

OF_ALERTS = {"alertname", "alertstate", "data", "exporter", "severity", "what"}
SELECTOR_LABEL = re.compile(r"(?<!\$)\b(\w+)\s*(?:=~|!~|!=|=)\s*(?:\\?\"|%q)")
SELECTED = re.compile(r'(\w+)(?:=~|!~|!=|=)"([\w|]+)"')
"""A label and what it is compared with, alternatives and all."""
DECIDED = {
    "KafkaBrokerUnreachable": {"explained"},
    "KafkaLogDirOffline": {"explained"},
    "KafkaIsrFlapping": {"explained"},
    "KafkaReplicasOutOfSync": {"explained"},
    "KafkaPartitionOffline": {"tier"},
    "KafkaPartitionUnderMinIsr": {"tier"},
    "KafkaThrottleTooLow": {"explained"},
    "KafkaWardenBlind": {"data"},
}
"""Labels besides the severity, for inhibitions."""
RULES = rules_in(*(file.read_text() for file in FILES))
ALERTING = alerting_rules()
each_alert = pytest.mark.parametrize("rule", ALERTING, ids=lambda rule: rule["alert"])


def texts(rule: dict[str, Any]) -> list[str]:
    return [rule["expr"], *rule.get("annotations", {}).values(), *rule.get("labels", {}).values()]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_rule_files_load(file: Path) -> None:
    checked(tools().promtool, "check", "rules", "--lint=all", "--lint-fatal", file)


def test_alertmanager_configuration_loads() -> None:
    checked(tools().amtool, "check-config", ALERTS / "alertmanager.yml")


@each_alert
def test_alert_is_complete(rule: dict[str, Any]) -> None:
    name = rule["alert"]
    assert rule["labels"].keys() - DECIDED.get(name, set()) == {"severity", "exporter"}
    assert rule["labels"]["exporter"] == "kafka-warden"
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert seconds(rule["for"]) > 0
    assert seconds(rule["keep_firing_for"]) > 0
    assert {"summary", "description", "runbook_url"} <= rule["annotations"].keys()
    assert rule["annotations"]["runbook_url"] == f"alerts/runbooks/{name}.md"


@each_alert
def test_no_sentence_depends_on_a_number(rule: dict[str, Any]) -> None:
    """`1 partitions have` is wrong: counts stand at the end, behind their noun."""
    assert re.findall(r"\{\{-? [.$][vV]alue\b[^}]*\}\} \w+s (?!a |per )\w+", "\n".join(texts(rule))) == []


@each_alert
def test_commands_of_kafka_can_be_pasted(rule: dict[str, Any]) -> None:
    """Each is a line of its own, without a full stop, with `B` and `CC` of the runbook."""
    for line in rule["annotations"]["description"].splitlines():
        for tool in re.finditer(r"\bkafka-(?!warden)[a-z-]+\b(?:\.sh)?", line):
            assert line[tool.end() :].startswith(" --bootstrap-server $B $CC")
            assert tool[0].endswith(".sh")
            assert re.fullmatch(r"( *|\{\{- \$alter := printf \")", line[: tool.start()])
            assert not line.endswith(".")


def test_rules_name_only_what_is_served() -> None:
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    known = OF_ALERTS.union(TARGET_LABELS, *SERVED.values())
    promql = [text for rule in RULES for text in texts(rule)]
    for text in [*promql, *(query for page in PAGES for query in queries(page))]:
        for name, selector in METRIC.findall(text):
            assert name in SERVED, f"{name} in: {text}"
            labels = set(SELECTOR_LABEL.findall(selector))
            assert labels <= SERVED[name] | TARGET_LABELS, f"{labels} of {name} in: {text}"
        for _, names in LABEL_LIST.findall(text):
            assert {label.strip() for label in names.split(",") if label.strip()} <= known, text
        assert set(SELECTOR_LABEL.findall(text)) <= known, text
        assert set(re.findall(r"\w+:kafka_warden_\w+:\w+", text)) <= recorded, text


def test_rules_compare_with_values_that_exist() -> None:
    """Every value of a label whose values the code names is one of these: a misspelt one would never match."""
    compared: dict[str, set[str]] = {}
    for text in [text for rule in RULES for text in texts(rule)]:
        for label, values in SELECTED.findall(text.replace('\\"', '"')):
            compared.setdefault(label, set()).update(values.split("|"))
    assert compared.keys() & VALUES.keys() == {"cause", "problem", "reason", "side", "source", "state"}
    for label in compared.keys() & VALUES.keys():
        assert compared[label] <= VALUES[label], label


def test_every_problem_has_its_alert() -> None:
    shown_only = {"fetch_size", "idle_rate", "copy_quota_below_segment", "client_fetch_quota_above"}
    selected = re.findall(r'problem=~?"([\w|]+)"', " ".join(rule["expr"] for rule in RULES))
    alerted = {problem for problems in selected for problem in problems.split("|")}
    assert alerted == VALUES["problem"] - shown_only


def test_the_sidecar_waits_for_moves_without_a_name_as_the_rule_does_for_others() -> None:
    assert float(thresholds()["stuck_wait"].value) == stuck.STUCK_WAIT
    recorded = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
    (lasting,) = set(re.findall(r'cause=~"([^"]+)"', recorded["replica:kafka_warden_reassignment_hopeless:max"]))
    assert set(lasting.split("|")) == stuck.LASTING
    (left_out,) = set(re.findall(r'cause!~"([^"]+)"', recorded["replica:kafka_warden_reassignment_stuck:last"]))
    assert set(left_out.split("|")) - {stuck.Cause.TARGET_DOWN} == stuck.EXPLAINED


def test_every_cause_of_a_stuck_move_is_described() -> None:
    (rule,) = [rule for rule in ALERTING if rule["alert"] == "KafkaReassignmentStuck"]
    named = set(re.findall(r'eq \$cause "(\w+)"', rule["annotations"]["description"]))
    assert named == VALUES["cause"] - stuck.EXPLAINED - {stuck.Cause.NO_PROGRESS}


def queries(page: Path) -> list[str]:
    """The PromQL of a runbook page, one query per paragraph or line."""
    found: list[str] = []
    for block in blocks(page, "promql"):
        lines = block.splitlines()
        single = all(line.count("(") == line.count(")") for line in lines)
        found += lines if single else [block]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_runbook_queries_parse(page: Path, tmp_path: Path) -> None:
    assert queries(page)
    check_queries(queries(page), tmp_path)
