"""What helm made of the examples of values, as data."""

from dataclasses import dataclass
from typing import Any

import yaml

from scripts import manifests
from scripts.manifests import DEPLOY, EXAMPLES, OTHERS, PLAIN, RENDERED, SHARED

NAME = "kafka-warden"
JOB = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"


@dataclass(frozen=True)
class Release:
    """The manifests of one release.

    Attributes:
        name: Of the release.
        manifests: By kind.
    """

    name: str
    manifests: dict[str, dict[str, Any]]

    def spec(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = self.manifests[kind]["spec"]
        return found

    @property
    def labels(self) -> dict[str, str]:
        return {JOB: NAME, INSTANCE: self.name}

    @property
    def pod(self) -> dict[str, Any]:
        found: dict[str, Any] = self.spec("Deployment")["template"]["spec"]
        return found

    @property
    def pod_labels(self) -> dict[str, str]:
        found: dict[str, str] = self.spec("Deployment")["template"]["metadata"]["labels"]
        return found

    @property
    def container(self) -> dict[str, Any]:
        (found,) = self.pod["containers"]
        return dict(found)

    @property
    def mounts(self) -> dict[str, str]:
        return {mount["name"]: mount["mountPath"] for mount in self.container["volumeMounts"]}

    @property
    def config(self) -> str:
        return str(self.manifests["ConfigMap"]["data"]["warden.yml"])

    @property
    def secret_files(self) -> dict[str, tuple[str, str]]:
        volumes = [volume["projected"] for volume in self.pod["volumes"] if volume["name"] == "secrets"]
        return {
            item["path"]: (source["secret"]["name"], item["key"])
            for volume in volumes
            for source in volume["sources"]
            for item in source["secret"]["items"]
        }

    @property
    def monitor(self) -> dict[str, Any]:
        (found,) = [self.manifests[kind] for kind in ("ServiceMonitor", "PodMonitor") if kind in self.manifests]
        return found

    @property
    def endpoint(self) -> dict[str, Any]:
        spec = self.monitor["spec"]
        (found,) = spec["endpoints" if "endpoints" in spec else "podMetricsEndpoints"]
        return dict(found)


def documents(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


def parse(name: str, text: str) -> Release:
    found = {document["kind"]: document for document in documents(text)}
    assert len(found) == len(documents(text))
    return Release(name, found)


def recorded(example: str) -> Release:
    """The release of an example, from the files that `make manifests` wrote."""
    if example == PLAIN:
        files = sorted(file for file in DEPLOY.glob("*.yaml") if file.name not in OTHERS)
        return parse(manifests.release(example), "---\n".join(file.read_text() for file in files))
    return parse(manifests.release(example), (RENDERED / f"{example}.yaml").read_text())


SIDECARS = tuple(sorted(file.stem for file in EXAMPLES.glob("*.yaml") if file.stem != SHARED))
"""The examples with a sidecar."""
