"""Nothing is wrong in healthy set-ups, and the output says so. If two things are wrong at once, both are named."""

from collections.abc import Callable

from sandbox.certificates import Identity
from tests.check.conftest import ScriptedDoctor
from tests.check.test_broken import free_port
from tests.support.doctor import PASSWORD


def test_a_plain_cluster_without_jmx(doctor: ScriptedDoctor) -> None:
    found = doctor.checks()
    assert {each["result"] for each in found} == {"ok"}
    assert {"KW-DNS", "KW-BROKER", "KW-CONTROLLER", "KW-ACL-TOPIC-CONFIGS", "KW-STATE"} <= {
        each["code"] for each in found
    }
    assert doctor.code == 0


def test_a_cluster_without_topics(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("remove_topics", topics=["orders"])
    assert {each["result"] for each in doctor.checks()} == {"ok"}


def test_a_secured_cluster(doctor: ScriptedDoctor, secured: Callable[..., Identity]) -> None:
    secured()
    doctor.login(protocol="SASL_SSL")
    doctor.brokers.do("accounts", mechanism="SCRAM-SHA-256", users={"monitor": PASSWORD})
    found = doctor.checks()
    assert {each["result"] for each in found} == {"ok"}
    assert {"KW-TLS", "KW-LOGIN", "KW-LOGIN-LIBRDKAFKA"} <= {each["code"] for each in found}


def test_a_cluster_in_zookeeper_mode(doctor: ScriptedDoctor) -> None:
    """The moves are asked of the active controller, which is a broker; what the version cannot give is a warning."""
    doctor.brokers.do("zookeeper", controller=2)
    doctor.brokers.each("versions", versions={"DescribeQuorum": (0, -1)})
    found = doctor.wrong()
    assert found.keys() == {"KW-VERSION"}
    assert doctor.code == 0
    assert [each["broker"] for each in doctor.brokers.seen("ListPartitionReassignments")] == [2]


def test_a_right_and_a_state_folder(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("deny", rights=["cluster_describe"])
    (doctor.folder / "file").touch()
    doctor.config["state"]["path"] = str(doctor.folder / "file" / "state")
    assert doctor.wrong().keys() == {"KW-ACL-CLUSTER-DESCRIBE", "KW-STATE"}


def test_an_authority_and_a_port(doctor: ScriptedDoctor, secured: Callable[..., Identity]) -> None:
    """Of two bootstrap servers, each with a fault of its own; neither is useful, so both are errors."""
    pair = secured()
    doctor.kafka(
        bootstrap_servers=f"127.0.0.1:{doctor.brokers.ports[1]},127.0.0.1:{free_port()}",
        ssl_ca_location=str(pair.certificate),
    )
    found = doctor.wrong()
    assert found.keys() == {"KW-TLS", "KW-TCP"}
    assert {text.partition(" ")[0] for text in found.values()} == {"error"}
