"""The rules load, do what their promtool tests say, and name only what the sidecar serves."""

import re
from pathlib import Path
from typing import Any

import pytest

from kafka_warden.rules.thresholds import seconds, thresholds
from sandbox.monitoring import ALERTS
from sandbox.monitoring_tools import tools
from tests.support.processes import checked
from tests.support.rules import FILES, alerting_rules, check_queries, rules_in

TARGET_LABELS = {"cluster", "job", "instance"}
OF_ALERTS = {"alertname", "alertstate", "data", "exporter", "severity", "what"}
PREFIX = "kafka_warden_"
METRIC = re.compile(rf"(?<![:\w]){PREFIX}(\w+)(?:\{{([^}}]*)\}})?")
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
LABEL_LIST = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")
RULES = rules_in(*(file.read_text() for file in FILES))
ALERTING = alerting_rules()
RUNBOOKS = [ALERTS / "runbooks" / f"{rule['alert']}.md" for rule in ALERTING]
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
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert seconds(rule["for"]) > 0
    assert seconds(rule["keep_firing_for"]) > 0
    assert {"summary", "description", "runbook_url"} <= rule["annotations"].keys()
    assert rule["annotations"]["runbook_url"] == f"alerts/runbooks/{name}.md"
    assert (ALERTS / "runbooks" / f"{name}.md").is_file()


@each_alert
def test_no_sentence_depends_on_a_number(rule: dict[str, Any]) -> None:
    """`1 partitions have` is wrong: counts stand at the end, behind their noun."""
    assert re.findall(r"\{\{-? [.$][vV]alue\b[^}]*\}\} \w+s (?!a |per )\w+", "\n".join(texts(rule))) == []


def catalogue() -> dict[str, set[str]]:
    from kafka_warden.catalogue import CATALOGUE  # noqa: PLC0415  a broken catalogue must fail one test, not all of this file

    return {PREFIX + metric.name: set(metric.labels) for metric in CATALOGUE}


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
    served = catalogue()
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    known = set().union(TARGET_LABELS, *served.values())
    promql = [text for rule in RULES for text in texts(rule)]
    known |= OF_ALERTS
    for text in [*promql, *(query for page in RUNBOOKS for query in queries(page))]:
        for name, selector in METRIC.findall(text):
            assert PREFIX + name in served, f"{PREFIX}{name} in: {text}"
            labels = set(SELECTOR_LABEL.findall(selector))
            assert labels <= served[PREFIX + name] | TARGET_LABELS, f"{labels} of {PREFIX}{name} in: {text}"
        for names in LABEL_LIST.findall(text):
            assert {label.strip() for label in names.split(",") if label.strip()} <= known, text
        assert set(SELECTOR_LABEL.findall(text)) <= known, text
        assert set(re.findall(r"\w+:kafka_warden_\w+:\w+", text)) <= recorded, text


def values_of_labels() -> dict[str, set[str]]:
    from kafka_warden import model  # noqa: PLC0415  as above
    from kafka_warden.derive import replica_state, stuck, throttle_problems, tiered  # noqa: PLC0415  as above

    return {
        "cause": set(stuck.Cause),
        "problem": set(throttle_problems.Problem) | set(tiered.Problem),
        "side": set(model.Side),
        "source": set(model.Source),
        "state": set(replica_state.ReplicaState) | set(model.BrokerState),
    }


def test_rules_compare_with_values_that_exist() -> None:
    """Every value of a label whose values the code names is one of these: a misspelt one would never match."""
    compared: dict[str, set[str]] = {}
    for text in [text for rule in RULES for text in texts(rule)]:
        for label, values in SELECTED.findall(text.replace('\\"', '"')):
            compared.setdefault(label, set()).update(values.split("|"))
    known = values_of_labels()
    assert {label for label in compared if label in known} == {"cause", "problem", "side", "source", "state"}
    for label in known:
        assert compared.get(label, set()) <= known[label], label


def test_every_problem_has_its_alert() -> None:
    from kafka_warden.derive import throttle_problems, tiered  # noqa: PLC0415  as above

    shown_only = {"fetch_size", "idle_rate", "copy_quota_below_segment", "client_fetch_quota_above"}
    selected = re.findall(r'problem=~?"([\w|]+)"', " ".join(rule["expr"] for rule in RULES))
    alerted = {problem for problems in selected for problem in problems.split("|")}
    assert alerted == (set(throttle_problems.Problem) | set(tiered.Problem)) - shown_only


def test_the_sidecar_waits_for_moves_without_a_name_as_the_rule_does_for_others() -> None:
    from kafka_warden.derive import stuck  # noqa: PLC0415  as above

    (wait,) = (float(each.value) for each in thresholds() if each.name == "stuck_wait")
    assert wait == stuck.STUCK_WAIT
    recorded = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
    (lasting,) = set(re.findall(r'cause=~"([^"]+)"', recorded["replica:kafka_warden_reassignment_hopeless:max"]))
    assert set(lasting.split("|")) == stuck.LASTING
    (left_out,) = set(re.findall(r'cause!~"([^"]+)"', recorded["replica:kafka_warden_reassignment_stuck:last"]))
    assert set(left_out.split("|")) - {stuck.Cause.TARGET_DOWN} == stuck.EXPLAINED


def test_every_cause_of_a_stuck_move_is_described() -> None:
    (rule,) = [rule for rule in ALERTING if rule["alert"] == "KafkaReassignmentStuck"]
    named = set(re.findall(r'eq \$cause "(\w+)"', rule["annotations"]["description"]))
    assert named
    assert named <= values_of_labels()["cause"]


def queries(page: Path) -> list[str]:
    """The PromQL of a runbook page, one query per paragraph or line."""
    found: list[str] = []
    for block in re.findall(r"```promql\n(.*?)```", page.read_text(), re.DOTALL):
        lines = block.splitlines()
        single = all(line.count("(") == line.count(")") for line in lines)
        found += lines if single else [block]
    return found


@pytest.mark.parametrize("page", RUNBOOKS, ids=lambda page: page.stem)
def test_runbook_queries_parse(page: Path, tmp_path: Path) -> None:
    assert queries(page)
    check_queries(queries(page), tmp_path)
