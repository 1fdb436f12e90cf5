"""The rules that helm makes of the chart: `make full-deploy`."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from alerts.render import groups
from kafka_warden.rules.render import Values
from scripts.helm import CHART, NEWEST, OLDEST, HelmError, helm
from scripts.manifests import DEPLOY
from tests.deploy.operator_types import validate
from tests.deploy.releases import JOB, NAME, documents
from tests.rules.test_values import REFUSED
from tests.support.serving import answering

pytestmark = [pytest.mark.full_deploy, pytest.mark.timeout(900)]

ONLY_RULES = ("--namespace=kafka", "--set=exporter.enabled=false,rules.enabled=true")
SET = "--set-json=rules.{}"
GROUP = "monitoring.coreos.com/v1"
LIST = f"/apis/{GROUP}/prometheusrules"


def _cluster(rules: dict[str, Any]) -> dict[str, bytes]:
    """What an API server of Kubernetes answers to helm, as far as it asks about PrometheusRules."""
    version = {"groupVersion": GROUP, "version": "v1"}
    kind = {"name": "prometheusrules", "singularName": "", "namespaced": True, "kind": "PrometheusRule", "verbs": []}
    answers = {
        "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "groups": [{"name": "monitoring.coreos.com", "versions": [version]}]},
        f"/apis/{GROUP}": {"kind": "APIResourceList", "groupVersion": GROUP, "resources": [kind]},
        LIST: {"kind": "PrometheusRuleList", "apiVersion": GROUP, "items": [rules]},
    }
    return {path: json.dumps(answer).encode() for path, answer in answers.items()}


def _installed(release: str, namespace: str = "kafka", job: str = NAME) -> dict[str, Any]:
    owner = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace} if release else None
    metadata = {"name": "r", "namespace": namespace, "labels": {JOB: job}, "annotations": owner}
    return {"apiVersion": GROUP, "kind": "PrometheusRule", "metadata": metadata}


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@pytest.mark.parametrize(
    ("installed", "allowed"),
    [
        (_installed("a"), True),
        (_installed("b", job="b"), True),
        (_installed("b"), False),
        (_installed("a", namespace="n"), False),
        (_installed(""), False),
    ],
    ids=["its own", "other rules", "another release", "another namespace", "kubectl"],
)
def test_a_second_copy_of_the_rules_is_refused(installed: dict[str, Any], allowed: bool, version: str) -> None:
    def template(*more: str) -> str:
        server = ("--dry-run=server", f"--kube-apiserver={address}", "--kubeconfig=/dev/null")
        always = (*ONLY_RULES, "--disable-openapi-validation", *server)
        return helm("template", "a", CHART, *always, *more, version=version)

    with answering(_cluster(installed), 200, **{"Content-Type": "application/json"}) as (address, requests):
        assert "kind: PrometheusRule" in template("--set=rules.once=false")
        assert LIST not in [path for path, _ in requests]
        if allowed:
            assert "kind: PrometheusRule" in template()
        else:
            with pytest.raises(HelmError, match="already in the PrometheusRule r of the namespace"):
                template()
        assert LIST in [path for path, _ in requests]


RULES = """\
labels: [cluster, log_dir]
groups:
- name: kafka-warden-a
  rules:
  - record: log_dir:a:last
    expr: last_over_time(a[${remembered}])
  - alert: Filling
    expr: a > ${disk_full} or b > ${disk_bytes}
    for: ${disk_for}
    labels: {severity: warning, exporter: kafka-warden}
    annotations: {summary: 'More than ${disk_full} for ${disk_for} at {{ $labels.log_dir }}.'}
  - alert: Filling
    expr: a > ${disk_critical} and b < ${disk_seconds}
    labels: {severity: critical}
- name: kafka-warden-b
  rules:
  - alert: Down
    expr: up == 0
    labels: {severity: critical}
