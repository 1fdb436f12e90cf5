"""When agents are asked, what a poll gets meanwhile, and what an HTTP server may do wrong."""

import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_warden.clients.agents import session as agents
from kafka_warden.clients.agents.session import AgentSession
from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, RawBeans
from kafka_warden.clients.jmx.session import FORGET, MOST_TARGETS, Answer, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.config.types import JmxTlsConfig
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
    TooLargeError,
)
from kafka_warden.settings.secrets import Secret
from sandbox import wait_for
from sandbox.certificates import HERE, Authority
from sandbox.ports import LOOPBACK
from sandbox.serving import Server
from tests.support.scripted import VirtualClock
from tests.support.serving import answering, listening

QUESTION = BeanQueries((BeanQuery("a:type=B,name=C", ("Value",)),))
PAGE = b'a_B_Value{name="C"} 4\n'
WITHIN = 30.0
PASSWORD = "canary-agent"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(lambda *_: PAGE) as server:
        yield server


def target(address: str, **given: object) -> JmxTarget:
    host, port = address.removeprefix("http://").removeprefix("https://").rsplit(":", 1)
    return JmxTarget("broker 1", host, int(port), **given)  # type: ignore[arg-type]  # as a test names them


def session(path: str = "/metrics", **given: object) -> AgentSession:
    return AgentSession({"broker": QUESTION, "controller": QUESTION}, path, **given)  # type: ignore[arg-type]  # as above


def ask(asked: AgentSession, one: JmxTarget, wait: float = WITHIN) -> Answer:
    return asked.ask([one], asked.clock() + wait)[one.key]


@pytest.fixture
def asked(clock: VirtualClock) -> AgentSession:
    return session(clock=clock.monotonic)


@pytest.fixture
def one(server: Server) -> JmxTarget:
    return target(server.address)


def number(answer: Answer) -> float:
    assert isinstance(answer, RawBeans), answer
    return float(answer.values["a:type=B,name=C", "Value"])


class Held:
    """Many processes at one address, whose answers are held back."""

    def __init__(self, server: Server, asked: AgentSession) -> None:
        self.asked, self.server = asked, server
        self.release = threading.Event()
        self.requests = 0
        self.targets = [replace(target(server.address), key=f"broker {number}") for number in range(agents.AT_ONCE * 3)]
        server.answer = self._answer

    def _answer(self, *_: object) -> bytes:
        self.requests += 1
        self.release.wait(WITHIN)
        return PAGE

    def begin(self) -> None:
        """Ask all; wait until no more of them are read than at once."""
        self.asked.ask(self.targets, self.asked.clock())
        wait_for(lambda: self.requests >= agents.AT_ONCE)

    def answers(self) -> Sequence[Answer]:
        return list(self.asked.ask(self.targets, self.asked.clock() + WITHIN).values())


@pytest.fixture
def held(server: Server, asked: AgentSession) -> Iterator[Held]:
    made = Held(server, asked)
    yield made
    made.release.set()


def readers() -> int:
    return sum(thread.name.startswith("agent") for thread in threading.enumerate())


def test_an_agent_is_asked_once_a_minute(
    one: JmxTarget, asked: AgentSession, server: Server, clock: VirtualClock
) -> None:
    pages = [PAGE, PAGE.replace(b"4", b"5")]
    server.answer = lambda *_: pages.pop(0)
    first = ask(asked, one)
    clock.advance(agents.EVERY - 1)
    assert (number(first), ask(asked, one)) == (4, first)
    clock.advance(1)
    wait_for(lambda: number(ask(asked, one)) == 5)


def test_a_slow_agent_is_asked_less_often(
    one: JmxTarget, asked: AgentSession, server: Server, clock: VirtualClock
) -> None:
    """It took 2 s, so 100 s pass."""

    def slow(*_: object) -> bytes:
        clock.advance(2)
        return PAGE

    server.answer = slow
    answer = ask(asked, one)
    assert isinstance(answer, RawBeans)
    assert (answer.took, answer.every) == (2, 100)


def test_a_poll_does_not_wait_for_a_slow_agent(held: Held, clock: VirtualClock) -> None:
    asked, one = held.asked, held.targets[0]
    assert isinstance(ask(asked, one, wait=0.05), AnswerTimeoutError)
    held.release.set()
    wait_for(lambda: isinstance(ask(asked, one), RawBeans))
    wait_for(lambda: readers() == 0)
    held.release.clear()
    clock.advance(agents.EVERY)
    assert number(ask(asked, one)) == 4
    assert readers() == 1, "meanwhile the agent is asked again"


def test_polls_do_not_wait_again_and_again(held: Held) -> None:
    for _ in range(agents.MOST_WAITS):
        began = monotonic()
        assert isinstance(ask(held.asked, held.targets[0], wait=0.05), AnswerTimeoutError)
        assert monotonic() - began >= 0.05
    began = monotonic()
    assert isinstance(ask(held.asked, held.targets[0]), AnswerTimeoutError)
    assert monotonic() - began < WITHIN / 2


