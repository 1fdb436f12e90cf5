"""Work that goes on beside a test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(work: Callable[[], object], every: float) -> Iterator[None]:
    """Do some work on a thread until the block ends, the first time after `every` seconds, with such pauses.

    Raises:
        Exception: what the work raised first, which ended it.
    """
    end, failures = threading.Event(), list[Exception]()

    def repeat() -> None:
        try:
            while not end.wait(every):
                work()
        except Exception as failure:  # noqa: BLE001  # raised below
            failures.append(failure)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
    for failure in failures:
        raise failure
