"""The memory of the JMX child: a Java exception that reaches Python leaks 20 kB of native memory (JPype 1.7.1)."""

from pathlib import Path

from bench.procfs import memory_bytes
from kafka_warden.clients.jmx.protocol import BeanQuery, Question, TlsFiles
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.errors import RefusedError, TlsError
from sandbox.ports import LOOPBACK
from tests.clients.jmx_server import NUMBERS, MakeSession, Servers, ask_one, number

WARM_UP, READINGS = 1000, 500
LIMIT = 4 << 10
"""Bytes a reading: a fifth of what one exception leaks."""
SMALL_HEAP = ("-Xmx10m",)
"""Full after the first readings, so that only a leak makes the process grow."""
ABSENT = tuple(BeanQuery(f"test:type=Absent,number={each}", ("Number",)) for each in range(10))


def test_absent_beans_leak_nothing(make_session: MakeSession, servers: Servers) -> None:
    """Ten beans that are absent in every reading, looked for in each: memory stays."""
    question = Question((BeanQuery(NUMBERS, ("Number",)), *ABSENT))
    session = make_session(question, absent_recheck=0.0, java_options=SMALL_HEAP)
    assert number(ask_one(session, servers[0].target())) == 1
    assert _growth(session, servers[0].target()) < LIMIT


def test_a_bean_that_fails_leaks_nothing(make_session: MakeSession, servers: Servers) -> None:
    """Attributes that fail or are absent in every reading: memory stays."""
    question = Question((), (BeanQuery("test:type=Numbers", ("Broken", "Absent")),))
    session = make_session(question, java_options=SMALL_HEAP)
    assert _growth(session, servers[0].target()) < LIMIT


def test_a_process_that_is_down_leaks_nothing(make_session: MakeSession) -> None:
    """A connection that is refused in every reading: memory stays."""
    session, nothing = make_session(java_options=SMALL_HEAP), JmxTarget("one", LOOPBACK, 1)
    assert isinstance(ask_one(session, nothing), RefusedError)
    assert _growth(session, nothing) < LIMIT


def test_a_missing_certificate_leaks_nothing(make_session: MakeSession, servers: Servers, tmp_path: Path) -> None:
    """A file of TLS that cannot be read in every reading: memory stays."""
    session = make_session(tls=TlsFiles(str(tmp_path / "missing.pem")), java_options=SMALL_HEAP)
    assert isinstance(ask_one(session, servers[0].target()), TlsError)
    assert _growth(session, servers[0].target()) < LIMIT


def _growth(session: JmxSession, target: JmxTarget) -> float:
    """Bytes by which the child grows per reading, once its JVM is warm."""
    for _ in range(WARM_UP):
        ask_one(session, target)
    assert session.pid is not None
    before = memory_bytes(session.pid, "VmRSS")
    for _ in range(READINGS):
        ask_one(session, target)
    return (memory_bytes(session.pid, "VmRSS") - before) / READINGS
