"""The chart by helm itself, 3 and 4: `make full-deploy`."""

import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from kafka_warden.config import load
from kafka_warden.reload import FIXED
from sandbox.monitoring_tools import tools
from scripts.helm import CHART, NEWEST, OLDEST, HelmError, helm, program, run, template
from scripts.manifests import DEPLOY, EXAMPLES, IMAGE, made, outputs
from tests.deploy.dockerfile import ROOT
from tests.deploy.operator_types import validate
from tests.deploy.releases import NAME, Release, documents, parse
from tests.support.processes import checked

pytestmark = [pytest.mark.full_deploy, pytest.mark.timeout(900)]

ALL = sorted(EXAMPLES.glob("*.yaml"))
MINIMAL = (IMAGE, 'cluster="prod"', 'config.kafka={"bootstrap.servers":"a:9092"}')
OTHER_USER = 'config.kafka={"bootstrap.servers":"a:9092","sasl.username":"x"}'
OPERATOR = "monitoring.coreos.com"
EVERYTHING = ROOT / "tests" / "deploy" / "everything.yaml"
CHART_FILE = yaml.safe_load((CHART / "Chart.yaml").read_text())
COVERED = {"exporter", "strimzi", "replicas", "resources"}
"""Values of the other tests."""
versions = pytest.mark.parametrize("version", [OLDEST, NEWEST])


def release(*settings: str, name: str = "kafka-warden-prod") -> Release:
    return parse(name, template(name, None, *MINIMAL, *settings))


def test_manifests_are_what_helm_makes() -> None:
    files = outputs()
    assert files.keys() == made()
    assert {path.name: path.read_text() for path in files} == {path.name: text for path, text in files.items()}


@versions
@pytest.mark.parametrize("example", ALL, ids=lambda file: file.stem)
def test_example_is_linted(example: Path, version: str) -> None:
    found = helm("lint", "--strict", CHART, f"--values={example}", f"--set-json={IMAGE}", version=version)
    assert "0 chart(s) failed" in found
    assert "[WARNING]" not in found


@versions
@pytest.mark.parametrize("example", [*ALL, EVERYTHING], ids=lambda file: file.stem)
def test_example_is_valid(example: Path, version: str) -> None:
    found = documents(template("kafka-warden-a", example, IMAGE, version=version))
    assert found
    for document in found:
        if document["apiVersion"].startswith(OPERATOR):
            validate(document)
        elif document["kind"] != "KafkaUser":
            kubernetes_validate.validate(document, "1.34", strict=True)


@versions
def test_every_value_has_an_effect(version: str) -> None:
    text = template("kafka-warden-a", EVERYTHING, version=version)
    marks = set(re.findall(r"mark-\d+", EVERYTHING.read_text()))
    assert len(marks) == 42
    assert marks - set(re.findall(r"mark-\d+", text)) == set()
    assert (
        not set(yaml.safe_load((CHART / "values.yaml").read_text()))
        - COVERED
        - set(yaml.safe_load(EVERYTHING.read_text()))
    )


def test_every_object_has_the_standard_labels() -> None:
    mine = json.dumps({"app.kubernetes.io/name": "a", "release": "a", "owner": "a"})
    settings = (
        f"commonLabels={mine}",
        f"podLabels={mine}",
        f"monitor.labels={mine}",
        "rules.labels=null",
        "extraObjects=[]",
    )
    everything = documents(template("kafka-warden-a", EVERYTHING, *settings))
    for labels in [document["metadata"]["labels"] for document in everything]:
        assert labels["app.kubernetes.io/name"] == NAME
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["helm.sh/chart"] == f"{NAME}-{CHART_FILE['version']}"
        assert labels["app.kubernetes.io/version"] == CHART_FILE["appVersion"]
        assert labels["owner"] == "a"