def test_a_reading_that_ends_between_two_rare_polls(held: Held, clock: VirtualClock) -> None:
    assert isinstance(ask(held.asked, held.targets[0], wait=0), AnswerTimeoutError)
    held.release.set()
    wait_for(lambda: readers() == 0)
    clock.advance(2 * FORGET)
    held.release.clear()
    assert number(ask(held.asked, held.targets[0], wait=0)) == 4


def test_readings_that_wait_longer_than_between_two_rare_polls(held: Held, clock: VirtualClock) -> None:
    held.begin()
    clock.advance(2 * FORGET)
    held.begin()
    held.release.set()
    assert list(map(number, held.answers())) == [4] * len(held.targets)
    assert held.requests == len(held.targets)


def test_ten_thousand_brokers_cost_no_number_of_others(
    one: JmxTarget, asked: AgentSession, clock: VirtualClock
) -> None:
    """Metadata that names so many in each poll: there is state for 500, until they are not asked any more."""
    good = replace(one, key="good")
    ask(asked, good)
    with socket.create_server((LOOPBACK, 0)) as free:
        port = free.getsockname()[1]
    for poll in range(4):
        many = [JmxTarget(str(each), f"127.0.0.{2 + poll}", port) for each in range(10_000)]
        clock.advance(FORGET if poll == 3 else 0)
        answers = asked.ask([*many, good], clock.monotonic())
        assert number(answers["good"]) == 4
        refused = [each for each in answers.values() if f"{MOST_TARGETS} processes are asked at most" in str(each)]
        assert len(refused) == 10_001 - (1 if poll in (1, 2) else MOST_TARGETS)
        assert len(asked._slots) == MOST_TARGETS
    wait_for(lambda: readers() == 0)


def test_an_agent_that_answered_before_is_read_before_others(
    monkeypatch: pytest.MonkeyPatch, clock: VirtualClock
) -> None:
    order: list[str] = []
    release = threading.Event()

    def read(_: AgentSession, one: JmxTarget, __: object) -> RawBeans:
        order.append(one.key)
        if one.key == "good":
            return RawBeans(clock.monotonic(), {})
        release.wait(WITHIN)
        raise ConnectTimeoutError("no answer")

    monkeypatch.setattr(agents, "AT_ONCE", 1)
    monkeypatch.setattr(AgentSession, "_answer", read)
    asked = session(clock=clock.monotonic)
    good = JmxTarget("good", LOOPBACK, 1)
    others = [JmxTarget(name, LOOPBACK, 1) for name in "abc"]
    ask(asked, good)
    wait_for(lambda: readers() == 0)
    asked.ask(others, clock.monotonic())
    wait_for(lambda: order == ["good", "a"])
    clock.advance(agents.EVERY)
    asked.ask([*others, good], clock.monotonic())
    release.set()
    wait_for(lambda: order == ["good", "a", "good", "b", "c"])


def test_many_agents_need_few_threads(held: Held) -> None:
    held.begin()
    held.begin()
    assert readers() == held.requests == agents.AT_ONCE
    held.release.set()
    assert list(map(number, held.answers())) == [4] * len(held.targets)
    wait_for(lambda: readers() == 0)
    assert held.requests == len(held.targets)


def test_an_agent_that_is_gone_when_its_turn_comes_is_not_read(held: Held, clock: VirtualClock) -> None:
    held.begin()
    clock.advance(FORGET)
    *_, again, last = held.targets
    ask(held.asked, again, wait=0)
    held.release.set()
    wait_for(lambda: readers() == 0)
    assert held.requests == agents.AT_ONCE + 1
    assert number(ask(held.asked, last)) == 4


@pytest.mark.parametrize("starts", [0, 1])
def test_threads_that_cannot_start(held: Held, monkeypatch: pytest.MonkeyPatch, starts: int) -> None:
    start = threading.Thread.start
    held.release.set()

    def fail(thread: threading.Thread) -> None:
        if thread.name == "agent" and readers() >= starts:
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        assert set(map(type, held.answers())) == {RawBeans if starts else AnswerTimeoutError}
    assert set(map(type, held.answers())) == {RawBeans}


def test_jolokia_is_asked_with_its_protocol() -> None:
    body = b'[{"status": 200, "value": 9}]'
    with answering({"/jolokia/": body}) as (url, seen):
        for path in ("/jolokia", "/jolokia/"):
            asked = session(path=path)
            assert number(ask(asked, target(url))) == 9
            assert asked.source == "jolokia"
    assert {path for path, _ in seen} == {"/jolokia/"}


def test_a_login() -> None:
    with answering({"/metrics": PAGE}) as (url, seen):
        one = target(url, user="monitor", password=Secret(PASSWORD))
        assert number(ask(session(), one)) == 4
    assert seen[0][1]["Authorization"] == "Basic bW9uaXRvcjpjYW5hcnktYWdlbnQ="


