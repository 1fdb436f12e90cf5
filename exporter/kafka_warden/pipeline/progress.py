"""A job's progress: lines on stderr. On a terminal, Spark's own bar shows the tasks of a step (`session`)."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from kafka_warden.log import send


class Progress:
    """Reports a job's steps."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Report that a step begins, and how long it took."""
        self.say(text)
        began = time.monotonic()
        outcome = "failed after"
        try:
            yield
            outcome = "done in"
        finally:
            self.say(f"{text}: {outcome} {time.monotonic() - began:.1f} s")

    def say(self, text: str) -> None:
        """Write one line."""
        send(f"kafka-warden: {text}\n", sys.stderr if self._stream is None else self._stream)
