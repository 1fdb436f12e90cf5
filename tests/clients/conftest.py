"""Fixtures: links to scripted brokers; real JVMs with a JMX port, and sessions that end with their test."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_warden.clients.jmx import process
from kafka_warden.clients.jmx.protocol import BeanQueries
from kafka_warden.clients.jmx.session import JmxSession
from kafka_warden.clients.kafka.network import Network
from tests.clients.jmx_server import ASK_NUMBER, JmxServer, MakeSession, Servers, compile_java
from tests.support.linking import Client
from tests.support.scripted import ScriptedCluster, VirtualClock


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_java(tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def servers(classes: Path) -> Iterator[Servers]:
    """Two processes, whose numbers are 1 and 2."""
    with JmxServer(classes, number=1) as one, JmxServer(classes, number=2) as two:
        yield one, two


@pytest.fixture
def make_session(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeSession]:
    """Sessions that ask a broker and a controller a question, for its number by default, and end with the test.

    `java_options` are added to the flags of the JVMs that start from then on.
    """
    with ExitStack() as stack:

        def make(
            question: BeanQueries = ASK_NUMBER,
            java_options: Sequence[str] = (),
            controller: BeanQueries = ASK_NUMBER,
            **options: object,
        ) -> JmxSession:
            program = (
                "from kafka_warden.clients.jmx import child\n"
                "flags = child.options\n"
                f"child.options = lambda hello: (*flags(hello), *{tuple(java_options)!r})\n"
                "child.main()\n"
            )
            if java_options:
                monkeypatch.setattr(process, "_PROGRAM", ("-c", program))
            questions = {"broker": question, "controller": controller}
            session = JmxSession(questions, **options)  # type: ignore[arg-type]  # the caller names real ones
            stack.callback(session.close)
            return session

        yield make


@pytest.fixture
def session(make_session: MakeSession) -> JmxSession:
    return make_session()


@pytest.fixture
def client(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Client]:
    made = Client(brokers, clock, Network(clock))
    yield made
    made.close()
    made.network.close()