def test_a_password_is_not_sent_in_clear_to_a_host_of_the_metadata() -> None:
    """Only the metadata names it. On this machine any user can listen."""
    with answering({"/metrics": PAGE}) as (url, seen):
        answer = ask(session(), target(url, user="monitor", password=Secret(PASSWORD), named=False))
    assert isinstance(answer, TlsError)
    assert "jmx.tls.ca_file" in str(answer)
    assert seen == []


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, AuthenticationError), (403, AuthorizationError), (404, ProtocolError), (301, ProtocolError)],
)
def test_refusals(status: int, error: type[SourceError]) -> None:
    with answering({"/metrics": b""}, status, Location="/elsewhere") as (url, seen):
        assert type(ask(session(), target(url))) is error
    assert len(seen) == 1


def test_a_refused_login_is_held_back(asked: AgentSession) -> None:
    """For a minute, since some servers lock accounts; or until the password is another one."""
    with answering({"/metrics": b""}, 401) as (url, seen):
        one = target(url, user="monitor", password=Secret(PASSWORD))
        for _ in range(3):
            assert isinstance(ask(asked, one), AuthenticationError)
        assert len(seen) == 1
        ask(asked, replace(one, password=Secret("another")))
        wait_for(lambda: len(seen) == 2)


def test_a_failure_is_no_reason_for_a_long_pause(
    one: JmxTarget, asked: AgentSession, server: Server, clock: VirtualClock
) -> None:
    pages: list[float] = []

    def broken(*_: object) -> bytes:
        pages.append(clock.monotonic())
        return b"<html>"

    def has_read(count: int) -> bool:
        return len(pages) == count and all(slot.reading is None for slot in asked._slots.values())

    server.answer = broken
    assert isinstance(ask(asked, one), ProtocolError)
    for count, pause in enumerate((60, 120, 240, 300, 300), start=1):
        clock.advance(pause - 1)
        ask(asked, one)
        assert has_read(count)
        clock.advance(1)
        ask(asked, one)
        wait_for(lambda count=count: has_read(count + 1))  # type: ignore[misc]  # bound in this round


def test_a_large_answer(asked: AgentSession, one: JmxTarget, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "MOST_PAGE", 1000)
    server.answer = lambda *_: PAGE * 1000
    answer = ask(asked, one)
    assert isinstance(answer, TooLargeError)
    assert (answer.__traceback__, answer.__context__) == (None, None), "their frames would keep what was read"


def test_nothing_listens(asked: AgentSession, clock: VirtualClock) -> None:
    with socket.create_server((LOOPBACK, 0)) as free:
        one = target(f"{LOOPBACK}:{free.getsockname()[1]}")
    assert isinstance(ask(asked, one), RefusedError)
    (slot,) = asked._slots.values()
    for count, pause in enumerate((5, 10, 20, 40, 60, 60), start=1):
        clock.advance(pause - 1)
        ask(asked, one)
        assert (slot.failures, slot.reading) == (count, None)
        clock.advance(1)
        slot.failures += 2000 if pause == 60 else 0
        before = slot.failures
        ask(asked, one)
        wait_for(lambda before=before: (slot.failures, slot.reading) == (before + 1, None))  # type: ignore[misc]  # bound in this round
        slot.failures -= 2000 if pause == 60 else 0


def test_nothing_listens_where_an_agent_did(asked: AgentSession, clock: VirtualClock) -> None:
    with Server(lambda *_: PAGE) as server:
        one = target(server.address)
        assert number(ask(asked, one)) == 4
    clock.advance(agents.EVERY)
    (slot,) = asked._slots.values()
    for failures in range(1, 5):
        ask(asked, one)
        wait_for(lambda failures=failures: (slot.failures, slot.reading) == (failures, None))  # type: ignore[misc]  # bound in this round


def test_a_server_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "LONGEST", 0.3)
    with socket.create_server((LOOPBACK, 0)) as silent:
        assert isinstance(ask(session(), target(f"{LOOPBACK}:{silent.getsockname()[1]}")), AnswerTimeoutError)


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort"])
def test_a_server_that_speaks_otherwise(said: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(said)

    with listening(serve) as address:
        assert isinstance(ask(session(), target(address)), ProtocolError)


def test_https(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "a", "authority"), Authority(tmp_path / "b", "stranger")
    own = authority.issue("agent", "agent", HERE)
    with Server(lambda *_: PAGE) as server:
        server.use(own.certificate, own.key)
        for trusted, error in ((authority, None), (stranger, TlsError)):
            context = JmxTlsConfig(trusted.certificate, None, None, registry=True).context
            answer = ask(session(context=context), target(server.address))
            assert isinstance(answer, RawBeans if error is None else error), answer
    missing = JmxTlsConfig(tmp_path / "missing", None, None, registry=True).context
    assert isinstance(ask(session(context=missing), target("127.0.0.1:1")), TlsError)
