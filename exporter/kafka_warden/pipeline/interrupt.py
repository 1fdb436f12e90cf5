"""Ctrl-C ends a job at once, like SIGKILL: tables are complete at any moment."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

CODE: Final = 128 + signal.SIGINT
"""Exit code of a process that SIGINT ended, as in shells."""


def install() -> None:
    """End this process at Ctrl-C. Each new Spark session replaces the handler, so call this again after it."""
    signal.signal(signal.SIGINT, _end)


@contextmanager
def installed() -> Iterator[None]:
    """Install the handler, and restore the one before when the block ends."""
    before = signal.getsignal(signal.SIGINT)
    install()
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    # An exception would interrupt a call to the JVM; Py4J prints its stack and takes it for a failure.
    # The JVM ends with this process, which holds its standard input.
    line = "\n" if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{line}kafka-warden: interrupted\n".encode())
    os._exit(CODE)