@pytest.mark.parametrize("name", ["123", "a.b", "kafka-warden.c"])
def test_any_name_of_a_release_is_valid(name: str) -> None:
    """A number, which YAML would not read as text, and dots, which the name of a Service must not have."""
    found = release(name=name)
    assert found.labels.items() <= found.pod_labels.items()
    for document in found.manifests.values():
        kubernetes_validate.validate(document, "1.34", strict=True)
        assert re.fullmatch(r"[a-z][a-z0-9-]*", document["metadata"]["name"])


def test_names_that_look_like_numbers_are_text() -> None:
    made = release(
        'serviceAccount.name="1"',
        'priorityClassName="2"',
        'stateClaim="3"',
        'secrets=[{"name":"4","files":{"5":"6"}}]',
        'strimzi={"cluster":"7","user":"8"}',
    )
    kubernetes_validate.validate(made.manifests["Deployment"], "1.34", strict=True)
    assert made.secret_files == {"5": ("4", "6")}
    user = made.manifests["KafkaUser"]["metadata"]
    assert (user["name"], user["labels"]["strimzi.io/cluster"]) == ("8", "7")


def test_a_properties_file_may_have_the_brokers() -> None:
    assert release('config.kafka={"properties_file":"/run/secrets/kafka-warden/client.properties"}').config


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (MINIMAL[1:], "set `image.repository` to the image in your registry"),
        ((MINIMAL[0], MINIMAL[2]), None),
        (MINIMAL[:2], "set `bootstrap.servers` in `config.kafka`"),
        ((*MINIMAL, 'config.web.listen="127.0.0.1:10073"'), "set `config.web.listen` to an address that other pods"),
        ((*MINIMAL, 'config.web.config_file="/a"'), "set `webFile.tls` or `webFile.login` to true"),
        ((*MINIMAL, "webFile.tls=true"), "set `config.web.config_file`"),
        ((*MINIMAL, 'stateClaim="a"', "replicas=2"), "set `replicas` to 1"),
        ((*MINIMAL, 'strimzi.cluster="c"', OTHER_USER), "set `strimzi.user` and `sasl.username`"),
        ((*MINIMAL, 'alertmanagerConfig={"enabled":true,"receivers":{"pager":{}}}'), "the routes know only"),
        ((*MINIMAL, 'monitor={"kind":"PodMonitor","interval":"5s"}'), "set `monitor.scrapeTimeout` to"),
        ((*MINIMAL, 'monitor={"kind":"PodMonitor","interval":"1m1s"}'), "set `monitor.interval` to 1m or less"),
        ((*MINIMAL, 'monitor={"kind":"PodMonitor","interval":"15"}'), "set `monitor.interval` to a duration above 0"),
        ((*MINIMAL, 'monitor={"kind":"PodMonitor","scrapeTimeout":""}'), "set `monitor.scrapeTimeout` to a duration"),
        ((*MINIMAL, 'monitor.kind="PodMonitor"', 'clusterLabel="topic"'), "rename topic in `clusterLabel`: the rules"),
        (
            (*MINIMAL, "alertmanagerConfig.enabled=true", 'clusterLabel="a-b"'),
            "rename a-b in `clusterLabel` to the name",
        ),
        ((*MINIMAL, 'imagee="a"'), "imagee"),
    ],
    ids=lambda each: None if isinstance(each, tuple) else each,
)
def test_values_that_cannot_work_are_refused(settings: tuple[str, ...], sentence: str | None) -> None:
    if sentence is None:  # `cluster` is needed by what scrapes only
        settings, sentence = (*settings, 'monitor.kind="PodMonitor"'), "set `cluster` to the name of this Kafka cluster"
    with pytest.raises(HelmError) as refused:
        template("a", None, *settings)
    assert sentence in str(refused.value)


