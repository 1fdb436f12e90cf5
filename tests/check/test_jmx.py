"""JMX: what is wrong with it is named for each process, and costs nothing else."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.passwords import write_secret
from tests.check.conftest import ScriptedDoctor
from tests.check.test_broken import free_port
from tests.clients.jmx_server import JmxServer, compile_java, password_options
from tests.support.doctor import PASSWORD
from tests.support.serving import answering


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JVM that is no broker."""
    return compile_java(tmp_path_factory.mktemp("classes"))


def test_closed_port(doctor: ScriptedDoctor) -> None:
    """Of one broker."""
    doctor.config["jmx"] = {"brokers": {1: f"127.0.0.1:{free_port()}"}}
    doctor.one("KW-JMX", "broker 1 (127.0.0.1:", "nothing listens", "JMX_PORT")


def test_port_of_another_process(doctor: ScriptedDoctor, classes: Path, stack: ExitStack) -> None:
    """It answers JMX, and has no bean of Kafka's."""
    server = stack.enter_context(JmxServer(classes))
    doctor.config["jmx"] = {"brokers": {1: f"127.0.0.1:{server.port}"}}
    doctor.one("KW-JMX", "no beans of a Kafka broker")


def test_wrong_password(doctor: ScriptedDoctor, classes: Path, stack: ExitStack) -> None:
    """And a user without the right to read."""
    server = stack.enter_context(JmxServer(classes, options=password_options(doctor.folder, PASSWORD)))
    file = write_secret(doctor.folder / "jmx", "canary-wrong")
    doctor.config["jmx"] = {
        "brokers": {1: f"127.0.0.1:{server.port}"},
        "user": "monitor",
        "password_file": str(file),
    }
    doctor.one("KW-JMX", "does not let monitor in", "jmx.password_file")
    assert "canary-wrong" not in doctor.output


def test_port_of_a_broker(doctor: ScriptedDoctor) -> None:
    """It speaks Kafka."""
    doctor.config["jmx"] = {"brokers": {1: f"127.0.0.1:{doctor.brokers.ports[1]}"}}
    doctor.one("KW-JMX", "broker 1")


def test_a_host_that_does_not_resolve_is_reported_once(doctor: ScriptedDoctor) -> None:
    """JMX is on the advertised host."""
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{doctor.brokers.ports[1]}")
    doctor.brokers.do("remove_brokers", brokers=[2])
    doctor.brokers.do("remove_topics", topics=["orders"])
    doctor.brokers.do("advertise", broker=3, host="no-such-broker.invalid", port=9092)
    doctor.config["jmx"] = {"port": free_port(), "brokers": {1: f"127.0.0.1:{free_port()}"}}
    found = doctor.wrong()
    assert found.keys() == {"KW-BROKER", "KW-JMX"}
    assert "broker 1" in found["KW-JMX"]


def test_no_java(doctor: ScriptedDoctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, however many processes there are."""
    for name in ("JAVA_HOME", "JDK_HOME", "JRE_HOME"):
        monkeypatch.setenv(name, str(doctor.folder))
    monkeypatch.setattr("kafka_warden.clients.jmx.process._PROGRAM", ("-c", NO_JAVA))
    doctor.config["jmx"] = {"brokers": {1: "127.0.0.1:1", 2: "127.0.0.1:2"}}
    doctor.one("KW-JMX-JVM", "Java runtime", "install")


NO_JAVA = (
    "import jpype\n"
    "from kafka_warden.clients.jmx import child\n"
    "def missing(*_, **__): raise jpype.JVMNotFoundException('none')\n"
    "jpype.startJVM = missing\n"
    "child.main()\n"
)
"""The child on a machine without Java."""


def test_agents(doctor: ScriptedDoctor) -> None:
    """No JVM is started: an agent answers, one is at another path, and one is not there."""
    page = b'kafka_server_KafkaServer_Value{name="BrokerState"} 3\n'
    with answering({"/metrics": page}) as (url, _):
        address = url.removeprefix("http://")
        doctor.config["jmx"] = {"source": "http", "brokers": {1: address}}
        assert doctor.wrong() == {}
        assert doctor.code == 0
        doctor.config["jmx"]["path"] = "/other"
        doctor.one("KW-JMX", "answers 404 to /other", "jmx.path")
        doctor.config["jmx"] = {"source": "http", "brokers": {1: f"127.0.0.1:{free_port()}"}}
        doctor.one("KW-JMX", "cannot be connected to", "agent")
