"""CPU of a process during some work, minus its CPU while idle."""

import time
from collections.abc import Callable, Iterable

from bench.procfs import cpu_seconds
from bench.report import median

ROUNDS = 6
REST = 20.0
"""Seconds. Rest and work alternate, because the CPU of idle brokers drifts by more than a poll adds."""


def added(pids: Iterable[int], work: Callable[[], int], rest: Callable[[], None] = lambda: None) -> tuple[float, float]:
    """Let rest and work alternate.

    Args:
        pids: the processes that work is done to.
        work: does it, and returns how many times.
        rest: called before each rest, to bring it about.

    Returns:
        Seconds of CPU that one unit of work adds to one process, and CPU of a process per second of rest.
    """
    once, idle, watched = [], [], tuple(pids)
    for _ in range(ROUNDS):
        rest()
        used, seconds, _ = _spend(watched, _sleep)
        idle.append(used / seconds)
        used, seconds, times = _spend(watched, work)
        once.append((used - idle[-1] * seconds) / times)
    return median(once) / len(watched), median(idle) / len(watched)


def _spend(pids: tuple[int, ...], work: Callable[[], int]) -> tuple[float, float, int]:
    """CPU and real seconds of some work, and how many times it was done."""
    started, before = time.monotonic(), sum(map(cpu_seconds, pids))
    times = work()
    return sum(map(cpu_seconds, pids)) - before, time.monotonic() - started, times


def _sleep() -> int:
    time.sleep(REST)
    return 1