def test_configuration_is_passed_through(tmp_path: Path) -> None:
    config = {
        "kafka": {"bootstrap.servers": "a:9092"},
        "jmx": {"brokers": {"1": "a:9901", "2": "b:9902"}},
        "network": {"bytes_per_second": 125000000},
        "limits": {"series": 20000},
        "topics": {"deny": ["__.*", "a{2,3}", "{{ .Release.Name }}"]},
        "poll": {"interval": "10s"},
    }
    text = release(f"config={json.dumps(config)}").config
    assert yaml.safe_load(text).items() >= config.items()
    file = tmp_path / "warden.yml"
    file.write_text(text.replace("{{ .Release.Name }}", "a"))  # the sidecar refuses what a tool did not fill in
    read = load({}, {}, file)
    assert read.network.bytes_per_second == 125000000
    assert set(read.jmx.brokers) == {1, 2}


def test_pod_is_replaced_for_options_that_need_it() -> None:
    def checksum(option: str = "poll.interval", value: str = "10s") -> str:
        section, _, name = option.partition(".")
        keys = [name] if section == "kafka" else [part for part in f"{name}x".split(".") if part]
        nested: Any = value
        for key in reversed(keys):
            nested = {key: nested}
        config = {"kafka": {"bootstrap.servers": "a:9092"}}
        config[section] = config.get(section, {}) | nested
        made = release(f"config={json.dumps(config)}")
        return str(made.spec("Deployment")["template"]["metadata"]["annotations"]["checksum/restart"])

    same = checksum()
    assert checksum("poll.interval", "20s") == checksum("kafka.ssl.ca.location") == same
    assert all(checksum(option) != same for option in FIXED)


def test_rules_are_rules(tmp_path: Path) -> None:
    links = 'links={"runbooks":"https://wiki.example/w/","grafana":"https://grafana.example"}'
    found = documents(template("o", EXAMPLES / "once.yaml", links))
    (rules,) = [document["spec"] for document in found if document["kind"] == "PrometheusRule"]
    annotations = [rule["annotations"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule]
    for alert in annotations:
        assert alert["runbook_url"].startswith("https://wiki.example/w/alerts/runbooks/")
        assert alert["dashboard_url"].startswith("https://grafana.example/d/")
        runbook = ROOT / alert["runbook_url"].removeprefix("https://wiki.example/w/")
        assert runbook.exists()
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump(rules))
    checked(tools().promtool, "check", "rules", file)
    plain = yaml.safe_load((DEPLOY / "prometheusrule.yaml").read_text())["spec"]
    assert len(annotations) == sum("alert" in rule for group in plain["groups"] for rule in group["rules"])


def test_dashboards_are_those_of_grafana() -> None:
    found = documents(template("o", EXAMPLES / "once.yaml"))
    boards = [document for document in found if document["kind"] == "ConfigMap"]
    texts = {name: text for board in boards for name, text in board["data"].items()}
    assert texts == {file.name: file.read_text() for file in (ROOT / "grafana" / "dashboards").glob("*.json")}
    assert all(board["metadata"]["labels"]["grafana_dashboard"] == "1" for board in boards)
    linked = template("o", EXAMPLES / "once.yaml", 'links.runbooks="https://wiki.example"')
    assert '"query": "https://wiki.example/"' in linked
    assert '"/public/"' not in linked


def test_receivers_are_filled_in() -> None:
    hook = [{"url": "http://127.0.0.1:9099/"}]
    setting = f'alertmanagerConfig.receivers={{"kafka-pager":{{"webhookConfigs":{json.dumps(hook)}}}}}'
    found = documents(template("o", EXAMPLES / "once.yaml", setting))
    (routes,) = [document for document in found if document["kind"] == "AlertmanagerConfig"]
    validate(routes)
    (plain,) = [document["spec"] for document in documents((DEPLOY / "alertmanagerconfig.yaml").read_text())]
    filled = [one | {"webhookConfigs": hook} if one["name"] == "kafka-pager" else one for one in plain["receivers"]]
    assert routes["spec"] == plain | {"receivers": filled}