"""
THRESHOLDS = [
    {"name": "remembered", "value": "6h", "unit": "duration"},
    {"name": "disk_full", "value": 0.9, "unit": "ratio", "below": "disk_critical"},
    {"name": "disk_bytes", "value": 1073741824, "unit": "bytes"},
    {"name": "disk_for", "value": "10m", "unit": "duration"},
    {"name": "disk_seconds", "sum_of": ["disk_for"], "unit": "seconds"},
    {"name": "disk_critical", "value": 0.97, "unit": "ratio"},
]


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("chart") / "kafka-warden"
    shutil.copytree(CHART, made, ignore=shutil.ignore_patterns("files"))
    (made / "files").mkdir()
    (made / "files" / "rules.yaml").write_text(RULES)
    (made / "files" / "thresholds.yml").write_text(yaml.safe_dump(THRESHOLDS))
    return made


def _groups(chart: Path, *settings: str, version: str = NEWEST) -> list[dict[str, Any]]:
    (document,) = documents(helm("template", "a", chart, *ONLY_RULES, *map(SET.format, settings), version=version))
    validate(document)
    return list(document["spec"]["groups"])


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_thresholds_are_filled_in(chart: Path, version: str) -> None:
    plain, _ = _groups(chart, version=version)
    assert [rule["expr"] for rule in plain["rules"]] == [
        "last_over_time(a[6h])",
        "a > 0.9 or b > 1073741824",
        "a > 0.97 and b < 600",
    ]
    assert plain["rules"][1]["for"] == "10m"
    assert plain["rules"][1]["annotations"] == {"summary": "More than 0.9 for 10m at {{ $labels.log_dir }}."}
    mine, _ = _groups(
        chart, 'thresholds={"disk_full":0.95,"disk_bytes":2147483648,"disk_for":"1h30m"}', version=version
    )
    assert mine["rules"][1]["expr"] == "a > 0.95 or b > 2147483648"
    assert mine["rules"][1]["for"] == "1h30m"
    assert mine["rules"][2]["expr"] == "a > 0.97 and b < 5400"


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_alerts_are_changed(chart: Path, version: str) -> None:
    settings = ('severity={"Down":"info"}', 'alertLabels={"team":"kafka"}', 'interval="30s"')
    one, other = _groups(chart, 'disabled=["Filling/critical"]', *settings, version=version)
    assert one["interval"] == other["interval"] == "30s"
    assert [rule.get("labels") for rule in one["rules"]] == [
        None,
        {"severity": "warning", "exporter": "kafka-warden", "team": "kafka"},
    ]
    assert other["rules"][0]["labels"] == {"severity": "info", "team": "kafka"}
    one, other = _groups(chart, 'disabled=["Filling","Down"]', version=version)
    assert ([rule.get("record") for rule in one["rules"]], other["rules"]) == (["log_dir:a:last"], [])
    assert "interval" not in one


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (
            'disabled=["Fillin"]',
            "remove Fillin from `rules.disabled` and `rules.severity`: there is no such alert, only Filling, ",
        ),
        ('disabled=["Down/warning"]', "remove Down/warning from"),
        ('severity={"Up":"info"}', "remove Up from"),
        ('severity={"Filling":"info"}', "`rules.disabled` takes Filling/warning or Filling/critical"),
        ('thresholds={"disk":1}', "remove disk from `rules.thresholds`"),
        (
            'thresholds={"disk_full":"1h"}',
            "set `rules.thresholds.disk_full` to a share above 0 and up to 1, such as 0.9,",
        ),
        (
            'thresholds={"disk_full":95}',
            "set `rules.thresholds.disk_full` to a share above 0 and up to 1, such as 0.9,",
        ),
        (
            'thresholds={"disk_bytes":0}',
            "set `rules.thresholds.disk_bytes` to a number above 0, such as 1073741824, not 0",
        ),
        (
            'thresholds={"disk_for":60}',
            "set `rules.thresholds.disk_for` to a duration above 0 in whole numbers with units,",
        ),
        (
            'thresholds={"disk_full":0.97}',
            "set `rules.thresholds.disk_full` to less than `disk_critical`, or raise that",
        ),
        ('thresholds={"disk_seconds":600}', "remove `rules.thresholds.disk_seconds`: it is computed; set disk_for"),
        (
            'alertLabels={"log_dir":"a"}',
            "rename log_dir in `rules.alertLabels`: the rules or Prometheus use this label",
        ),
        ('alertLabels={"my-team":"a"}', "rename my-team in `rules.alertLabels` to the name of a label, such as team"),
        ('alertLabels={"team":"{{ .x }}"}', "set `rules.alertLabels.team` to the text of the label"),
        ('interval="10m"', "set `rules.interval` to 1m or less"),
    ],
)
def test_changes_that_have_no_effect_are_refused(chart: Path, setting: str, sentence: str) -> None:
    with pytest.raises(HelmError) as refused:
        _groups(chart, setting)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    # The chart does not know the intervals of scrapes and polls. In a value of Helm, nothing is the default.
    [case for case in REFUSED if not re.search("scrapeInterval|pollInterval|: }", case[0])],
)
def test_what_the_command_refuses_is_refused(text: str, message: str) -> None:
    values = yaml.safe_load(text)
    beside = {key: values.pop(key) for key in ("clusterLabel", "links") if key in values}
    settings = [f"--set-json={key}={json.dumps(value)}" for key, value in ({"rules": values} | beside).items() if value]
    with pytest.raises(HelmError) as refused:
        helm("template", "a", CHART, *ONLY_RULES, *settings)
    assert re.split(r"[.:]", message.partition(": ")[0])[-1] in str(refused.value)


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_thresholds_are_those_of_the_command(version: str, tmp_path: Path) -> None:
    thresholds = {"disk_recent": "1h", "page_age": 100.5, "disk_full": 0.95, "disk_soon": 7200}
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"rules": {"thresholds": thresholds}}))
    made = [_groups(CHART, f"thresholds={json.dumps(thresholds)}", version=version)]
    made.append(
        documents(helm("template", "a", CHART, *ONLY_RULES, f"--values={file}", version=version))[0]["spec"]["groups"]
    )
    changed = {name: str(value) for name, value in thresholds.items()}
    assert made == [groups(Values(thresholds=changed))] * 2


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_label_of_the_cluster_is_changed(version: str) -> None:
    label = "--set=clusterLabel=kafka_cluster"
    (document,) = documents(helm("template", "a", CHART, *ONLY_RULES, label, version=version))
    validate(document)
    assert document["spec"]["groups"] == groups(Values(cluster_label="kafka_cluster"))
    with pytest.raises(HelmError, match="remove cluster_label from"):
        _groups(CHART, 'thresholds={"cluster_label":1}', version=version)


def test_rules_without_changes_are_those_of_the_manifest() -> None:
    assert _groups(CHART) == yaml.safe_load((DEPLOY / "prometheusrule.yaml").read_text())["spec"]["groups"]
