"""`python -m bench.jmx_leaks`: memory of the JMX child after 10,000 readings with absent beans, and 10,000 attempts.

The child runs with the flags of the sidecar. A Java exception that reaches Python leaks 20 kB (JPype 1.7.1).
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.procfs import pss_bytes
from bench.report import Row, show
from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from sandbox.ports import LOOPBACK
from tests.clients.jmx_server import NUMBERS, JmxServer, compile_java

READINGS: Final = 10_000
WARM_UP: Final = 2_000
"""Readings after which Java has touched all of its heap that it uses."""
ABSENT: Final = tuple(BeanQuery(f"test:type=Absent,number={each}", ("Number",)) for each in range(5))
MOST_MEGABYTES: Final = 5.0
WITHIN: Final = 60.0


def main() -> int:
    """Measure both; the exit code shows whether both are as they must be."""
    parser = argparse.ArgumentParser(prog="python -m bench.jmx_leaks", description=__doc__)
    parser.add_argument("--readings", type=int, default=READINGS)
    readings = parser.parse_args().readings
    with tempfile.TemporaryDirectory() as folder, JmxServer(compile_java(Path(folder))) as server:
        targets = {"five absent beans": server.target(), "a broker that is down": JmxTarget("one", LOOPBACK, 1)}
        grown = {name: _growth(target, readings) for name, target in targets.items()}
    return show(
        Row(f"{name}: growth of Pss", grown[name], "MB", MOST_MEGABYTES, f"{readings} readings") for name in grown
    )


def _growth(target: JmxTarget, readings: int) -> float:
    """Megabytes by which the child grows. Every reading looks for the absent beans again."""
    question = BeanQueries((BeanQuery(NUMBERS, ("Number", "Half")), *ABSENT))
    with contextlib.closing(JmxSession({"broker": question})) as session:
        _read(session, target, WARM_UP)
        before = _megabytes(session)
        _read(session, target, readings)
        return _megabytes(session) - before


def _read(session: JmxSession, target: JmxTarget, times: int) -> None:
    for _ in range(times):
        session.ask([target], monotonic() + WITHIN)


def _megabytes(session: JmxSession) -> float:
    if session.pid is None:
        raise RuntimeError("the JMX child has ended")
    return pss_bytes([session.pid]) / 1e6


if __name__ == "__main__":
    sys.exit(main())