def test_label_of_the_cluster_is_changed() -> None:
    label = 'clusterLabel="kafka_cluster"'
    (first, *_) = release(label, 'monitor.kind="PodMonitor"').endpoint["relabelings"]
    assert first == {"action": "replace", "targetLabel": "kafka_cluster", "replacement": "prod"}
    plain, changed = (
        next(document["spec"] for document in found if document["kind"] == "AlertmanagerConfig")
        for found in (documents(template("o", EXAMPLES / "once.yaml", *more)) for more in ((), (label,)))
    )
    assert plain["route"]["groupBy"] == ["alertname", "cluster", "tier"]
    assert all("cluster" in rule["equal"] for rule in plain["inhibitRules"])
    assert changed == json.loads(json.dumps(plain).replace('"cluster"', '"kafka_cluster"'))


def test_web_file_changes_probes_and_monitor() -> None:
    web = ('config.web.config_file="/run/secrets/kafka-warden/web.yml"', 'monitor.kind="ServiceMonitor"')
    tls = release(*web, "webFile.tls=true")
    assert tls.endpoint["scheme"] == "https"
    probes = ("livenessProbe", "readinessProbe", "startupProbe")
    assert [tls.container[probe]["httpGet"]["scheme"] for probe in probes] == ["HTTPS"] * 3
    login = release(*web, "webFile.login=true", 'monitor.basicAuth={"username":{"name":"a","key":"b"}}')
    validate(login.monitor)
    assert [login.container[probe]["tcpSocket"] for probe in probes] == [{"port": "http"}] * 3


