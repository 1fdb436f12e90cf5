"""CPU of the brokers over a stretch of time."""

import time
from collections.abc import Callable, Mapping

from bench.cluster import Target
from bench.procfs import cpu_seconds

REST = 60.0
"""Seconds: long enough for ticks of 10 ms, and for what brokers do every 30 s or so."""

Rates = Mapping[int, float]
"""Broker to seconds of CPU per second."""


def rest(target: Target) -> Rates:
    """What the brokers use when nobody asks them anything."""
    return rates(target, lambda: time.sleep(REST))


def rates(target: Target, wait: Callable[[], None]) -> Rates:
    """CPU per second of every broker while `wait` waits."""
    started, first = time.monotonic(), {broker: cpu_seconds(pid) for broker, pid in target.pids.items()}
    wait()
    seconds = time.monotonic() - started
    return {broker: (cpu_seconds(pid) - first[broker]) / seconds for broker, pid in target.pids.items()}
