"""The rules that helm makes of the chart: `make full-deploy`."""

import json
from typing import Any

import pytest

from scripts.helm import CHART, NEWEST, OLDEST, HelmError, helm
from tests.deploy.releases import JOB, NAME
from tests.support.serving import answering

pytestmark = [pytest.mark.full_deploy, pytest.mark.timeout(900)]

ONLY_RULES = ("--namespace=kafka", "--set=sidecar.enabled=false,rules.enabled=true")
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
    """In any namespace, unless `rules.once` is false: then the cluster is not asked."""

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
