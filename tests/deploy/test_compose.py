"""compose.yaml and what it mounts: fields that exist, paths that exist, settings that Kafka and the sidecar know."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_warden.config import load
from sandbox.monitoring import ALERTS, JOB
from sandbox.monitoring_tools import tools
from tests.deploy.dockerfile import ROOT, whole
from tests.support.processes import checked

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
NODES = {name: service for name, service in SERVICES.items() if service.get("image", "").startswith("apache/kafka:")}
BROKERS = {name: node for name, node in NODES.items() if node["environment"]["KAFKA_PROCESS_ROLES"] == "broker"}
KNOWN = set((Path(__file__).parent / "recorded" / "kafka-4.1.1-properties.txt").read_text().split())
TOP = {"name", "services", "networks", "volumes"}
SERVICE = {
    *("build", "cap_drop", "depends_on", "environment", "healthcheck", "hostname", "image", "mem_limit", "networks"),
    *("ports", "read_only", "restart", "security_opt", "stop_grace_period", "volumes"),
}
"""Fields of the compose specification that are used."""
OF_THE_IMAGE = {"CLUSTER_ID", "KAFKA_HEAP_OPTS", "KAFKA_JMX_PORT", "KAFKA_JMX_HOSTNAME"}
"""What the image's own scripts read; every other variable becomes a property of the broker."""


def mounts(name: str) -> dict[str, str]:
    return {volume.split(":")[1]: volume.split(":")[0] for volume in SERVICES[name]["volumes"]}


def endpoints(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"\b([a-z][\w-]*):(\d{4,5})\b", text))


def test_fields_exist() -> None:
    assert {key for key in COMPOSE if not key.startswith("x-")} == TOP
    for service in SERVICES.values():
        assert service.keys() <= SERVICE
        assert re.fullmatch(r"[a-z/-]+:v?\d[\w.]*", service["image"])


def test_everything_named_is_there() -> None:
    volumes, networks = set(), set()
    for name, service in SERVICES.items():
        networks |= set(service["networks"])
        assert set(service.get("depends_on", ())) <= SERVICES.keys()
        for source in mounts(name).values():
            if source.startswith("./"):
                assert (ROOT / source).exists(), source
            else:
                volumes.add(source)
    assert volumes == COMPOSE["volumes"].keys()
    assert networks == COMPOSE["networks"].keys()


def test_ports_are_of_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert published
    for port in published:
        host, outside, inside = port.split(":")
        assert host == "127.0.0.1"
        assert outside == inside


@pytest.mark.parametrize("name", NODES)
def test_kafka_knows_its_settings(name: str) -> None:
    environment = NODES[name]["environment"]
    for variable in environment.keys() - OF_THE_IMAGE:
        assert variable.removeprefix("KAFKA_").lower().replace("_", ".") in KNOWN, variable
    assert environment["KAFKA_JMX_HOSTNAME"] == NODES[name]["hostname"] == name
    assert NODES[name]["image"] == "apache/kafka:4.1.1"
    assert environment["KAFKA_LOG_DIRS"] in mounts(name)


def test_nodes_form_one_cluster() -> None:
    ids = {name: node["environment"]["KAFKA_NODE_ID"] for name, node in NODES.items()}
    assert len(set(ids.values())) == len(ids)
    assert {node["environment"]["CLUSTER_ID"] for node in NODES.values()} == {COMPOSE["x-node"]["CLUSTER_ID"]}
    assert len(COMPOSE["x-node"]["CLUSTER_ID"]) == 22
    for name, node in BROKERS.items():
        environment = node["environment"]
        assert environment["KAFKA_CONTROLLER_QUORUM_VOTERS"] == f"{ids['controller']}@controller:9093"
        assert environment["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{name}:9092"
    assert "KAFKA_ADVERTISED_LISTENERS" not in NODES["controller"]["environment"]
    assert int(BROKERS["kafka-1"]["environment"]["KAFKA_DEFAULT_REPLICATION_FACTOR"]) <= len(BROKERS)


def test_sidecar_is_configured() -> None:
    file = ROOT / "deploy" / "compose" / "warden.yml"
    config = load({}, {}, file)
    assert endpoints(config.kafka.properties["bootstrap.servers"]) == {(name, "9092") for name in BROKERS}
    assert config.jmx.port == COMPOSE["x-node"]["KAFKA_JMX_PORT"]
    assert config.jmx.controllers == {str(NODES["controller"]["environment"]["KAFKA_NODE_ID"]): ("controller", 9999)}
    stage = whole("exporter")
    assert mounts("kafka-warden")[stage.words("CMD")[-1]] == "./deploy/compose/warden.yml"
    assert mounts("kafka-warden")[stage.one("WORKDIR")] == "state"
    assert SERVICES["kafka-warden"]["build"] == {"context": ".", "target": stage.name}
    assert str(config.web.listen.port) == SERVICES["kafka-warden"]["ports"][0].split(":")[-1]
    assert not config.not_in_effect()


def test_sidecar_has_no_rights() -> None:
    service = SERVICES["kafka-warden"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_who_talks_shares_a_network() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "compose" / "prometheus.yml").read_text())
    for host, port in endpoints(yaml.safe_dump(config)):
        assert "monitoring" in SERVICES[host]["networks"], host
        assert port == SERVICES[host]["ports"][0].split(":")[-1]
    (job,) = config["scrape_configs"]
    assert job["job_name"] == JOB
    assert "cluster" in job["static_configs"][0]["labels"]
    assert {name for name, service in SERVICES.items() if "kafka" in service["networks"]} == NODES.keys() | {
        "kafka-warden"
    }


def test_prometheus_loads_its_configuration(tmp_path: Path) -> None:
    target = next(target for target, source in mounts("prometheus").items() if source == "./alerts")
    text = (ROOT / "deploy" / "compose" / "prometheus.yml").read_text()
    (pattern,) = yaml.safe_load(text)["rule_files"]
    assert pattern.startswith(target + "/")
    assert sorted(ALERTS.glob(pattern.removeprefix(target + "/"))) == sorted(ALERTS.glob("*.rules.yml"))
    file = tmp_path / "prometheus.yml"
    file.write_text(text.replace(target, str(ALERTS)))
    printed = checked(tools().promtool, "check", "config", file)
    assert f"{len(list(ALERTS.glob('*.rules.yml')))} rule files found" in printed


def test_programs_find_their_files() -> None:
    assert mounts("prometheus")["/etc/prometheus/prometheus.yml"] == "./deploy/compose/prometheus.yml"
    assert mounts("alertmanager")["/etc/alertmanager/alertmanager.yml"] == "./alerts/alertmanager.yml"
    assert mounts("grafana")["/etc/grafana/provisioning"] == "./grafana/provisioning"
    assert mounts("grafana")["/usr/share/grafana/public/alerts/runbooks"] == "./alerts/runbooks"


def test_grafana_finds_its_dashboards() -> None:
    providers = [
        provider["options"]["path"]
        for file in sorted((ROOT / "grafana" / "provisioning").glob("dashboards/*.y*ml"))
        for provider in yaml.safe_load(file.read_text())["providers"]
    ]
    assert providers
    for path in providers:
        assert mounts("grafana").get(path) == "./grafana/dashboards", path
    for file in sorted((ROOT / "grafana" / "provisioning").glob("datasources/*.y*ml")):
        urls = [source["url"] for source in yaml.safe_load(file.read_text())["datasources"]]
        assert "http://prometheus:9090" in [re.sub(r"\$\{[^}]*:-([^}]*)\}", r"\1", url) for url in urls]
