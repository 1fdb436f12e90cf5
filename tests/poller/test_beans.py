"""Which processes are asked for their beans, in a poll that asks before and after it knows the cluster."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
import structlog

from kafka_warden.clients.jmx.protocol import RawBeans, Scalar
from kafka_warden.clients.jmx.session import JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.errors import AnswerTimeoutError, PollAbandonedError, ProtocolError, SourceError
from kafka_warden.model import Broker, Source
from kafka_warden.poller import PollerSettings
from kafka_warden.poller.beans import JmxQuestions
from kafka_warden.sources.bean_list import BEANS
from sandbox import wait_for
from tests.building import known
from tests.poller.polling import DEADLINE, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

CONTROLLER: Final = ["controller 101"]
ALL: Final = ["broker 1", "broker 2", "broker 3", *CONTROLLER]


class Session:
    """Keeps which processes were asked, and answers at once: with nothing, or with a fault."""

    source, starts = "rmi", 1

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.faults: dict[str, SourceError] = {}
        self.values: dict[str, dict[tuple[str, str], Scalar]] = {}

    def ask(self, targets: Sequence[JmxTarget], deadline: float) -> dict[str, Any]:
        self.deadline = deadline
        self.asked.append([target.key for target in targets])
        return {
            target.key: self.faults.get(target.key, RawBeans(monotonic(), self.values.get(target.key, {})))
            for target in targets
        }

    def close(self) -> None:
        """Nothing to end."""


class Watched:
    """A poller that asks for beans. Its brokers do not answer until `start`."""

    def __init__(self, polled: Polling, session: Session) -> None:
        self.polled = polled
        self.session = session
        self.stop()

    def start(self, *brokers: int) -> None:
        self.polled.brokers.each("accept", *brokers)

    def stop(self) -> None:
        self.polled.brokers.each("refuse")

    def poll(self) -> list[list[str]]:
        """Poll once; return which processes were asked, question by question."""
        self.session.asked.clear()
        self.polled.poll_any()
        return list(self.session.asked)

    def shown(self) -> dict[str, bool]:
        book = self.polled.poller._state.book.publish()
        return {name: status.up for (source, name), status in book.items() if source is Source.JMX}


@pytest.fixture
def watched(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Watched]:
    """Before the first poll. Each broker has a host of its own."""
    session = Session()
    brokers.brokers(*({"id": broker, "host": f"127.0.0.{10 + broker}"} for broker in (2, 3)))
    controllers = {"101": ("controller.example", 9999)}
    questions = JmxQuestions(session, 9999, controllers=controllers)  # type: ignore[arg-type]  # has what is used of it
    with polling(brokers, clock, jmx=questions) as polled:
        yield Watched(polled, session)


def test_no_process_is_asked_twice_in_a_poll(watched: Watched) -> None:
    watched.start(1, 2, 3)
    assert watched.poll() == [ALL]
    watched.stop()
    assert [watched.poll(), watched.poll()] == [[ALL], [ALL]]
    watched.start(1, 2, 3)
    assert [watched.poll(), watched.poll()] == [[ALL], [ALL]]


def test_brokers_with_one_address(watched: Watched) -> None:
    """`jmx.port` of brokers on one host: the beans of one process are not those of three."""
    for broker in (2, 3):
        watched.polled.brokers.brokers({"id": broker, "host": "127.0.0.1"})
    watched.start(1, 2, 3)
    watched.poll()
    assert watched.shown() == {"1": False, "2": False, "3": False, "101": True}
    assert watched.polled.poller._state.answers.broker_beans == {}


def test_brokers_that_are_new_when_the_cluster_is_back_are_asked_in_that_poll(watched: Watched) -> None:
    """A sidecar that ran before its cluster, and a broker with a new host. The answers of both questions are kept."""
    assert [watched.poll(), watched.poll()] == [[CONTROLLER], [CONTROLLER]]
    watched.start(1, 2, 3)
    assert watched.poll() == [CONTROLLER, ["broker 1", "broker 2", "broker 3"]]
    assert watched.shown() == dict.fromkeys(("1", "2", "3", "101"), True)
    assert watched.polled.poller._state.answers.broker_beans.keys() == {1, 2, 3}
    assert watched.session.deadline == watched.polled.clock.monotonic() - watched.polled.took + DEADLINE

    watched.stop()
    assert watched.poll() == [ALL]
    watched.polled.brokers.brokers({"id": 2, "host": "127.0.0.2"})
    watched.start(1, 3)
    assert watched.poll() == [ALL, ["broker 2"]]


@pytest.mark.parametrize("reason", ["timeout", "protocol"])
def test_a_process_without_beans_that_can_be_read_costs_its_own_numbers(watched: Watched, reason: str) -> None:
    """It does not answer, or a bean has a value that is no number of Kafka's."""
    if reason == "timeout":
        watched.session.faults["broker 2"] = AnswerTimeoutError("no answer")
    bean = next(bean for bean in BEANS if bean.where == "broker")
    watched.session.values["broker 2"] = {(bean.object_name, bean.attribute): 10**400}
    watched.start(1, 2, 3)
    with structlog.testing.capture_logs() as logs:
        watched.poll()
        watched.poll()
    assert watched.shown() == {"1": True, "2": False, "3": True, "101": True}
    status = watched.polled.status(Source.JMX, "2")
    assert (status.errors, status.last_success, status.duration < 60) == ({reason: 2}, None, True)
    assert [line["broker"] for line in logs if line["event"] == "source failed"] == ["2"]
    assert watched.polled.poller._state.answers.broker_beans.keys() == {1, 3}
    assert watched.polled.status(Source.OFFSETS, "2").up


