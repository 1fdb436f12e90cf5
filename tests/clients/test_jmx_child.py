"""The JMX child as a process: it is replaced, ends at once and with its parent, and reports what is missing."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kafka_warden.clients.jmx import process
from kafka_warden.clients.jmx import session as sessions
from kafka_warden.clients.jmx.child import CLASSES
from kafka_warden.clients.jmx.protocol import BeanRequest, Hello, encode
from kafka_warden.clients.jmx.session import Answer, JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.errors import AnswerTimeoutError, ProtocolError, SourceError, UnsupportedError
from sandbox import wait_for
from sandbox.ports import LOOPBACK
from tests.building import known
from tests.clients.jmx_server import ASK_NUMBER, TIME_LIMIT, MakeSession, Servers, ask, ask_one, number


@pytest.fixture
def one(servers: Servers) -> JmxTarget:
    return servers[0].target()


@pytest.fixture
def patient(make_session: MakeSession, one: JmxTarget) -> JmxSession:
    """One whose child runs, and waits long for an answer."""
    session = make_session(timeout=TIME_LIMIT)
    ask(session, one)
    return session


@pytest.fixture
def child(patient: JmxSession) -> int:
    return known(patient.pid)


def test_the_child_is_replaced_when_everything_hangs(
    patient: JmxSession, child: int, one: JmxTarget, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "OVERDUE", 1.0)
    with servers[0].paused():
        ask(patient, one, within=1.2)
        ask(patient, one, within=0.1)
    assert patient.pid != child
    assert number(ask_one(patient, one)) == 1
    assert not _alive(child)


def test_a_killed_child_costs_one_poll(patient: JmxSession, child: int, one: JmxTarget) -> None:
    os.kill(child, signal.SIGKILL)

    wait_for(lambda: not _alive(child), what="the child is gone")
    wait_for(lambda: patient.pid is None, what="its end was noticed")
    assert number(ask_one(patient, one)) == 1
    assert patient.pid not in {None, child}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", ["jmx child", "jmx child stderr"])
def test_a_child_whose_thread_has_ended_is_replaced(patient: JmxSession, child: int, one: JmxTarget, name: str) -> None:
    """The one that reads its answers, and the one that reads its stderr: a child blocks when that is full."""
    (thread,) = (thread for thread in threading.enumerate() if thread.name == name)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(known(thread.ident)), ctypes.py_object(SystemExit))
    # The exception reaches a thread when it has something to read.
    Path(f"/proc/{child}/fd/2").write_text("a warning\n", encoding="ascii")
    ask(patient, one)

    wait_for(lambda: patient.pid is None, what="its end was noticed")
    assert number(ask_one(patient, one)) == 1
    assert not _alive(child)


def test_a_child_that_dies_while_asked_says_so(
    patient: JmxSession, child: int, one: JmxTarget, servers: Servers
) -> None:
    with servers[0].paused():
        timer = threading.Timer(1.0, os.kill, (child, signal.SIGKILL))
        timer.start()
        started = monotonic()
        answer = ask_one(patient, one)
        timer.join()
    assert monotonic() - started < 5.0
    assert isinstance(answer, ProtocolError)
    assert "the next poll starts another" in str(answer)


def test_close_is_quick_and_final(patient: JmxSession, child: int, one: JmxTarget, servers: Servers) -> None:
    answers: dict[str, Answer] = {}
    waiting = threading.Thread(target=lambda: answers.update(patient.ask((one,), monotonic() + 20)))
    with servers[0].paused():
        waiting.start()
        wait_for(lambda: any(slot.outstanding is not None for slot in patient._slots.values()), what="it is asked")
        started = monotonic()
        patient.close()
        assert monotonic() - started < 1.0
        waiting.join(1.0)
    assert not _alive(child)
    assert isinstance(answers["one"], SourceError)
    assert isinstance(ask_one(patient, one), ProtocolError)


def test_the_child_obeys_sigterm(patient: JmxSession, child: int, one: JmxTarget, servers: Servers) -> None:
    with servers[0].paused():
        ask(patient, one, within=0.3)
        started = monotonic()
        os.kill(child, signal.SIGTERM)
        wait_for(lambda: not _alive(child), timeout=5.0, interval=0.01)
    assert monotonic() - started < 1.0


def test_the_child_dies_with_its_parent(servers: Servers) -> None:
    program = (
        "import sys\n"
        "from kafka_warden.clock import monotonic\n"
        "from tests.clients.jmx_server import ASK_NUMBER, JmxSession, JmxTarget\n"
        "session = JmxSession({'broker': ASK_NUMBER}, timeout=60)\n"
        f"target = JmxTarget('one', '{LOOPBACK}', {servers[0].port})\n"
        "session.ask((target,), monotonic() + 60)\n"
        "print(session.pid, flush=True)\n"
        "sys.stdin.readline()\n"
        "session.ask((target,), monotonic() + 60)\n"
    )
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdin
        assert parent.stdout
        child = int(parent.stdout.readline())
        with servers[0].paused():
            parent.stdin.write("\n")
            parent.stdin.flush()
            assert _alive(child)
            parent.kill()
            parent.wait()
            wait_for(lambda: not _alive(child), timeout=5.0, interval=0.01)


def test_the_child_ends_with_its_input(servers: Servers) -> None:
    """Where the kernel does not end the child with its parent, the end of stdin does: at once, with a hung call."""
    command = [sys.executable, "-m", "kafka_warden.clients.jmx.child", str(os.getpid())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(encode(Hello({"broker": ASK_NUMBER}, timeout=TIME_LIMIT)))
        child.stdin.flush()
        assert b"ready" in child.stdout.readline()
        with servers[0].paused():
            child.stdin.write(encode(BeanRequest(1, "one", "broker", LOOPBACK, servers[0].port)))
            child.stdin.close()
            assert child.wait(5.0) == 0


def test_a_jvm_that_starts_is_not_waited_for(
    session: JmxSession, one: JmxTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_PROGRAM", ("-c", "import sys; sys.stdin.read()"))
    answer = ask(session, one, within=0.2)["one"]
    assert (type(answer), str(answer)) == (AnswerTimeoutError, "the JVM for JMX is still starting")


def test_a_jvm_that_does_not_start_is_said_once(make_session: MakeSession) -> None:
    session = make_session(java_options=("-Xmx1k",))
    target = JmxTarget("one", LOOPBACK, 1)
    first = ask_one(session, target)
    started = monotonic()
    second = ask_one(session, target)

    assert monotonic() - started < 0.1
    assert first is second
    assert isinstance(first, UnsupportedError)
    assert str(first).startswith("the JMX child does not start: it ended with code 1: ")
    assert session.pid is None


def test_java_classes_are_what_their_sources_say(tmp_path: Path) -> None:
    sources = sorted((CLASSES / "warden").glob("*.java"))
    options: list[str | Path] = ["--release", "11", "-g:none", "-d", tmp_path]
    subprocess.run(["javac", *options, *sources], check=True, capture_output=True)
    built = {path.name: path.read_bytes() for path in (tmp_path / "warden").iterdir()}
    assert built == {path.name: path.read_bytes() for path in (CLASSES / "warden").glob("*.class")}


def _alive(pid: int | None) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
