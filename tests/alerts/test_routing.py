"""What an Alertmanager with other alerts takes of `alertmanager.yml`, and the operator's manifest made of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from alerts import routing
from alerts.render import ROUTING
from sandbox.monitoring_tools import tools
from tests.alerts.test_alertmanager import routed
from tests.support.processes import checked
from tests.support.rules import alerting_rules

THEIRS: Final = "their-team"
OURS: Final = 'exporter = "kafka-warden"'
"""The label of all alerts here: others may have alerts of the same name."""
ROUTE: Final = {
    *("receiver", "groupBy", "groupWait", "groupInterval", "repeatInterval"),
    *("matchers", "continue", "routes", "muteTimeIntervals", "activeTimeIntervals"),
}
"""Fields of monitoring.coreos.com/v1alpha1, as its API reference names them."""
SPEC: Final = {"route", "receivers", "inhibitRules", "muteTimeIntervals"}
INHIBITION: Final = {"sourceMatch", "targetMatch", "equal"}
MATCHER: Final = {"name", "matchType", "value"}
INTERVAL: Final = {"times", "weekdays", "daysOfMonth", "months", "years"}


def receivers(route: dict[str, Any]) -> set[str]:
    below = (receivers(child) for child in route.get("routes", ()))
    return {route["receiver"]}.union(*below) if "receiver" in route else set().union(*below)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of a team with other alerts, and what docs/how-to/prometheus.md adds to it."""
    example = yaml.safe_load(routing.EXAMPLE.read_text())
    whole = {
        "route": {"receiver": THEIRS, "routes": example["route"]["routes"]},
        "receivers": [{"name": THEIRS}, *(each for each in example["receivers"] if each["name"] != "others")],
        **{name: example[name] for name in ("inhibit_rules", "time_intervals")},
    }
    file = tmp_path_factory.mktemp("theirs") / "alertmanager.yml"
    file.write_text(yaml.safe_dump(whole))
    return file


def test_a_configuration_with_our_routes_loads(config: Path) -> None:
    checked(tools().amtool, "check-config", config)


@pytest.mark.parametrize("severity", ["critical", "warning", "info"])
def test_alerts_go_where_the_whole_file_sends_them(config: Path, severity: str) -> None:
    labels = {"severity": severity, "cluster": "prod", "exporter": "kafka-warden"}
    assert routed(labels, config) == routed(labels) != THEIRS


def test_other_alerts_are_left_alone(config: Path) -> None:
    """An alert of others goes to their receiver, also with a name of ours; inhibitions need our label on both sides."""
    for name in ("NodeDown", "KafkaNoActiveController"):
        assert routed({"alertname": name, "severity": "critical"}, config) == THEIRS
    rules = yaml.safe_load(config.read_text())["inhibit_rules"]
    assert rules
    assert all(OURS in rule[side] for rule in rules for side in ("source_matchers", "target_matchers"))
    assert all(rule["labels"]["exporter"] == "kafka-warden" for rule in alerting_rules())


def routes(route: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield route
    for child in route.get("routes", ()):
        yield from routes(child)


def test_manifest_has_the_fields_of_the_operator() -> None:
    manifest = yaml.safe_load(ROUTING.read_text())
    spec = manifest["spec"]
    assert (manifest["apiVersion"], manifest["kind"]) == ("monitoring.coreos.com/v1alpha1", "AlertmanagerConfig")
    assert manifest["metadata"] == {"name": "kafka-warden", "labels": {"app.kubernetes.io/name": "kafka-warden"}}
    assert spec.keys() == SPEC
    assert {receiver["name"] for receiver in spec["receivers"]} == receivers(spec["route"])
    every = [*spec["route"]["matchers"], *(matcher for route in routes(spec["route"]) for matcher in route["matchers"])]
    for route in routes(spec["route"]):
        assert route.keys() <= ROUTE
        assert set(route.get("muteTimeIntervals", ())) <= {mute["name"] for mute in spec["muteTimeIntervals"]}
    for rule in spec["inhibitRules"]:
        assert rule.keys() == INHIBITION
        every += rule["sourceMatch"] + rule["targetMatch"]
    assert all(matcher.keys() == MATCHER and matcher["matchType"] in {"=", "=~", "!=", "!~"} for matcher in every)
    for mute in spec["muteTimeIntervals"]:
        assert mute.keys() == {"name", "timeIntervals"}
        for interval in mute["timeIntervals"]:
            assert interval.keys() <= INTERVAL
            assert all(times.keys() == {"startTime", "endTime"} for times in interval.get("times", ()))


def text(matcher: dict[str, str]) -> str:
    """A matcher as a configuration file has it."""
    return f'{matcher["name"]} {matcher["matchType"]} "{matcher["value"]}"'


def test_manifest_says_what_the_example_says() -> None:
    spec, example = yaml.safe_load(ROUTING.read_text())["spec"], yaml.safe_load(routing.EXAMPLE.read_text())
    assert [
        {
            "source_matchers": [text(matcher) for matcher in rule["sourceMatch"]],
            "target_matchers": [text(matcher) for matcher in rule["targetMatch"]],
            "equal": rule["equal"],
        }
        for rule in spec["inhibitRules"]
    ] == example["inhibit_rules"]
    ours, theirs = (list(routes(route)) for route in (spec["route"], example["route"]["routes"][0]))
    assert [[text(matcher) for matcher in route["matchers"]] for route in ours] == [r["matchers"] for r in theirs]
    assert [route.get("repeatInterval") for route in ours] == [route.get("repeat_interval") for route in theirs]


def test_a_matcher_without_quotes_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What Alertmanager reads and the conversion does not is an error, and no matcher that selects something else."""
    file = tmp_path / "alertmanager.yml"
    file.write_text(routing.EXAMPLE.read_text().replace('severity = "critical"', "severity = critical"))
    monkeypatch.setattr(routing, "EXAMPLE", file)
    with pytest.raises(ValueError, match="severity = critical"):
        routing.manifest()