def test_a_thread_that_cannot_start_costs_no_numbers_of_kafka(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name.startswith("jmx"):
            raise RuntimeError("can't start new thread")
        start(thread)

    watched.start(1, 2, 3)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        assert watched.poll() == []
    assert watched.shown() == dict.fromkeys(("1", "2", "3", "101"), False)
    assert watched.polled.status(Source.OFFSETS, "1").up
    assert watched.poll() == [ALL]
    assert watched.shown() == dict.fromkeys(("1", "2", "3", "101"), True)


@pytest.mark.parametrize("failing", ["broker 1", "controller 1"])
def test_a_node_that_fails_as_broker_or_as_controller_is_down(
    brokers: ScriptedCluster, clock: VirtualClock, failing: str
) -> None:
    """It is both, and has one outcome in a poll; the answered half of its beans is kept."""
    session = Session()
    session.faults[failing] = AnswerTimeoutError("late")
    addresses = {"addresses": {1: ("a.example", 9999)}, "controllers": {"1": ("a.example", 9999)}}
    jmx = JmxQuestions(session, **addresses)  # type: ignore[arg-type]  # has what is used of it
    with polling(brokers, clock, jmx=jmx) as polled, structlog.testing.capture_logs() as logs:
        for polls in (1, 2, 3):
            polled.poll_any()
            status = polled.status(Source.JMX, "1")
            assert (status.up, status.errors) == (False, {"timeout": polls})
        answers = polled.poller._state.answers
        assert (1 in answers.broker_beans, "1" in answers.controller_beans) == (
            failing != "broker 1",
            failing != "controller 1",
        )
        assert len([line for line in logs if line["broker"] == "1" and line["source"] == "jmx"]) == 1


def test_processes_that_are_asked_no_longer_are_forgotten(watched: Watched) -> None:
    """Another plan, and then none: no outcome and no beans of others stay, and what stays keeps its counts."""
    watched.start(1, 2, 3)
    watched.session.faults["broker 1"] = ProtocolError("a")
    watched.poll()
    poller = watched.polled.poller
    addresses = {1: ("127.0.0.1", 9999), 3: ("127.0.0.1", 9999)}
    poller.configure(PollerSettings(), None, JmxQuestions(watched.session, addresses=addresses))  # type: ignore[arg-type]  # as above
    assert watched.shown() == {"1": False, "3": True}
    assert watched.polled.status(Source.JMX, "1").errors == {"protocol": 1}
    answers = poller._state.answers
    assert (list(answers.broker_beans), list(answers.controller_beans)) == ([3], [])
    poller.configure(PollerSettings(), None, None)
    assert (watched.shown(), answers.broker_beans) == ({}, {})
    assert watched.polled.status(Source.OFFSETS, "1").up


def test_a_poll_that_is_stopped_while_jmx_is_asked_reports_no_failure(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    poller, closed = watched.polled.poller, []

    def ask(_: Session, targets: Sequence[JmxTarget], __: float) -> dict[str, Any]:
        wait_for(lambda: not asyncio.all_tasks(poller._network._loop))
        poller.close()
        return {target.key: ProtocolError("the JMX child has ended") for target in targets}

    monkeypatch.setattr(Session, "ask", ask)
    monkeypatch.setattr(Session, "close", lambda _: closed.append(poller._state.links.closed))
    with pytest.raises(PollAbandonedError):
        watched.poll()
    assert closed == [True]
    assert watched.shown() == {}


def test_a_broker_that_is_gone_when_the_cluster_is_back_is_forgotten(watched: Watched) -> None:
    watched.start(1, 2, 3)
    watched.poll()
    watched.stop()
    watched.poll()
    watched.polled.brokers.do("remove_brokers", brokers=[2])
    watched.start(1, 3)
    assert watched.poll() == [ALL]
    assert watched.shown().keys() == {"1", "3", "101"}


def test_processes_are_asked_where_the_plan_says() -> None:
    """A broker without an address of its own at its host, one without a host not at all; case does not count."""
    hosts = frozenset({"D.example"})
    addresses, controllers = {2: ("jmx.example", 1)}, {"101": ("controller.example", 2)}
    session: Any = Session()
    questions = JmxQuestions(session, 9999, addresses, controllers, "user", hosts=hosts)
    brokers = (Broker(1, "a.example", 9092), Broker(2, "b", 9092), Broker(3, "", 0), Broker(4, "d.Example", 9092))
    asked = known(questions.start({broker.id: broker for broker in brokers}, None, 0.0))
    questions.close()
    assert {(each.key, each.host, each.port, each.kind, each.user, each.named) for each in asked.targets} == {
        ("broker 1", "a.example", 9999, "broker", "user", False),
        ("broker 2", "jmx.example", 1, "broker", "user", True),
        ("broker 4", "d.Example", 9999, "broker", "user", True),
        ("controller 101", "controller.example", 2, "controller", "user", True),
    }
