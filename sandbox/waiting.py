"""Waiting for a condition, never for a length of time."""

import time
from collections.abc import Callable
from typing import TypeVar

from sandbox.errors import WaitTimeoutError

T = TypeVar("T")


def wait_for(predicate: Callable[[], T], timeout: float = 60.0, what: str = "", interval: float = 0.1) -> T:
    """Poll `predicate` until it returns something true, and return that.

    Args:
        predicate: Called repeatedly; its exceptions are not caught.
        timeout: Seconds until :class:`WaitTimeoutError`.
        what: The condition in words, for the message.
        interval: Seconds between two calls.

    Raises:
        WaitTimeoutError: The last answer was still false at the deadline.
    """
    deadline = time.monotonic() + timeout
    while not (answer := predicate()):
        if time.monotonic() >= deadline:
            raise WaitTimeoutError(f"after {timeout:g} s still not: {what or predicate} (last answer: {answer!r})")
        time.sleep(interval)
    return answer
