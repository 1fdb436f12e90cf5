"""What a job says on stderr: its steps, and Spark's failures without stack traces.

On a terminal, Spark's own bar shows the tasks of a step (`session`).
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from kafka_warden.log import send

SPARK_FAILURES: Final = (PySparkException, Py4JError)
"""PySpark has classes, and conditions, for some exceptions of the JVM only. The others are errors of Py4J."""


class Progress:
    """Reports a job's steps."""

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
        send(f"kafka-warden: {text}\n", sys.stderr)


def error_text(failure: Exception) -> str:
    """Return the first two lines of Spark's message, and the last cause that it names."""
    lines = [line.strip() for line in str(failure).splitlines()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return " ".join([*lines[:2], *causes[-1:]])
