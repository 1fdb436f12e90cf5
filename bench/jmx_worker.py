"""A worker that asks the brokers over JMX, with the session and the beans of the sidecar."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.procfs import cpu_seconds
from kafka_warden.clients.jmx.protocol import RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.settings.strict import parse_address
from kafka_warden.sources.jmx import QUESTIONS, parse_beans
from sandbox import wait_for

TIME_LIMIT = 30.0


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[int, Callable[[str], Any]]]:
    """Start the child and return how many numbers it reads. `argument["jmx"]`: addresses by broker."""
    addresses = {broker: parse_address(address) for broker, address in argument["jmx"].items()}
    targets = [JmxTarget(broker, address.host, address.port) for broker, address in addresses.items()]
    session = JmxSession(QUESTIONS, timeout=TIME_LIMIT)
    try:
        wait_for(lambda: all(isinstance(answer, RawBeans) for answer in _ask(session, targets).values()))
        numbers = sum(len(parse_beans(answer).values) for answer in _ask(session, targets).values())
        yield numbers // len(targets), lambda _: _poll(session, targets)
    finally:
        session.close()


def _ask(session: JmxSession, targets: list[JmxTarget]) -> dict[str, Any]:
    return session.ask(targets, monotonic() + TIME_LIMIT)


def _poll(session: JmxSession, targets: list[JmxTarget]) -> dict[str, float]:
    """Ask once. The child's CPU is counted since it started, in ticks: take differences over many polls."""
    wall = time.perf_counter()
    answers = _ask(session, targets)
    failed = [answer for answer in answers.values() if not isinstance(answer, RawBeans)]
    if failed or session.pid is None:
        raise RuntimeError(f"JMX did not answer: {failed}")
    return {"wall": time.perf_counter() - wall, "child": cpu_seconds(session.pid), "own": time.process_time()}
