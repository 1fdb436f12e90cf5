"""The manifests of Kubernetes: valid, consistent with each other and with the program, and without rights."""

import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from kafka_warden import cli
from kafka_warden.config import Config, load
from sandbox.certificates import Authority
from scripts.manifests import DEPLOY, OTHERS, PLAIN
from tests.deploy.dockerfile import ROOT, whole
from tests.deploy.releases import JOB, NAME, SIDECARS, Release, recorded
from tests.deploy.test_image import PROJECT

OPERATORS = {"ServiceMonitor", "PodMonitor", "KafkaUser"}
"""Kinds of operators, whose schemas are not Kubernetes' own."""
SCHEMAS = ("1.26", "1.34")
"""The oldest version of Kubernetes that the chart allows, and a new one."""
PAGE = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text()


@pytest.fixture(params=SIDECARS)
def release(request: pytest.FixtureRequest) -> Release:
    return recorded(request.param)


@pytest.fixture
def config(release: Release, tmp_path: Path) -> Config:
    """What the sidecar makes of the ConfigMap, with files where the Deployment mounts the Secrets."""
    made = tmp_path / "made"
    made.mkdir()
    authority = Authority(made, "authority")
    for name in release.secret_files:
        file = tmp_path / name
        file.write_bytes(authority.certificate.read_bytes() if file.suffix == ".pem" else b"password\n")
        file.chmod(0o400)
    text = release.config.replace(release.mounts.get("secrets", "none"), str(tmp_path))
    file = tmp_path / "warden.yml"
    file.write_text(text)
    return load({}, {}, file)


@pytest.mark.parametrize("version", SCHEMAS)
def test_manifests_are_valid(release: Release, version: str) -> None:
    for kind, data in release.manifests.items():
        if kind not in OPERATORS:
            kubernetes_validate.validate(data, version, strict=True)
        assert data["metadata"]["name"] == (NAME if kind == "KafkaUser" else release.name)
        assert data["metadata"]["labels"].items() >= release.labels.items()
        assert "namespace" not in data["metadata"]


def test_kustomization_lists_every_manifest() -> None:
    listed = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    assert set(listed) == {file.name for file in DEPLOY.glob("*.yaml")} - {"kustomization.yaml"}
    assert {*OTHERS} - {*listed} == {"kustomization.yaml"}
    assert len(listed) == len(set(listed))


def test_config_map_is_a_configuration(release: Release, config: Config) -> None:
    named = set(re.findall(rf"{release.mounts.get('secrets', 'none')}/(\S+)", release.config))
    assert named == set(release.secret_files)
    assert not config.not_in_effect()
    assert str(config.state.path.parent) == release.mounts["state"]
    assert config.web.listen.host == ""
    assert config.jmx.enabled == (release.name == NAME)
    assert not config.jmx.enabled or config.jmx.password is not None


def test_ports_agree(release: Release, config: Config) -> None:
    (port,) = release.container["ports"]
    (served,) = release.spec("Service")["ports"]
    default = load({"--bootstrap-servers": "127.0.0.1:9092"}, {}).web.listen.port
    assert port["containerPort"] == served["port"] == config.web.listen.port == default
    assert served["targetPort"] == port["name"]
    assert release.endpoint["port"] == served["name"] == port["name"]
    assert release.endpoint["path"] == "/metrics"


def test_arguments_are_the_commands(release: Release) -> None:
    parsed = cli._parser().parse_args(release.container["args"])
    assert str(parsed.config.parent) == release.mounts["config"]
    assert parsed.config.name in release.manifests["ConfigMap"]["data"]
    assert "command" not in release.container


def test_volumes_are_mounted(release: Release) -> None:
    mounts = release.container["volumeMounts"]
    assert {mount["name"] for mount in mounts} == {volume["name"] for volume in release.pod["volumes"]}
    assert {mount["name"] for mount in mounts if not mount.get("readOnly")} == {"state"}
    assert release.mounts["state"] == whole("exporter").one("WORKDIR")


def test_pod_has_no_rights(release: Release) -> None:
    pod, account = release.pod, release.manifests["ServiceAccount"]
    user = whole("exporter").one("USER")
    security = pod["securityContext"]
    assert f"{security['runAsUser']}:{security['runAsGroup']}" == user
    assert security["fsGroup"] == security["runAsGroup"]
    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    rights = release.container["securityContext"]
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["readOnlyRootFilesystem"] is True
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert pod["automountServiceAccountToken"] is False
    assert account["automountServiceAccountToken"] is False
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert all("hostPath" not in volume for volume in pod["volumes"])
    assert "env" not in release.container


def test_secret_is_readable_by_its_owner_only(release: Release) -> None:
    projected = [volume["projected"] for volume in release.pod["volumes"] if "projected" in volume]
    assert [volume["defaultMode"] for volume in projected] == [0o400] * bool(release.secret_files)
    assert "Secret" not in release.manifests


def test_probes_ask_what_is_served(release: Release) -> None:
    """No probe depends on Kafka; the start may take a minute. A new pod polls before the old one stops."""
    for kind in ("liveness", "readiness", "startup"):
        assert release.container[f"{kind}Probe"]["httpGet"] == {"path": "/-/healthy", "port": "http"}
    assert '"/-/healthy"' in (ROOT / "exporter" / "kafka_warden" / "web" / "site.py").read_text()
    assert release.spec("Deployment")["minReadySeconds"] == 30
    start = release.container["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 60


def test_prometheus_has_the_job_of_the_rules(release: Release) -> None:
    selected = release.manifests["Service"]["metadata"]["labels"]
    labels = release.pod_labels if release.monitor["kind"] == "PodMonitor" else selected
    assert release.monitor["spec"]["jobLabel"] == JOB
    assert labels[JOB] == NAME


def test_image_is_of_this_version(release: Release) -> None:
    image = f"kafka-warden:{PROJECT['version']}"
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert release.container["image"] == compose["services"]["kafka-warden"]["image"] == image
    for text in ((ROOT / "docs" / "how-to" / "install.md").read_text(), PAGE):
        assert set(re.findall(r"(?<![\w/])kafka-warden:\d[\w.]*", text)) <= {image}


def test_documentation_makes_the_secret() -> None:
    made = re.search(r"kubectl create secret generic (\S+) (.*)", PAGE)
    assert made
    keys = set(re.findall(r"--from-file=(\S+)", made[2]))
    assert {(made[1], key) for key in keys} == set(recorded(PLAIN).secret_files.values())
