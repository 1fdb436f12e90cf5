"""`kafka-warden check` on real brokers: nothing in healthy set-ups, and the one thing in broken ones."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_warden.check import connection
from kafka_warden.clients.kafka.librdkafka import librdkafka
from sandbox import Cluster, ClusterSettings, Security
from sandbox.admin_principals import MONITORING, Acl
from sandbox.protection import MONITOR
from tests.cluster.sidecar import configuration
from tests.support.doctor import Doctor

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka, pytest.mark.usefixtures("logging_as_before")]

CODES = dict(
    zip(
        MONITORING,
        ("KW-ACL-CLUSTER-DESCRIBE", "KW-ACL-CLUSTER-CONFIGS", "KW-ACL-TOPIC-DESCRIBE", "KW-ACL-TOPIC-CONFIGS"),
        strict=True,
    )
)


def look(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str], user: str = "admin", **kafka: str
) -> Doctor:
    """Make a doctor of this cluster; `kafka` are properties, with underscores for dots."""
    doctor = Doctor(folder, capsys, configuration(cluster, user))
    doctor.config |= {"poll": {"deadline": "4s"}, "state": {"path": str(folder / "state")}}
    doctor.kafka(**kafka)
    return doctor


def test_a_plain_cluster_is_healthy(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.admin.create_topic("checked", partitions=3, replication_factor=3)
    found = look(cluster, tmp_path, capsys).checks()
    assert {each["result"] for each in found} == {"ok"}
    assert len([each for each in found if each["code"] == "KW-JMX"]) == len(cluster.nodes)
    assert {"KW-CLOCK", "KW-CONTROLLER", "KW-JMX-JMXQUERY"} <= {each["code"] for each in found}


def test_brokers_without_the_reporter_of_jmx(
    make_cluster: Callable[..., Cluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = make_cluster(brokers=2, broker_properties={"metric.reporters": ""})
    cluster.admin.create_topic("checked", partitions=2, replication_factor=2)
    found = [each for each in look(cluster, tmp_path, capsys).checks() if each["code"] == "KW-JMX"]
    assert [each["result"] for each in found] == ["warning", "warning", "ok"]
    assert "none of Kafka's own metrics: replication throttles, throttled requests" in found[0]["message"]
    assert "metric.reporters" in found[0]["fix"]


def test_second_opinions(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Librdkafka does not allow a value, an error as history needs it; jmxquery finds no Java: a warning."""
    cluster.admin.create_topic("kept", partitions=1)
    doctor = look(cluster, tmp_path, capsys)
    doctor.config["history"] = {"kafka": {"topic": "kept"}}
    with monkeypatch.context() as patched:
        # No value of the configuration is out of its range: such ones become the nearest in it.
        patched.setattr(connection, "librdkafka", lambda given: {**librdkafka(given), "socket.timeout.ms": 400_000})
        doctor.one("KW-LOGIN-LIBRDKAFKA", "socket.timeout.ms", "history.kafka.topic needs it")
    monkeypatch.setenv("PATH", str(tmp_path))
    doctor = look(cluster, tmp_path, capsys)
    doctor.one("KW-JMX-JMXQUERY", "jmxquery reads 0 of", "does not depend on it", result="warning")


@pytest.fixture(scope="module")
def secured(no_process_left: None) -> Iterator[Cluster]:
    """SASL_SSL with ACLs, and JMX with a password."""
    settings = ClusterSettings(brokers=1, security=Security.SASL_SSL_SCRAM, jmx_password=True, tiered=False)
    with Cluster(settings) as cluster:
        cluster.admin.create_topic("secured", partitions=2)
        yield cluster


def test_least_rights_are_enough(secured: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor = look(secured, tmp_path, capsys, MONITOR)
    found = doctor.checks()
    assert {each["result"] for each in found} == {"ok"}
    assert {"KW-TLS", "KW-LOGIN", "KW-LOGIN-LIBRDKAFKA", "KW-JMX"} <= {each["code"] for each in found}
    del doctor.config["jmx"]
    assert {each["result"] for each in doctor.checks()} == {"ok"}


@pytest.mark.parametrize("acl", MONITORING, ids="-".join)
def test_each_missing_acl(secured: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], acl: Acl) -> None:
    doctor = look(secured, tmp_path, capsys, MONITOR)
    secured.admin.revoke(MONITOR, [acl])
    try:
        doctor.one(CODES[acl], "kafka-acls.sh --bootstrap-server", f"--allow-principal User:{MONITOR}")
    finally:
        secured.admin.grant(MONITOR, [acl])
    assert doctor.wrong() == {}


def test_a_principal_without_rights(secured: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert look(secured, tmp_path, capsys, "stranger").wrong().keys() == set(CODES.values())
