"""The chart, as far as no helm is needed: current, strict, and each release with its own cluster only."""

import itertools
import re
from typing import Any

import jsonschema
import pytest
import yaml

from scripts.helm import CHART
from scripts.manifests import EXAMPLES, SUMS, sums
from scripts.release import chart_version
from tests.deploy.dockerfile import ROOT
from tests.deploy.releases import SIDECARS, Release, recorded
from tests.deploy.test_image import PROJECT

SCHEMA: dict[str, Any] = yaml.safe_load((CHART / "values.schema.json").read_text())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
MADE_BY_HELM = {"global"}


def values(example: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text())
    return found


def test_manifests_are_current() -> None:
    assert sums() == SUMS.read_text(), "run make manifests, or git checkout what was edited by hand"


def test_versions_are_those_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = PROJECT["version"]
    assert chart["appVersion"] == version
    assert chart["version"] == chart_version(version)


def test_schema_knows_every_value() -> None:
    assert set(SCHEMA["properties"]) - MADE_BY_HELM == set(VALUES)
    jsonschema.validate(VALUES, SCHEMA)


@pytest.mark.parametrize("example", [file.stem for file in EXAMPLES.glob("*.yaml")])
def test_examples_follow_the_schema(example: str) -> None:
    jsonschema.validate(_merged(VALUES, values(example)), SCHEMA)


def _merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return old | {key: _merged(old.get(key), value) for key, value in new.items()}


def test_documented_values_follow_the_schema() -> None:
    jsonschema.validate(_merged(VALUES, documented("Web file")), SCHEMA)
    changes = documented("Tune the alerts")
    jsonschema.validate(_merged(VALUES, changes), SCHEMA)
    groups = yaml.safe_load((CHART / "files" / "rules.yaml").read_text())["groups"]
    alerts = {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
    changed = [*changes["rules"]["disabled"], *changes["rules"]["severity"]]
    assert {name.partition("/")[0] for name in changed} <= alerts
    thresholds = yaml.safe_load((CHART / "files" / "thresholds.yml").read_text())
    assert changes["rules"]["thresholds"].keys() <= {threshold["name"] for threshold in thresholds}


def documented(section: str) -> dict[str, Any]:
    page = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text()
    found: dict[str, Any] = yaml.safe_load(page.split(f"## {section}")[1].split("```yaml\n")[1].split("```")[0])
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        {"imagee": {}},
        {"image": {"repo": "a"}},
        {"image": {"repository": "registry.example/kafka-warden:1.0"}},
        {"image": {"repository": "https://registry.example/kafka-warden"}},
        {"monitor": {"kind": "Probe"}},
        {"replicas": 3},
        {"rules": {"severity": {"KafkaWardenDown": "page"}}},
        {"secrets": [{"name": "a", "files": {"../a": "b"}}]},
        {"config": {"web": {"listen": 10073}}},
        {"networkPolicy": {"from": []}},
        {"strimzi": {"apiVersion": "kafka.strimzi.io/v1alpha1"}},
        {"fullnameOverride": "1a"},
    ],
    ids=str,
)
def test_wrong_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(_merged(VALUES, wrong), SCHEMA)


@pytest.mark.parametrize(
    "emptied",
    [
        *(name for name, value in SCHEMA["properties"].items() if "properties" in value and name != "resources"),
        "networkPolicy.from",
        "rules.disabled",
        "webFile.tls",
    ],
)
def test_values_that_are_emptied_are_refused(emptied: str) -> None:
    section, _, name = emptied.partition(".")
    others = {key: value for key, value in VALUES[section].items() if key != name}
    remaining = {key: value for key, value in VALUES.items() if key != section} | ({section: others} if name else {})
    with pytest.raises(jsonschema.ValidationError, match="is a required property"):
        jsonschema.validate(remaining, SCHEMA)


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a label selector matches; only `matchLabels` is used, and an empty one would match everything."""
    assert selector.keys() <= {"matchLabels"}
    wanted = selector["matchLabels"]
    assert wanted
    return bool(wanted.items() <= labels.items())


@pytest.mark.parametrize(("one", "other"), [*itertools.product(SIDECARS, repeat=2)])
def test_release_selects_its_own_pods_only(one: str, other: str) -> None:
    selecting, selected = recorded(one), recorded(other)
    own = one == other
    assert selects(selecting.spec("Deployment")["selector"], selected.pod_labels) == own
    assert selects({"matchLabels": selecting.spec("Service")["selector"]}, selected.pod_labels) == own
    assert scraped(selecting, selected) == ({values(one)["cluster"]} if own else set())
    if "NetworkPolicy" in selecting.manifests:
        assert selects(selecting.spec("NetworkPolicy")["podSelector"], selected.pod_labels) == own


def scraped(selecting: Release, selected: Release) -> set[str]:
    """The values of `cluster` that a release's monitor gives to the pods of another one."""
    kind, selector = selecting.monitor["kind"], selecting.monitor["spec"]["selector"]
    if kind == "PodMonitor":
        found = selects(selector, selected.pod_labels)
    else:
        service = selected.manifests["Service"]
        found = selects(selector, service["metadata"]["labels"])
        assert service["spec"]["selector"].items() <= selected.pod_labels.items()
    rules = [rule for rule in selecting.endpoint["relabelings"] if rule["targetLabel"] == "cluster"]
    return {rule["replacement"] for rule in rules} if found else set()


def test_user_of_strimzi_has_the_documented_acls() -> None:
    release = recorded("strimzi")
    user = release.manifests["KafkaUser"]
    granted = {
        (acl["resource"]["type"], acl["resource"].get("name"), operation)
        for acl in user["spec"]["authorization"]["acls"]
        for operation in acl["operations"]
    }
    assert granted == documented_acls()
    assert not {acl.get("type", "allow") for acl in user["spec"]["authorization"]["acls"]} - {"allow"}
    assert user["metadata"]["labels"]["strimzi.io/cluster"] == values("strimzi")["strimzi"]["cluster"]
    assert release.secret_files["kafka-password"] == (user["metadata"]["name"], "password")
    assert yaml.safe_load(release.config)["kafka"]["sasl.username"] == user["metadata"]["name"]


def documented_acls() -> set[tuple[str, str | None, str]]:
    """Type, name and operation of the ACLs of the commands at the top of docs/reference/acls.md."""
    block = re.search(r"```console\n(.*?)```", (ROOT / "docs" / "reference" / "acls.md").read_text(), re.DOTALL)
    assert block
    found: set[tuple[str, str | None, str]] = set()
    for command in block[1].replace("\\\n", " ").split("$ kafka-acls.sh")[1:]:
        topic = re.search(r"--topic '([^']+)'", command)
        kind = ("topic", topic[1]) if topic else ("cluster", None)
        found |= {(*kind, operation) for operation in re.findall(r"--operation (\w+)", command)}
    return found


def test_files_of_the_chart_are_those_of_the_repository() -> None:
    links = {file.name: file.resolve() for file in (CHART / "files").iterdir()}
    assert links == {
        "dashboards": ROOT / "grafana" / "dashboards",
        "thresholds.yml": ROOT / "exporter" / "kafka_warden" / "rules" / "thresholds.yml",
        "rules.yaml": CHART / "files" / "rules.yaml",
        "alertmanagerconfig.yaml": ROOT / "deploy" / "alertmanagerconfig.yaml",
    }
