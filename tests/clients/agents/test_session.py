"""When agents are asked, what a poll gets meanwhile, and what an HTTP server may do wrong."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_warden.clients.agents import session as agents
from kafka_warden.clients.agents.session import AgentSession
from kafka_warden.clients.jmx.protocol import BeanQuery, Question, RawBeans
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
from sandbox.certificates import HERE, Authority
from sandbox.ports import LOOPBACK
from tests.support.linking import wait_until
from tests.support.serving import Server, answering, dripping

QUESTION = Question((BeanQuery("a:type=B,name=C", ("Value",)),))
PAGE = b'a_B_Value{name="C"} 4\n'
WITHIN = 30.0
PASSWORD = "canary-agent"


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = monotonic()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(lambda _: PAGE) as server:
        yield server


def target(address: str, **given: object) -> JmxTarget:
    host, port = address.removeprefix("http://").removeprefix("https://").rsplit(":", 1)
    return JmxTarget("broker 1", host, int(port), **given)  # type: ignore[arg-type]  # as a test names them


def session(clock: Callable[[], float] = monotonic, path: str = "/metrics", **given: object) -> AgentSession:
    return AgentSession({"broker": QUESTION, "controller": QUESTION}, path, clock=clock, **given)  # type: ignore[arg-type]  # as above


def ask(asked: AgentSession, one: JmxTarget, clock: Callable[[], float] = monotonic, wait: float = WITHIN) -> Answer:
    return asked.ask([one], clock() + wait)[one.key]


def number(answer: Answer) -> float:
    assert isinstance(answer, RawBeans), answer
    return float(answer.values["a:type=B,name=C", "Value"])


def test_an_agent_is_asked_once_a_minute(server: Server, clock: Clock) -> None:
    asked, one, pages = session(clock), target(server.address), [PAGE, PAGE.replace(b"4", b"5")]
    server.answer = lambda _: pages.pop(0)
    first = ask(asked, one, clock)
    clock.now += agents.EVERY - 1
    assert (number(first), ask(asked, one, clock)) == (4, first)
    clock.now += 1
    wait_until(lambda: number(ask(asked, one, clock)) == 5)


def test_a_slow_agent_is_asked_less_often(server: Server, clock: Clock) -> None:
    """It took 2 s, so 100 s pass."""

    def slow(_: bytes) -> bytes:
        clock.now += 2
        return PAGE

    server.answer = slow
    asked, one = session(clock), target(server.address)
    answer = ask(asked, one, clock)
    assert isinstance(answer, RawBeans)
    assert (answer.took, answer.every) == (2, 100)


@pytest.fixture
def release(server: Server) -> Iterator[threading.Event]:
    """The agent answers while it is set."""
    release = threading.Event()

    def held(_: bytes) -> bytes:
        release.wait(WITHIN)
        return PAGE

    server.answer = held
    yield release
    release.set()


def test_a_poll_does_not_wait_for_a_slow_agent(server: Server, clock: Clock, release: threading.Event) -> None:
    asked, one = session(clock), target(server.address)
    assert isinstance(ask(asked, one, clock, wait=0.05), AnswerTimeoutError)
    release.set()
    wait_until(lambda: isinstance(ask(asked, one, clock), RawBeans))
    wait_until(lambda: readers() == 0)
    release.clear()
    clock.now += agents.EVERY
    assert number(ask(asked, one, clock)) == 4
    assert readers() == 1, "meanwhile the agent is asked again"


def test_polls_do_not_wait_again_and_again(server: Server, release: threading.Event) -> None:
    asked, one = session(), target(server.address)
    for _ in range(agents.MOST_WAITS):
        began = monotonic()
        assert isinstance(ask(asked, one, wait=0.05), AnswerTimeoutError)
        assert monotonic() - began >= 0.05
    began = monotonic()
    assert isinstance(ask(asked, one), AnswerTimeoutError)
    assert monotonic() - began < WITHIN / 2


def test_a_reading_that_ends_between_two_rare_polls(server: Server, clock: Clock, release: threading.Event) -> None:
    asked, one = session(clock), target(server.address)
    assert isinstance(ask(asked, one, clock, wait=0), AnswerTimeoutError)
    release.set()
    wait_until(lambda: readers() == 0)
    clock.now += 2 * FORGET
    release.clear()
    assert number(ask(asked, one, clock, wait=0)) == 4


def test_readings_that_wait_longer_than_between_two_rare_polls(server: Server, clock: Clock) -> None:
    held = Held(server, session(clock))
    held.begin()
    clock.now += 2 * FORGET
    held.begin()
    held.release.set()
    answers = held.asked.ask(held.targets, clock() + WITHIN)
    assert [number(answer) for answer in answers.values()] == [4] * len(held.targets)
    assert held.requests == len(held.targets)


def test_ten_thousand_brokers_cost_no_number_of_others(server: Server, clock: Clock) -> None:
    """Metadata that names so many in each poll: there is state for 500, until they are not asked any more."""
    asked, good = session(clock), replace(target(server.address), key="good")
    ask(asked, good, clock)
    with socket.create_server((LOOPBACK, 0)) as free:
        port = free.getsockname()[1]
    for poll in range(4):
        many = [JmxTarget(str(each), f"127.0.0.{2 + poll}", port) for each in range(10_000)]
        clock.now += FORGET if poll == 3 else 0
        answers = asked.ask([*many, good], clock())
        assert number(answers["good"]) == 4
        refused = [each for each in answers.values() if f"{MOST_TARGETS} processes are asked at most" in str(each)]
        assert len(refused) == 10_001 - (1 if poll in (1, 2) else MOST_TARGETS)
        assert len(asked._slots) == MOST_TARGETS
    wait_until(lambda: readers() == 0)


def test_an_agent_that_answered_before_is_read_before_others(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    order: list[str] = []
    release = threading.Event()

    def read(_: AgentSession, one: JmxTarget, __: object) -> RawBeans:
        order.append(one.key)
        if one.key == "good":
            return RawBeans(clock(), {})
        release.wait(WITHIN)
        raise ConnectTimeoutError("no answer")

    monkeypatch.setattr(agents, "AT_ONCE", 1)
    monkeypatch.setattr(AgentSession, "_answer", read)
    asked, good = session(clock), JmxTarget("good", LOOPBACK, 1)
    others = [JmxTarget(name, LOOPBACK, 1) for name in "abc"]
    ask(asked, good, clock)
    wait_until(lambda: readers() == 0)
    asked.ask(others, clock())
    wait_until(lambda: order == ["good", "a"])
    clock.now += agents.EVERY
    asked.ask([*others, good], clock())
    release.set()
    wait_until(lambda: order == ["good", "a", "good", "b", "c"])


class Held:
    """Many processes at one address, whose answers are held back."""

    def __init__(self, server: Server, asked: AgentSession) -> None:
        self.asked, self.server = asked, server
        self.release = threading.Event()
        self.requests = 0
        self.targets = [replace(target(server.address), key=f"broker {number}") for number in range(agents.AT_ONCE * 3)]
        server.answer = self._answer

    def _answer(self, _: bytes) -> bytes:
        self.requests += 1
        self.release.wait(WITHIN)
        return PAGE

    def begin(self) -> None:
        """Ask all; wait until no more of them are read than at once."""
        self.asked.ask(self.targets, self.asked.clock())
        wait_until(lambda: self.requests >= agents.AT_ONCE)


def readers() -> int:
    return sum(thread.name.startswith("agent") for thread in threading.enumerate())


def test_many_agents_need_few_threads(server: Server, clock: Clock) -> None:
    held = Held(server, session(clock))
    held.begin()
    held.begin()
    assert readers() == held.requests == agents.AT_ONCE
    held.release.set()
    answers = held.asked.ask(held.targets, clock() + WITHIN)
    assert [number(answer) for answer in answers.values()] == [4] * len(held.targets)
    wait_until(lambda: readers() == 0)
    assert held.requests == len(held.targets)


def test_an_agent_that_is_gone_when_its_turn_comes_is_not_read(server: Server, clock: Clock) -> None:
    held = Held(server, session(clock))
    held.begin()
    clock.now += FORGET
    *_, again, last = held.targets
    ask(held.asked, again, clock, wait=0)
    held.release.set()
    wait_until(lambda: readers() == 0)
    assert held.requests == agents.AT_ONCE + 1
    assert number(ask(held.asked, last, clock)) == 4


@pytest.mark.parametrize("starts", [0, 1])
def test_threads_that_cannot_start(server: Server, clock: Clock, monkeypatch: pytest.MonkeyPatch, starts: int) -> None:
    held, start = Held(server, session(clock)), threading.Thread.start
    held.release.set()

    def fail(thread: threading.Thread) -> None:
        if thread.name == "agent" and readers() >= starts:
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        answers = held.asked.ask(held.targets, clock() + WITHIN)
    assert {type(answer) for answer in answers.values()} == {RawBeans if starts else AnswerTimeoutError}
    answers = held.asked.ask(held.targets, clock() + WITHIN)
    assert {type(answer) for answer in answers.values()} == {RawBeans}


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


def test_a_refused_login_is_held_back(clock: Clock) -> None:
    """For a minute, since some servers lock accounts; or until the password is another one."""
    with answering({"/metrics": b""}, 401) as (url, seen):
        asked, one = session(clock), target(url, user="monitor", password=Secret(PASSWORD))
        for _ in range(3):
            assert isinstance(ask(asked, one, clock), AuthenticationError)
        assert len(seen) == 1
        ask(asked, replace(one, password=Secret("another")), clock)
        wait_until(lambda: len(seen) == 2)


def test_a_failure_is_no_reason_for_a_long_pause(server: Server, clock: Clock) -> None:
    asked, one = session(clock), target(server.address)
    pages: list[float] = []

    def broken(_: bytes) -> bytes:
        pages.append(clock.now)
        return b"<html>"

    def has_read(count: int) -> bool:
        return len(pages) == count and all(slot.reading is None for slot in asked._slots.values())

    server.answer = broken
    assert isinstance(ask(asked, one, clock), ProtocolError)
    for count, pause in enumerate((60, 120, 240, 300, 300), start=1):
        clock.now += pause - 1
        ask(asked, one, clock)
        assert has_read(count)
        clock.now += 1
        ask(asked, one, clock)
        wait_until(lambda count=count: has_read(count + 1))  # type: ignore[misc]  # bound in this round


def test_a_large_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "MOST_PAGE", 1000)
    server.answer = lambda _: PAGE * 1000
    answer = ask(session(), target(server.address))
    assert isinstance(answer, TooLargeError)
    assert (answer.__traceback__, answer.__context__) == (None, None), "their frames would keep what was read"


def test_nothing_listens(clock: Clock) -> None:
    with socket.create_server((LOOPBACK, 0)) as free:
        one = target(f"{LOOPBACK}:{free.getsockname()[1]}")
    asked = session(clock)
    assert isinstance(ask(asked, one, clock), RefusedError)
    (slot,) = asked._slots.values()
    for count, pause in enumerate((5, 10, 20, 40, 60, 60), start=1):
        clock.now += pause - 1
        ask(asked, one, clock)
        assert (slot.failures, slot.reading) == (count, None)
        clock.now += 1
        slot.failures += 2000 if pause == 60 else 0
        before = slot.failures
        ask(asked, one, clock)
        wait_until(lambda before=before: (slot.failures, slot.reading) == (before + 1, None))  # type: ignore[misc]  # bound in this round
        slot.failures -= 2000 if pause == 60 else 0


def test_nothing_listens_where_an_agent_did(clock: Clock) -> None:
    asked = session(clock)
    with Server(lambda _: PAGE) as server:
        one = target(server.address)
        assert number(ask(asked, one, clock)) == 4
    clock.now += agents.EVERY
    (slot,) = asked._slots.values()
    for failures in range(1, 5):
        ask(asked, one, clock)
        wait_until(lambda failures=failures: (slot.failures, slot.reading) == (failures, None))  # type: ignore[misc]  # bound in this round


def test_a_server_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "LONGEST", 0.3)
    with socket.create_server((LOOPBACK, 0)) as silent:
        assert isinstance(ask(session(), target(f"{LOOPBACK}:{silent.getsockname()[1]}")), AnswerTimeoutError)


@pytest.mark.parametrize("head", [b"Connection: close\r\n\r\n", b"Content-Length: 1000\r\n\r\n", b"X-Header: "])
def test_a_server_that_sends_byte_after_byte(monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    monkeypatch.setattr(agents, "LONGEST", 0.5)
    with dripping(b"HTTP/1.1 200 OK\r\n" + head) as address:
        assert isinstance(ask(session(), target(address)), AnswerTimeoutError)


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort"])
def test_a_server_that_speaks_otherwise(said: bytes) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:

        def serve() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        answer = ask(session(), target(f"{LOOPBACK}:{other.getsockname()[1]}"))
        thread.join()
    assert isinstance(answer, ProtocolError)


def test_https(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "a", "authority"), Authority(tmp_path / "b", "stranger")
    own = authority.issue("agent", "agent", HERE)
    with Server(lambda _: PAGE) as server:
        server.use(own.certificate, own.key)
        for trusted, error in ((authority, None), (stranger, TlsError)):
            context = JmxTlsConfig(trusted.certificate, None, None, registry=True).context
            answer = ask(session(context=context), target(server.address))
            assert isinstance(answer, RawBeans if error is None else error), answer
    missing = JmxTlsConfig(tmp_path / "missing", None, None, registry=True).context
    assert isinstance(ask(session(context=missing), target("127.0.0.1:1")), TlsError)
