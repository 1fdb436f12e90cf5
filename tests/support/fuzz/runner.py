"""Cases that are made from a seed, and what is wrong with them."""

import contextlib
import gc
import random
import signal
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

MOST_CPU: Final = 0.5
"""Seconds of the thread's CPU that a case may take."""
ABANDONED_AFTER: Final = 20.0
"""Seconds of the process's CPU after which a case is stopped."""


class Target(Protocol):
    """What is fuzzed."""

    def make(self, chance: random.Random) -> bytes:
        """Make a case; the same seed makes the same case."""

    def check(self, data: bytes) -> None:
        """Run a case. Any exception is a finding."""

    def close(self) -> None:
        """End what it has started."""


class AbandonedError(BaseException):
    """The case took too long; no handler of the program may catch it."""


def findings(target: Target, seeds: Iterable[int]) -> Iterator[str]:
    """Run the cases of these seeds in the main thread; yield seed, problem and bytes of those that fail."""
    for seed in seeds:
        data = target.make(random.Random(seed))
        problem = _problem(target, data)
        if problem is not None:
            yield f"seed {seed}: {problem}\n  bytes: {data.hex()}"


def _problem(target: Target, data: bytes) -> str | None:
    try:
        spent = _run(target, data)
        if spent > MOST_CPU:
            # The first cases of a process also load modules and make decoders.
            spent = _run(target, data)
    except (Exception, AbandonedError):  # noqa: BLE001  # any is a finding
        return traceback.format_exc()
    return f"it took {spent:.2f} s of CPU" if spent > MOST_CPU else None


def _run(target: Target, data: bytes) -> float:
    began = time.thread_time()
    with _alone(), _limited():
        target.check(data)
    return time.thread_time() - began


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    # A collection, which the program does itself once a minute, takes 0.2 s for the objects of all tests before.
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def abandon(*_: Any) -> None:
        raise AbandonedError(f"stopped after {ABANDONED_AFTER:.0f} s of CPU")

    before = signal.signal(signal.SIGVTALRM, abandon)
    signal.setitimer(signal.ITIMER_VIRTUAL, ABANDONED_AFTER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
