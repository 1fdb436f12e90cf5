"""Two things are wrong at once, and both are named."""

from collections.abc import Callable

from sandbox.certificates import Identity
from tests.check.conftest import ScriptedDoctor
from tests.check.test_broken import free_port
from tests.support.doctor import PASSWORD


def test_a_right_and_a_state_folder(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("deny", rights=["cluster_describe"])
    (doctor.folder / "file").touch()
    doctor.config["state"]["path"] = str(doctor.folder / "file" / "state")
    assert doctor.wrong().keys() == {"KW-ACL-CLUSTER-DESCRIBE", "KW-STATE"}


def test_two_rights(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("deny", rights=["cluster_configs", "topic_describe"])
    assert doctor.wrong().keys() == {"KW-ACL-CLUSTER-CONFIGS", "KW-ACL-TOPIC-DESCRIBE"}


def test_a_password_and_a_web_file(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("accounts", mechanism="SCRAM-SHA-256", users={"monitor": PASSWORD})
    doctor.login("canary-wrong")
    (doctor.folder / "web.yml").write_text("rate_limit: {interval: soon}\n")
    doctor.config["web"]["config_file"] = str(doctor.folder / "web.yml")
    assert doctor.wrong().keys() == {"KW-LOGIN", "KW-WEB-FILE"}


def test_a_broker_and_a_right(doctor: ScriptedDoctor) -> None:
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{doctor.brokers.ports[1]}")
    doctor.brokers.do("advertise", broker=2, host="no-such-broker.invalid", port=9092)
    doctor.brokers.do("deny", rights=["topic_configs"])
    assert doctor.wrong().keys() == {"KW-BROKER", "KW-ACL-TOPIC-CONFIGS"}


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


def test_a_clock_and_a_history_folder(doctor: ScriptedDoctor) -> None:
    """A warning and an error: the exit code is that of the error."""
    doctor.brokers.do("skew", seconds=-60.0)
    (doctor.folder / "file").touch()
    doctor.config["history"] = {"parquet": {"path": str(doctor.folder / "file")}}
    assert doctor.wrong().keys() == {"KW-CLOCK", "KW-HISTORY-FOLDER"}
    assert doctor.code == 1