def test_two_sidecars_are_not_lost_together() -> None:
    one, two = release(), release("replicas=2")
    assert "PodDisruptionBudget" not in one.manifests
    assert "topologySpreadConstraints" not in one.pod
    for document in (two.manifests["Deployment"], two.manifests["PodDisruptionBudget"]):
        kubernetes_validate.validate(document, "1.26", strict=True)
    assert two.spec("PodDisruptionBudget")["maxUnavailable"] == 1
    (spread,) = two.pod["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    for selector in (spread["labelSelector"], two.spec("PodDisruptionBudget")["selector"]):
        assert selector == {"matchLabels": two.labels}
    mine = [{"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    spread_by_user = release("replicas=2", f"topologySpreadConstraints={json.dumps(mine)}")
    assert spread_by_user.pod["topologySpreadConstraints"] == mine
    assert "PodDisruptionBudget" not in release("replicas=2", "exporter.enabled=false").manifests


def test_openshift_gives_the_ids() -> None:
    def pod(*settings: str) -> dict[str, Any]:
        arguments = [f"--set-json={setting}" for setting in (*MINIMAL, *settings)]
        text = helm("template", "a", CHART, "--api-versions=security.openshift.io/v1", *arguments)
        return parse("a", text).pod

    found = pod('secrets=[{"name":"a","files":{"b":"c"}}]', 'stateClaim="d"')
    assert found["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    (container,) = found["containers"]
    assert container["securityContext"].items() >= {"allowPrivilegeEscalation": False, "privileged": False}.items()
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    kinds = {kind for volume in found["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret"}
    unset = 'podSecurityContext={"runAsUser":null,"runAsGroup":null,"fsGroup":null}'
    assert release(unset).pod["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod("podSecurityContext.runAsUser=1000650000")["securityContext"]["runAsUser"] == 1000650000
    assert (
        release("podSecurityContext.fsGroup=5").pod["securityContext"].items()
        >= {
            "runAsUser": 10073,
            "fsGroup": 5,
        }.items()
    )


def test_digest_wins_over_the_tag() -> None:
    digest = f"sha256:{'0a' * 32}"
    assert release('image.tag="1"').container["image"] == "kafka-warden:1"
    assert release('image.tag="1"', f'image.digest="{digest}"').container["image"] == f"kafka-warden@{digest}"


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ((), 22500),
        (("config.limits.series=1000000",), 1002500),
        (("config.limits=null",), 22500),
        (("monitor.sampleLimit=7",), 7),
    ],
    ids=str,
)
def test_prometheus_takes_as_many_series_as_the_sidecar_shows(settings: tuple[str, ...], limit: int) -> None:
    assert release('monitor.kind="PodMonitor"', *settings).monitor["spec"]["sampleLimit"] == limit
    assert load({"--bootstrap-servers": "127.0.0.1:9092"}, {}).limits.series == 20000


def test_state_on_a_claim_has_one_writer() -> None:
    made = release('stateClaim="state"')
    assert made.spec("Deployment")["strategy"] == {"type": "Recreate"}
    volumes = {volume["name"]: volume for volume in made.pod["volumes"]}
    assert volumes["state"]["persistentVolumeClaim"] == {"claimName": "state"}


def test_history_topic_gets_its_acls() -> None:
    made = release('strimzi.cluster="c"', 'config.history={"kafka":{"topic":"h"}}')
    acls = made.spec("KafkaUser")["authorization"]["acls"]
    written = [acl["resource"]["name"] for acl in acls if "Write" in acl["operations"]]
    assert written == ["h"]
    for empty in ("null", '{"kafka":null}'):
        assert release('strimzi.cluster="c"', f"config.history={empty}").spec("KafkaUser")["authorization"]["acls"]


@pytest.mark.parametrize("name", ["a", "kafka-warden-a"])
def test_notes_have_commands_for_objects_that_exist(name: str) -> None:
    settings = [f"--set-json={setting}" for setting in MINIMAL]
    printed = helm("install", name, CHART, "--namespace=kafka", "--dry-run=client", *settings)
    notes = printed.partition("NOTES:")[2]
    made = release(name=name)
    objects = {kind: made.manifests[kind]["metadata"]["name"] for kind in ("Deployment", "Service")}
    assert f"kubectl --namespace kafka rollout status deployment/{objects['Deployment']}\n" in notes
    assert f"kubectl --namespace kafka exec deployment/{objects['Deployment']} -- kafka-warden check --config" in notes
    assert f"kubectl --namespace kafka port-forward service/{objects['Service']} 10073" in notes
    assert "http://127.0.0.1:10073/" in notes
    assert "Prometheus does not scrape it yet" in notes


def test_package_has_rules_and_dashboards(tmp_path: Path) -> None:
    helm("package", CHART, "--destination", tmp_path)
    (packed,) = tmp_path.glob("*.tgz")
    assert helm("template", "o", packed, f"--values={EXAMPLES / 'once.yaml'}") == helm(
        "template", "o", CHART, f"--values={EXAMPLES / 'once.yaml'}"
    )


def test_kustomize_builds_the_manifests_and_the_documented_overlay(tmp_path: Path) -> None:
    def built(folder: Path) -> str:  # kustomize prints a bare `=`, which is no text for YAML 1.1
        return run([program("kubectl"), "kustomize", folder]).replace("matchType: =\n", "matchType: '='\n")

    kinds = {document["kind"] for document in documents(built(DEPLOY))}
    assert kinds >= {"Deployment", "Service", "ConfigMap", "ServiceMonitor", "PrometheusRule", "AlertmanagerConfig"}
    page = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text()
    overlay = page.split("## Without Helm")[1].split("```yaml\n")[1].split("```")[0]
    (tmp_path / "kafka-warden").mkdir()
    (tmp_path / "kafka-warden" / "deploy").symlink_to(DEPLOY)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(overlay)
    text = yaml.safe_dump({"kafka": {"bootstrap.servers": "mine:9092"}})
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": {"warden.yml": text}}
    (mine / "my-config.yaml").write_text(yaml.safe_dump(config))
    made = parse("kafka-warden", built(mine))
    assert made.container["image"].startswith("registry.example/kafka-warden:")
    assert made.endpoint["relabelings"][0]["replacement"] == "my-cluster"
    assert made.config == text
