"""The clock of the machine: it counts the time of a suspension, and so do event loops and rates."""

import time
from collections.abc import Iterator

import pytest

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clock import Clock
from kafka_warden.derive import Memory, derive
from kafka_warden.model import Parameters
from kafka_warden.poller import Poller, PollerSettings
from tests.building import expect_snapshot
from tests.support.scripted import ScriptedCluster

SUSPENDED = 8 * 3600.0
RATE, MESSAGE = 10.0, 100
"""Messages per second, and bytes of one."""


class Suspension:
    """Time that CLOCK_BOOTTIME has and CLOCK_MONOTONIC has not."""

    seconds = 0.0


@pytest.fixture
def suspension(monkeypatch: pytest.MonkeyPatch) -> Suspension:
    made = Suspension()
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", 7, raising=False)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: time.monotonic() + made.seconds * (clock == 7))
    return made


@pytest.fixture
def poller(brokers: ScriptedCluster) -> Iterator[Poller]:
    made = Poller(PollerSettings(), translate({"bootstrap.servers": brokers.bootstrap}), None, Clock())
    yield made
    made.close()


def test_a_suspension_counts(suspension: Suspension) -> None:
    clock = Clock()
    loop = clock.new_event_loop()
    suspension.seconds = SUSPENDED
    try:
        assert time.monotonic() + SUSPENDED <= clock.monotonic() <= loop.time() <= time.monotonic() + SUSPENDED
    finally:
        loop.close()


def test_elsewhere_the_clock_is_the_monotonic_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    assert time.monotonic() <= Clock().monotonic() <= time.monotonic()


def test_a_rate_over_a_suspension_is_right(brokers: ScriptedCluster, poller: Poller, suspension: Suspension) -> None:
    """The brokers went on while this machine stood still. By CLOCK_MONOTONIC the rate is a hundred times too high."""
    brokers.topic("a", [[1, 2]], end=100, rate=RATE)
    memory: Memory | None = None
    rates = []
    for seconds in (0.0, 0.0, SUSPENDED):
        suspension.seconds += seconds
        brokers.do("time", now=1000.0 + suspension.seconds)
        snapshot = expect_snapshot(poller.poll())
        memory, derived = derive(snapshot, memory, Parameters())
        rates.append(derived.bytes_in.item())
    assert rates[-1] == pytest.approx(RATE * MESSAGE, rel=0.05)
