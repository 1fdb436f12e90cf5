"""The manifests of Kubernetes: valid, consistent with each other and with the program, and without rights."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from kafka_warden import cli
from kafka_warden.config import Config, load
from sandbox.certificates import Authority
from tests.deploy.dockerfile import ROOT, stages
from tests.deploy.test_image import PROJECT

DEPLOY = ROOT / "deploy"
ELSEWHERE = {"prometheusrule.yaml", "alertmanagerconfig.yaml"}
"""Made from the rules, and tested with them."""
OPERATORS = {"ServiceMonitor"}
"""Kinds of the Prometheus operator, whose schemas are not Kubernetes' own."""
MANIFESTS = sorted(
    file for file in DEPLOY.glob("*.yaml") if file.name not in ELSEWHERE and file.name != "kustomization.yaml"
)
SCHEMAS = ("1.28", "1.34")
NAME = {"app.kubernetes.io/name": "kafka-warden"}
MONITOR = {
    "spec": {"jobLabel", "selector", "endpoints"},
    "endpoint": {"port", "path", "interval", "scrapeTimeout", "relabelings"},
    "relabeling": {"action", "targetLabel", "replacement"},
}
"""Fields of monitoring.coreos.com/v1 that are used, as its API reference names them."""


def manifest(name: str) -> dict[str, Any]:
    """One manifest, by its file's name."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / f"{name}.yaml").read_text())
    return found


def pod() -> dict[str, Any]:
    """The pod of the Deployment."""
    found: dict[str, Any] = manifest("deployment")["spec"]["template"]["spec"]
    return found


def container() -> dict[str, Any]:
    """Its only container."""
    (found,) = pod()["containers"]
    return dict(found)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """What the sidecar makes of the ConfigMap, with files where the Deployment mounts the secret."""
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    (secret,) = [volume["secret"] for volume in pod()["volumes"] if "secret" in volume]
    made = tmp_path / "made"
    made.mkdir()
    authority = Authority(made, "authority")
    for item in secret["items"]:
        file = tmp_path / item["path"]
        file.write_bytes(authority.certificate.read_bytes() if file.suffix == ".pem" else b"password\n")
        file.chmod(secret["defaultMode"])
    text = manifest("configmap")["data"]["warden.yml"]
    file = tmp_path / "warden.yml"
    file.write_text(text.replace(mounts["secrets"], str(tmp_path)))
    return load({}, {}, file)


@pytest.mark.parametrize("version", SCHEMAS)
@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_manifests_are_valid(file: Path, version: str) -> None:
    """Every manifest has only fields that this version of Kubernetes knows, with values of their types."""
    data = yaml.safe_load(file.read_text())
    if data["kind"] not in OPERATORS:
        kubernetes_validate.validate(data, version, strict=True)
    assert data["metadata"]["name"] == "kafka-warden"
    assert data["metadata"]["labels"] == NAME
    assert "namespace" not in data["metadata"]


def test_kustomization_lists_every_manifest() -> None:
    """All manifests are applied together, the rules made elsewhere among them."""
    listed = manifest("kustomization")["resources"]
    assert set(listed) == {file.name for file in MANIFESTS} | ELSEWHERE
    assert len(listed) == len(set(listed))


def test_config_map_is_a_configuration(config: Config) -> None:
    """The configuration loads, with every secret that it names mounted from the secret, and does what is promised."""
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    text = manifest("configmap")["data"]["warden.yml"]
    (secret,) = [volume["secret"] for volume in pod()["volumes"] if "secret" in volume]
    named = set(re.findall(rf"{mounts['secrets']}/(\S+)", text))
    assert named == {item["path"] for item in secret["items"]}
    assert config.jmx.enabled
    assert config.jmx.password is not None
    assert not config.not_in_effect()
    assert str(config.state.path.parent) == mounts["state"]
    assert config.web.listen.host == ""


def test_ports_agree(config: Config) -> None:
    """The container, the service and the configuration name one port, the default."""
    (port,) = container()["ports"]
    (served,) = manifest("service")["spec"]["ports"]
    default = load({"--bootstrap-servers": "127.0.0.1:9092"}, {}).web.listen.port
    assert port["containerPort"] == served["port"] == config.web.listen.port == default
    assert served["targetPort"] == port["name"]
    (endpoint,) = manifest("servicemonitor")["spec"]["endpoints"]
    assert endpoint["port"] == served["name"]
    assert endpoint["path"] == "/metrics"


def test_arguments_are_the_commands() -> None:
    """The arguments parse, and the file is where the ConfigMap is mounted, under the key that it has."""
    parsed = cli._parser().parse_args(container()["args"])
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    assert str(parsed.config.parent) == mounts["config"]
    assert parsed.config.name in manifest("configmap")["data"]
    assert "command" not in container()


def test_volumes_are_mounted() -> None:
    """Every volume is mounted, every mount has a volume, and only the state can be written."""
    volumes = {volume["name"] for volume in pod()["volumes"]}
    mounts = container()["volumeMounts"]
    assert {mount["name"] for mount in mounts} == volumes
    assert {mount["name"] for mount in mounts if not mount.get("readOnly")} == {"state"}
    assert [mount["mountPath"] for mount in mounts if mount["name"] == "state"] == [stages()["sidecar"].one("WORKDIR")]


def test_pod_has_no_rights() -> None:
    """Not root, no token, no capability, no writable root, no host: Kubernetes' profile "restricted" and more."""
    user = stages()["sidecar"].one("USER")
    security = pod()["securityContext"]
    assert f"{security['runAsUser']}:{security['runAsGroup']}" == user
    assert security["fsGroup"] == security["runAsGroup"]
    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    rights = container()["securityContext"]
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["readOnlyRootFilesystem"] is True
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert pod()["automountServiceAccountToken"] is False
    assert manifest("serviceaccount")["automountServiceAccountToken"] is False
    assert pod()["serviceAccountName"] == manifest("serviceaccount")["metadata"]["name"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod().keys()
    assert all("hostPath" not in volume for volume in pod()["volumes"])
    assert "env" not in container()


def test_secret_is_readable_by_its_owner_only() -> None:
    """The secret's files can be read by their owner only; the values are in no manifest."""
    (secret,) = [volume["secret"] for volume in pod()["volumes"] if "secret" in volume]
    assert secret["defaultMode"] == 0o400
    assert not [file for file in MANIFESTS if yaml.safe_load(file.read_text())["kind"] == "Secret"]


def test_probes_ask_what_is_served() -> None:
    """Liveness is about a restart, readiness about the first poll; the start may take a minute."""
    paths = {kind: container()[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness", "startup")}
    assert {kind: get["path"] for kind, get in paths.items()} == {
        "liveness": "/-/healthy",
        "readiness": "/-/ready",
        "startup": "/-/healthy",
    }
    assert {get["port"] for get in paths.values()} == {"http"}
    served = (ROOT / "exporter" / "kafka_warden" / "web" / "responses.py").read_text()
    assert all(f'"{get["path"]}"' in served for get in paths.values())
    start = container()["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 60


def test_labels_select_the_pod() -> None:
    """Deployment, Service and ServiceMonitor find each other by one label; Prometheus' job is what the rules say."""
    deployment = manifest("deployment")["spec"]
    assert deployment["selector"]["matchLabels"] == NAME == deployment["template"]["metadata"]["labels"]
    assert manifest("service")["spec"]["selector"] == NAME
    monitor = manifest("servicemonitor")["spec"]
    assert monitor["selector"]["matchLabels"] == NAME
    assert manifest("service")["metadata"]["labels"][monitor["jobLabel"]] == "kafka-warden"


def test_service_monitor_has_known_fields() -> None:
    """Only fields of the operator's API; the label `cluster`, by which the rules keep clusters apart, is set."""
    assert manifest("servicemonitor")["apiVersion"] == "monitoring.coreos.com/v1"
    spec = manifest("servicemonitor")["spec"]
    assert spec.keys() <= MONITOR["spec"]
    for endpoint in spec["endpoints"]:
        assert endpoint.keys() <= MONITOR["endpoint"]
        assert all(relabeling.keys() <= MONITOR["relabeling"] for relabeling in endpoint["relabelings"])
        assert "cluster" in [relabeling["targetLabel"] for relabeling in endpoint["relabelings"]]


def test_image_is_of_this_version() -> None:
    """Manifests, compose and the documentation speak of the image of this version, from no registry."""
    image = f"kafka-warden:{PROJECT['version']}"
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert container()["image"] == compose["services"]["kafka-warden"]["image"] == image
    named = re.findall(r"kafka-warden:\d[\w.]*", (ROOT / "docs" / "install.md").read_text())
    assert set(named) == {image}


def test_documentation_makes_the_secret() -> None:
    """The secret that docs/install.md makes has the keys that the Deployment takes."""
    (secret,) = [volume["secret"] for volume in pod()["volumes"] if "secret" in volume]
    made = re.search(r"kubectl create secret generic (\S+) (.*)", (ROOT / "docs" / "install.md").read_text())
    assert made
    assert made[1] == secret["secretName"]
    assert set(re.findall(r"--from-file=(\S+)", made[2])) == {item["key"] for item in secret["items"]}
