"""JMX: what is wrong with it is named for each process, and costs nothing else."""

from collections.abc import Callable
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
    return compile_java(tmp_path_factory.mktemp("classes"))


def test_closed_port(doctor: ScriptedDoctor) -> None:
    doctor.config["jmx"] = {"brokers": {1: f"127.0.0.1:{free_port()}"}}
    doctor.one("KW-JMX", "broker 1 (127.0.0.1:", "nothing listens", "JMX_PORT")


def test_port_of_another_process(doctor: ScriptedDoctor, classes: Path, stack: ExitStack) -> None:
    server = stack.enter_context(JmxServer(classes))
    doctor.config["jmx"] = {"brokers": {1: f"127.0.0.1:{server.port}"}}
    doctor.one("KW-JMX", "no beans of a Kafka broker")


def test_wrong_password(doctor: ScriptedDoctor, classes: Path, stack: ExitStack) -> None:
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
    doctor.config["jmx"] = {"brokers": {1: f"127.0.0.1:{doctor.brokers.ports[1]}"}}
    doctor.one("KW-JMX", "broker 1")


def test_a_host_that_does_not_resolve_is_reported_once(doctor: ScriptedDoctor) -> None:
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{doctor.brokers.ports[1]}")
    doctor.brokers.do("remove_brokers", brokers=[2])
    doctor.brokers.do("remove_topics", topics=["orders"])
    doctor.brokers.do("advertise", broker=3, host="no-such-broker.invalid", port=9092)
    doctor.config["jmx"] = {"port": free_port(), "brokers": {1: f"127.0.0.1:{free_port()}"}}
    found = doctor.wrong()
    assert found.keys() == {"KW-BROKER", "KW-JMX"}
    assert "broker 1" in found["KW-JMX"]


def test_no_java(doctor: ScriptedDoctor, monkeypatch: pytest.MonkeyPatch) -> None:
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

BYTES = """
kafka_server_brokertopicmetrics_bytesin_total 1
kafka_server_brokertopicmetrics_replicationbytesin_total 1
kafka_server_replicamanager_isrshrinks_total 1
"""
FETCHERS = 'kafka_server_replicafetchermanager_deadthreadcount{clientId="Replica"} 0\n'
STATE = 'kafka_server_KafkaServer_Value{name="BrokerState"} 3\n'
THROTTLES = "kafka_server_FollowerReplication_byte_rate 0\n"
CONTROLLER = """
kafka_controller_kafkacontroller_activecontrollercount 1
kafka_controller_controllerstats_uncleanleaderelections_total 0
kafka_controller_controllereventmanager_eventqueuetimems{quantile="0.50"} 0
"""


@pytest.fixture
def agent(stack: ExitStack) -> Callable[[str], str]:
    """Start an agent that answers with a page; returns its address."""

    def start(page: str) -> str:
        url, _ = stack.enter_context(answering({"/metrics": page.encode()}))
        return url.removeprefix("http://")

    return start


def test_agents(doctor: ScriptedDoctor, agent: Callable[[str], str]) -> None:
    address = agent(f"{BYTES}{FETCHERS}{STATE}{THROTTLES}")
    doctor.config["jmx"] = {"source": "http", "brokers": {1: address}}
    assert doctor.wrong() == {}
    assert doctor.code == 0
    doctor.config["jmx"]["brokers"] = {1: address, 2: address}
    doctor.one("KW-JMX", f"broker 1, broker 2 have the same JMX address {address}", "jmx.brokers")
    doctor.config["jmx"] = {"source": "http", "brokers": {1: address}, "path": "/other"}
    doctor.one("KW-JMX", "answers 404 to /other", "jmx.path")
    doctor.config["jmx"] = {"source": "http", "brokers": {1: f"127.0.0.1:{free_port()}"}}
    doctor.one("KW-JMX", "cannot be connected to", "agent")


@pytest.mark.parametrize(
    ("kind", "page", "missing"),
    [
        ("brokers", STATE + BYTES, "4 attributes, none of: replication throttles, replica fetchers"),
        (
            "brokers",
            STATE + THROTTLES,
            "none of: bytes in and out, bytes of replication, ISR changes, replica fetchers",
        ),
        (
            "controllers",
            f"{CONTROLLER}kafka_server_controllermutation_user_ada_client_id_app_tokens 5\n",
            "none of: controller mutations",
        ),
        ("controllers", CONTROLLER.splitlines()[1], "none of: controller event queue"),
    ],
)
def test_rules_that_leave_beans_out(
    doctor: ScriptedDoctor, agent: Callable[[str], str], kind: str, page: str, missing: str
) -> None:
    doctor.config["jmx"] = {"source": "http", kind: {100 if kind == "controllers" else 1: agent(page)}}
    doctor.one("KW-JMX", missing, "docs/how-to/agents.md", result="warning")


@pytest.mark.parametrize(("page", "named"), [(BYTES + FETCHERS + STATE, True), (STATE + THROTTLES, False)])
def test_an_agent_of_a_broker_without_the_reporter(
    doctor: ScriptedDoctor, agent: Callable[[str], str], page: str, *, named: bool
) -> None:
    doctor.config["jmx"] = {"source": "http", "brokers": {1: agent(page)}}
    doctor.one("KW-JMX", "none of", "metric.reporters" if named else "docs/how-to/agents.md", result="warning")
    assert ("JmxReporter" in doctor.wrong()["KW-JMX"]) == named


def test_beans_that_need_not_be_there(doctor: ScriptedDoctor, agent: Callable[[str], str]) -> None:
    """No follower fetches from broker 3, nothing is in remote storage, and no client has a quota."""
    where = {"brokers": {3: agent(BYTES + FETCHERS + STATE)}, "controllers": {100: agent(CONTROLLER)}}
    doctor.config["jmx"] = {"source": "http", **where}
    assert doctor.wrong() == {}
