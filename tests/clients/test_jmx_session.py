"""JmxSession against real JVMs: what it reads, and that a failing target affects no other."""

import socket
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.procfs import threads
from kafka_warden.clients.jmx import session as sessions
from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, RawBeans
from kafka_warden.clients.jmx.session import MOST_TARGETS, JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.errors import AnswerTimeoutError, ConnectTimeoutError, ProtocolError, RefusedError
from sandbox import wait_for
from sandbox.ports import LOOPBACK, Ports
from tests.building import known
from tests.clients.jmx_server import NUMBERS, TIME_LIMIT, JmxServer, MakeSession, Servers, ask, ask_one, number


def test_reads_exactly_what_is_asked(make_session: MakeSession, servers: Servers) -> None:
    attributes = ("Number", "Half", "Nothing", "Yes", "Text", "Broken", "Absent")
    absent = BeanQuery("test:type=Absent", ("Number",))
    session = make_session(
        BeanQueries((absent, BeanQuery(NUMBERS, attributes)), (BeanQuery("test:type=Client,*", ("Tokens",)),))
    )
    before = monotonic()

    answer = ask(session, servers[0].target())["one"]

    assert isinstance(answer, RawBeans)
    assert before < answer.at < monotonic()
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


def test_beans_past_the_limit_are_counted_and_logged_once(
    make_session: MakeSession, servers: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    pattern = "test:type=Many,*"
    session = make_session(BeanQueries((), (BeanQuery(pattern, ("Tokens",)),)))
    for _ in range(2):
        answer = ask(session, servers[0].target())["one"]
        assert isinstance(answer, RawBeans)
        assert (len(answer.rows[pattern]), answer.left_out) == (1000, 5)
    logged = (
        f"JMX of one at {LOOPBACK}:{servers[0].port} has too many beans of clients: 5 are not read, see dropped_series"
    )
    assert [record.getMessage() for record in caplog.records] == [logged]


def test_ten_thousand_brokers_cost_no_number_of_others(make_session: MakeSession, servers: Servers) -> None:
    """Metadata that names so many: the child has a thread for 500 of them, and none more when they move."""
    session, good = make_session(), servers[0].target("good")
    ask(session, good)
    with socket.create_server((LOOPBACK, 0), backlog=0) as silent:
        port = silent.getsockname()[1]
        for poll in range(2):
            many = (JmxTarget(str(each), LOOPBACK if poll else "127.0.0.2", port) for each in range(10_000))
            answers = ask(session, good, *many, within=3.0)
            assert number(answers["good"]) == 1
            refused = [
                answer for answer in answers.values() if f"{MOST_TARGETS} processes are asked at most" in str(answer)
            ]
            assert len(refused) == 10_001 - (1 if poll else MOST_TARGETS)
        assert session.starts == 1
        assert threads(known(session.pid)) < 2 * MOST_TARGETS


def test_a_thread_that_cannot_start_costs_one_poll(
    session: JmxSession, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        answer = session.ask([servers[0].target("a")], monotonic() + 30.0)["a"]
    assert isinstance(answer, AnswerTimeoutError)
    assert "no thread could start" in str(answer)
    assert session.starts == 0
    assert isinstance(session.ask([servers[0].target("a")], monotonic() + 30.0)["a"], RawBeans)


def test_a_stopped_target_delays_no_other(session: JmxSession, servers: Servers) -> None:
    one, two = servers[0].target("one"), servers[1].target("two")
    ask(session, one, two)
    with servers[1].paused():
        started = monotonic()
        answers = ask(session, one, two, within=3.0)
        assert isinstance(answers["two"], AnswerTimeoutError)
        assert number(answers["one"]) == 1
        assert isinstance(answers["one"], RawBeans)
        assert answers["one"].at - started < 1.0
        assert isinstance(ask(session, two, within=0.2)["two"], AnswerTimeoutError)
        assert number(ask(session, one)["one"]) == 1

    answers = ask(session, one, two)
    assert (number(answers["one"]), number(answers["two"])) == (1, 2)


def test_a_failure_of_an_earlier_poll_is_not_this_polls(make_session: MakeSession, servers: Servers) -> None:
    session = make_session(timeout=2.0)
    one = servers[0].target()
    ask(session, one)
    servers[0].pause()
    # The request fails after two time-outs, and the one that follows it would after another one at least.
    resume = threading.Timer(5.0, servers[0].resume)
    resume.start()
    assert isinstance(ask(session, one, within=0.2)["one"], AnswerTimeoutError)

    answer = ask(session, one)["one"]
    resume.join()
    assert number(answer) == 1


def test_many_asks_never_mix_up_answers(session: JmxSession, servers: Servers) -> None:
    one, two = servers[0].target("one"), servers[1].target("two")
    ask(session, one, two)
    wrong: list[object] = []

    def hammer() -> None:
        for round_ in range(60):
            for key, answer in session.ask((one, two), monotonic() + 0.001 * (round_ % 5)).items():
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
    make_session: MakeSession, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the limit the target is not waited for at all, and the child stays, for others use it; until it answers."""
    monkeypatch.setattr(sessions, "OVERDUE", 1.0)
    session = make_session(timeout=TIME_LIMIT)
    one, two = servers[0].target("one"), servers[1].target("two")
    ask(session, one, two)
    child = session.pid
    with servers[1].paused():
        ask(session, one, two, within=1.2)
        started = monotonic()
        answers = ask(session, one, two)
        assert monotonic() - started < 0.5
        assert number(answers["one"]) == 1
        assert isinstance(answers["two"], AnswerTimeoutError)
        assert "not asked again" in str(answers["two"])

    wait_for(lambda: isinstance(ask(session, one, two)["two"], RawBeans), what="the resumed target answers")
    assert session.pid == child


def test_a_restarted_target_answers_at_once(make_session: MakeSession, classes: Path) -> None:
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


def test_a_target_may_move(session: JmxSession, servers: Servers) -> None:
    assert number(ask(session, servers[0].target("moving"))["moving"]) == 1
    with servers[0].paused():
        ask(session, servers[0].target("moving"), within=0.1)
        assert number(ask(session, servers[1].target("moving"))["moving"]) == 2


def test_addresses_that_lead_nowhere(session: JmxSession) -> None:
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


def test_a_slow_target_is_given_up(make_session: MakeSession, classes: Path) -> None:
    queries = tuple(BeanQuery(f"test:type=Slow,number={k}", ("Number",)) for k in range(60))
    slow, some = BeanQueries(queries), BeanQueries(queries[:2])
    with JmxServer(classes, pause=0.3) as server:
        assert isinstance(ask(make_session(some, timeout=2.0), server.target())["one"], RawBeans)
        answer = ask(make_session(slow, timeout=0.5), server.target())["one"]
    assert isinstance(answer, AnswerTimeoutError)
    assert "did not answer in time" in str(answer)


def test_a_child_that_is_too_large_is_replaced(
    session: JmxSession, servers: Servers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    children = []
    for limit in (sessions.MEMORY_LIMIT, sessions.MEMORY_LIMIT, 1):
        monkeypatch.setattr(sessions, "MEMORY_LIMIT", limit)
        assert number(ask_one(session, servers[0].target())) == 1
        children.append(session.pid)
    assert children[0] == children[1] != children[2]
    assert [record.getMessage().startswith("the JMX child is replaced: it uses") for record in caplog.records] == [True]


def test_a_bean_that_appears_later(make_session: MakeSession, classes: Path) -> None:
    late = BeanQuery("test:type=Late", ("Number",))
    maker = BeanQuery("test:type=Maker", ("Tokens",))
    session = make_session(BeanQueries((late, maker)))
    with JmxServer(classes, number=5) as server:
        first, second = (ask_one(session, server.target()).values for _ in range(2))  # type: ignore[union-attr]  # else it fails
    assert first == {("test:type=Maker", "Tokens"): 5.0}
    assert second["test:type=Late", "Number"] == 5
