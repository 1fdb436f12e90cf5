"""The memory of the JMX child: a Java exception that reaches Python leaks 20 kB of native memory (JPype 1.7.1)."""

from dataclasses import replace
from itertools import pairwise

import pytest

from bench.procfs import memory_bytes
from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, JmxTls, RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.errors import RefusedError, SourceError, TlsError
from tests.clients.jmx_server import NUMBERS, MakeSession, Servers, ask_one

READINGS = 500
LIMIT = 4 << 10
"""Bytes a reading: a fifth of what one exception leaks."""
SMALL_HEAP = ("-Xmx10m",)
"""Full after the first readings, so that only a leak makes the process grow."""
ABSENT = tuple(BeanQuery(f"test:type=Absent,number={each}", ("Number",)) for each in range(10))


@pytest.mark.parametrize(
    "question",
    [
        BeanQueries((BeanQuery(NUMBERS, ("Number",)), *ABSENT)),
        BeanQueries((), (BeanQuery("test:type=Numbers", ("Broken", "Absent")),)),
    ],
    ids=["absent beans", "attributes that fail"],
)
def test_what_cannot_be_read_leaks_nothing(make_session: MakeSession, servers: Servers, question: BeanQueries) -> None:
    session = make_session(question, java_options=SMALL_HEAP)
    assert isinstance(ask_one(session, servers[0].target()), RawBeans)
    assert _growth(session, servers[0].target()) < LIMIT


@pytest.mark.parametrize(("port", "tls", "error"), [(1, None, RefusedError), (None, JmxTls("/missing.pem"), TlsError)])
def test_a_connection_that_fails_leaks_nothing(
    make_session: MakeSession, servers: Servers, port: int | None, tls: JmxTls | None, error: type[SourceError]
) -> None:
    session, target = make_session(tls=tls, java_options=SMALL_HEAP), servers[0].target()
    target = replace(target, port=port or target.port)
    assert isinstance(ask_one(session, target), error)
    assert _growth(session, target) < LIMIT


def _growth(session: JmxSession, target: JmxTarget) -> float:
    """Bytes a reading after the first ones. The JVM may grow by a step of its own once, but a leak grows each time."""
    sizes = list[int]()
    for _ in range(4):
        for _ in range(READINGS):
            ask_one(session, target)
        assert session.pid is not None
        sizes.append(memory_bytes(session.pid, "VmRSS"))
    return min(after - before for before, after in pairwise(sizes[1:])) / READINGS
