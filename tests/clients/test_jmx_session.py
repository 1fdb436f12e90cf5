"""JmxSession against real JVMs: what it reads, and that one target's trouble is nobody else's."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exporter.clients.jmx.protocol import BeanQuery, Kind, Question
from exporter.clients.jmx.session import Answer, JmxSession, JmxTarget, RawBeans
from exporter.errors import (
    AnswerTimeoutError,
    ConnectTimeoutError,
    ProtocolError,
    RefusedError,
    SourceError,
    UnsupportedError,
)
from sandbox import wait_for
from sandbox.ports import LOOPBACK, Ports
from tests.clients.jmx_server import ASK_NUMBER, NUMBERS, JmxServer, compile_java, number

PATIENCE = 30.0
"""Seconds for what should take milliseconds, on a machine that does other things too."""

Ask = Callable[..., dict[str, Answer]]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled server."""
    return compile_java(tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def servers(classes: Path) -> Iterator[tuple[JmxServer, JmxServer]]:
    """Two processes, whose numbers are 1 and 2."""
    with JmxServer(classes, number=1) as one, JmxServer(classes, number=2) as two:
        yield one, two


@pytest.fixture
def make_session() -> Iterator[Callable[..., JmxSession]]:
    """Sessions that end with the test."""
    with ExitStack() as stack:

        def make(question: Question = ASK_NUMBER, **options: object) -> JmxSession:
            kinds: dict[Kind, Question] = {"broker": question}
            session = JmxSession(kinds, **options)  # type: ignore[arg-type]  # the caller names real options
            stack.callback(session.close)
            return session

        yield make


@pytest.fixture
def session(make_session: Callable[..., JmxSession]) -> JmxSession:
    """A session that asks for the number of a process."""
    return make_session()


def ask(session: JmxSession, *targets: JmxTarget, within: float = PATIENCE) -> dict[str, Answer]:
    """Ask, and check that the deadline was kept."""
    deadline = time.monotonic() + within
    answers = session.ask(targets, deadline)
    assert time.monotonic() < deadline + 0.5
    assert set(answers) == {target.key for target in targets}
    return answers


def test_reads_exactly_what_is_asked(
    make_session: Callable[..., JmxSession], servers: tuple[JmxServer, JmxServer]
) -> None:
    """Values keep their types; beans and attributes that are absent or fail in the process are absent."""
    attributes = ("Number", "Half", "Nothing", "Yes", "Text", "Broken", "Absent")
    absent = BeanQuery("test:type=Absent", ("Number",))
    session = make_session(
        Question((absent, BeanQuery(NUMBERS, attributes)), (BeanQuery("test:type=Client,*", ("Tokens",)),))
    )
    before = time.monotonic()

    answer = ask(session, servers[0].target())["one"]

    assert isinstance(answer, RawBeans)
    assert before < answer.at < time.monotonic()
    nothing = answer.values.pop((NUMBERS, "Nothing"))  # type: ignore[attr-defined]  # a dict in truth
    assert nothing != nothing  # noqa: PLR0124  NaN travels
    assert answer.values == {
        (NUMBERS, "Number"): 1,
        (NUMBERS, "Half"): 0.5,
        (NUMBERS, "Yes"): True,
        (NUMBERS, "Text"): "text",
    }
    names = [row.name for row in answer.rows["test:type=Client,*"]]
    assert names == sorted(names)
    assert 'test:type=Client,client-id="a\\=b,\\"c\\""'.replace("\\=", "=") in names
    assert all(row.values == {"Tokens": 1.0} for row in answer.rows["test:type=Client,*"])


def test_a_stopped_target_holds_up_nobody(session: JmxSession, servers: tuple[JmxServer, JmxServer]) -> None:
    """With one target under SIGSTOP the other answers in milliseconds; after SIGCONT the next ask answers for both."""
    one, two = servers[0].target("one"), servers[1].target("two")
    ask(session, one, two)
    servers[1].pause()
    try:
        started = time.monotonic()
        answers = ask(session, one, two, within=3.0)
        assert isinstance(answers["two"], AnswerTimeoutError)
        assert number(answers["one"]) == 1
        assert isinstance(answers["one"], RawBeans)
        assert answers["one"].at - started < 0.5
        assert isinstance(ask(session, two, within=0.2)["two"], AnswerTimeoutError)
        assert number(ask(session, one)["one"]) == 1
    finally:
        servers[1].resume()

    answers = ask(session, one, two)
    assert (number(answers["one"]), number(answers["two"])) == (1, 2)


def test_many_asks_never_mix_up_answers(session: JmxSession, servers: tuple[JmxServer, JmxServer]) -> None:
    """Late answers, deadlines too short to keep and several threads: each key gets its own process' number."""
    one, two = servers[0].target("one"), servers[1].target("two")
    ask(session, one, two)
    wrong: list[object] = []

    def hammer() -> None:
        for round_ in range(60):
            for key, answer in session.ask((one, two), time.monotonic() + 0.001 * (round_ % 5)).items():
                if isinstance(answer, RawBeans) and number(answer) != {"one": 1, "two": 2}[key]:
                    wrong.append((key, answer))

    threads = [threading.Thread(target=hammer) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert number(ask(session, two)["two"]) == 2


def test_a_hanging_call_is_left_alone(
    make_session: Callable[..., JmxSession], servers: tuple[JmxServer, JmxServer]
) -> None:
    """Past the limit the target is not waited for at all, and the child stays, for others use it; until it answers."""
    session = make_session(timeout=PATIENCE, overdue=1.0)
    one, two = servers[0].target("one"), servers[1].target("two")
    ask(session, one, two)
    child = session.pid
    servers[1].pause()
    try:
        ask(session, one, two, within=1.2)
        started = time.monotonic()
        answers = ask(session, one, two)
        assert time.monotonic() - started < 0.5
        assert number(answers["one"]) == 1
        assert isinstance(answers["two"], AnswerTimeoutError)
        assert "left alone" in str(answers["two"])
    finally:
        servers[1].resume()

    wait_for(lambda: isinstance(ask(session, one, two)["two"], RawBeans), what="the resumed target answers")
    assert session.pid == child


def test_the_child_is_replaced_when_everything_hangs(
    make_session: Callable[..., JmxSession], servers: tuple[JmxServer, JmxServer]
) -> None:
    """All calls overdue: the next ask has a new child."""
    session = make_session(timeout=PATIENCE, overdue=1.0)
    one = servers[0].target()
    ask(session, one)
    child = session.pid
    servers[0].pause()
    try:
        ask(session, one, within=1.2)
        ask(session, one, within=0.1)
    finally:
        servers[0].resume()
    assert session.pid != child
    assert number(ask(session, one)["one"]) == 1
    assert not _alive(child)


def test_a_killed_child_costs_one_poll(session: JmxSession, servers: tuple[JmxServer, JmxServer]) -> None:
    """After kill -9 of the child the next ask answers, from a new one."""
    ask(session, servers[0].target())
    child = session.pid
    assert child is not None
    os.kill(child, signal.SIGKILL)

    wait_for(lambda: not _alive(child), what="the child is gone")
    wait_for(lambda: session.pid is None, what="its end was noticed")
    assert number(ask(session, servers[0].target())["one"]) == 1
    assert session.pid not in {None, child}


def test_a_child_that_dies_while_asked_says_so(
    make_session: Callable[..., JmxSession], servers: tuple[JmxServer, JmxServer]
) -> None:
    """Nobody waits until the deadline for a child that is gone."""
    session = make_session(timeout=PATIENCE)
    ask(session, servers[0].target())
    child = session.pid
    assert child is not None
    servers[0].pause()
    try:
        timer = threading.Timer(0.3, os.kill, (child, signal.SIGKILL))
        timer.start()
        started = time.monotonic()
        answer = ask(session, servers[0].target())["one"]
        timer.join()
    finally:
        servers[0].resume()
    assert time.monotonic() - started < 5.0
    assert isinstance(answer, ProtocolError)
    assert "the next poll starts another" in str(answer)


def test_a_restarted_target_answers_at_once(make_session: Callable[..., JmxSession], classes: Path) -> None:
    """A connection that broke is replaced within the same ask; while the process is down it is refused."""
    session = make_session()
    with JmxServer(classes, number=7) as server:
        assert number(ask(session, server.target())["one"]) == 7
        server.kill()
        assert isinstance(ask(session, server.target())["one"], RefusedError)
        server.start()
        assert number(ask(session, server.target())["one"]) == 7
        server.kill()
        server.start()
        assert number(ask(session, server.target())["one"]) == 7


def test_a_target_may_move(session: JmxSession, servers: tuple[JmxServer, JmxServer]) -> None:
    """The same key at another address is asked there, though its old address hangs."""
    assert number(ask(session, servers[0].target("moving"))["moving"]) == 1
    servers[0].pause()
    try:
        ask(session, servers[0].target("moving"), within=0.1)
        assert number(ask(session, servers[1].target("moving"))["moving"]) == 2
    finally:
        servers[0].resume()


def test_addresses_that_lead_nowhere(session: JmxSession) -> None:
    """A closed port and a name that does not resolve are refused, at once; what drops a SYN is a connect time-out."""
    with socket.socket() as full:
        full.bind((LOOPBACK, 0))
        full.listen(0)
        port = full.getsockname()[1]
        with ExitStack() as stack:
            for _ in range(3):
                filler = stack.enter_context(socket.socket())
                filler.settimeout(0)
                filler.connect_ex((LOOPBACK, port))
            closed = Ports()
            answers = ask(
                session,
                JmxTarget("closed", LOOPBACK, closed.reserve()),
                JmxTarget("nameless", "no-such-host.invalid", 9999),
                JmxTarget("dropping", LOOPBACK, port),
                within=8.0,
            )
            closed.close()
    assert isinstance(answers["closed"], RefusedError)
    assert isinstance(answers["nameless"], RefusedError)
    assert isinstance(answers["dropping"], ConnectTimeoutError)


def test_a_port_that_does_not_speak_rmi(session: JmxSession) -> None:
    """Silence is an answer time-out and gibberish a protocol error; neither is taken for a process without beans."""
    with socket.create_server((LOOPBACK, 0)) as silent, socket.create_server((LOOPBACK, 0)) as noisy:

        def babble() -> None:
            with noisy.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        answers = ask(
            session,
            JmxTarget("silent", LOOPBACK, silent.getsockname()[1]),
            JmxTarget("noisy", LOOPBACK, noisy.getsockname()[1]),
            within=8.0,
        )
        thread.join()
    assert isinstance(answers["silent"], AnswerTimeoutError)
    assert isinstance(answers["noisy"], ProtocolError)


def test_a_slow_target_is_given_up(make_session: Callable[..., JmxSession], classes: Path) -> None:
    """Calls that each keep the time-out may still not take for ever together."""
    slow = Question(tuple(BeanQuery(f"test:type=Slow,number={k}", ("Number",)) for k in range(20)))
    session = make_session(slow, timeout=0.5)
    with JmxServer(classes, pause=0.3) as server:
        started = time.monotonic()
        answer = ask(session, server.target(), within=10.0)["one"]
    assert isinstance(answer, AnswerTimeoutError)
    assert time.monotonic() - started < 5.0


def test_close_is_quick_and_final(
    make_session: Callable[..., JmxSession], servers: tuple[JmxServer, JmxServer]
) -> None:
    """With a call that hangs, the child is gone within a second, who waits is told, and later asks are refused."""
    session = make_session(timeout=PATIENCE)
    ask(session, servers[0].target())
    child = session.pid
    servers[0].pause()
    answers: dict[str, Answer] = {}
    waiting = threading.Thread(
        target=lambda: answers.update(session.ask((servers[0].target(),), time.monotonic() + 20))
    )
    try:
        waiting.start()
        wait_for(lambda: any(slot.outstanding is not None for slot in session._slots.values()), what="it is asked")
        started = time.monotonic()
        session.close()
        assert time.monotonic() - started < 1.0
        waiting.join(1.0)
    finally:
        servers[0].resume()
    assert not _alive(child)
    assert isinstance(answers["one"], SourceError)
    assert isinstance(ask(session, servers[0].target())["one"], ProtocolError)


def test_the_child_obeys_sigterm(make_session: Callable[..., JmxSession], servers: tuple[JmxServer, JmxServer]) -> None:
    """SIGTERM ends the child in under a second while a call hangs in its JVM."""
    session = make_session(timeout=PATIENCE)
    ask(session, servers[0].target())
    child = session.pid
    assert child is not None
    servers[0].pause()
    try:
        ask(session, servers[0].target(), within=0.3)
        started = time.monotonic()
        os.kill(child, signal.SIGTERM)
        wait_for(lambda: not _alive(child), timeout=5.0, interval=0.01)
    finally:
        servers[0].resume()
    assert time.monotonic() - started < 1.0


def test_the_child_dies_with_its_parent(servers: tuple[JmxServer, JmxServer]) -> None:
    """Kill -9 of the parent leaves no child, even one with a hung call."""
    program = (
        "import sys, time\n"
        "from tests.clients.test_jmx_session import ASK_NUMBER, JmxSession, JmxTarget\n"
        "session = JmxSession({'broker': ASK_NUMBER}, timeout=60)\n"
        f"target = JmxTarget('one', '{LOOPBACK}', {servers[0].port})\n"
        "session.ask((target,), time.monotonic() + 60)\n"
        "print(session.pid, flush=True)\n"
        "sys.stdin.readline()\n"
        "session.ask((target,), time.monotonic() + 60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdin
    assert parent.stdout
    child = int(parent.stdout.readline())
    servers[0].pause()
    try:
        parent.stdin.write("\n")
        parent.stdin.flush()
        assert _alive(child)
        parent.kill()
        parent.wait()
        wait_for(lambda: not _alive(child), timeout=5.0, interval=0.01)
    finally:
        servers[0].resume()
        for pipe in (parent.stdin, parent.stdout):
            pipe.close()


def test_a_jvm_that_does_not_start_is_said_once(make_session: Callable[..., JmxSession]) -> None:
    """The error says what to look at, arrives at once the second time, and no child is started again for a while."""
    session = make_session(java_options=("-Xmx1k",))
    target = JmxTarget("one", LOOPBACK, 1)
    first = ask(session, target)["one"]
    started = time.monotonic()
    second = ask(session, target)["one"]

    assert time.monotonic() - started < 0.1
    assert first is second
    assert isinstance(first, UnsupportedError)
    assert session.pid is None


@pytest.mark.parametrize(
    ("broken", "advice"),
    [
        ("sys.modules['jpype'] = None", "pip install 'kafka-warden[jmx]'"),
        ("import jpype._core\njpype._core.getDefaultJVMPath = nothing", "install one"),
    ],
)
def test_what_is_missing_is_named(broken: str, advice: str) -> None:
    """Without the extra, or without a JVM, the message says what to install."""
    program = (
        "import sys\n"
        "def nothing(): raise __import__('jpype').JVMNotFoundException\n"
        f"{broken}\n"
        "from exporter.clients.jmx import jvm\n"
        "from exporter.clients.jmx.protocol import Hello\n"
        "try: jvm.start(Hello({}))\n"
        "except jvm.JvmError as error: print(error)\n"
    )
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert advice in printed
    assert len(printed.splitlines()) == 1


def test_the_parent_imports_no_jpype() -> None:
    """Neither the session nor the parser loads JPype, which would start no JVM but cost memory."""
    program = "import sys, exporter.clients.jmx.session, exporter.sources.jmx; print('jpype' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout == b"False\n"


def _alive(pid: int | None) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
