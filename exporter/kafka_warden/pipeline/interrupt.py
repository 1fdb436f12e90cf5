"""Ctrl-C ends a job at once, as a kill would: marts and checkpoints are whole whenever that happens."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

CODE: Final = 128 + signal.SIGINT
"""Exit code, as shells have it."""


def heed() -> None:
    """End this process when Ctrl-C comes. pyspark puts a handler of its own in the place of this with every session."""
    signal.signal(signal.SIGINT, _end)


@contextmanager
def heeded() -> Iterator[None]:
    """Heed Ctrl-C, and do as before when the block ends."""
    before = signal.getsignal(signal.SIGINT)
    heed()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    # An exception would come up in the middle of a call to the JVM, which Py4J tells with its stack and takes for a
    # failure. The JVM ends with this process: nobody holds its input any more.
    line = "\n" if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{line}kafka-warden: interrupted\n".encode())
    os._exit(CODE)
