"""A job's progress on stderr: a bar on a terminal, lines in a log."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from py4j.protocol import Py4JError
from pyspark import SparkContext, StatusTracker

BAR_EVERY: Final = 0.5
LINE_EVERY: Final = 10.0
"""Seconds."""
WIDTH: Final = 30


class Progress:
    """Reports a job's steps, and how many of their tasks Spark has completed."""

    def __init__(self, context: SparkContext, stream: TextIO | None = None) -> None:
        self._context = context
        self._stream = stream if stream is not None else sys.stderr
        self._bar = self._stream.isatty()

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Report a step's progress, and how long it took."""
        began = time.monotonic()
        self._context.setJobDescription(text)
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(text, began, done), daemon=True)
        watcher.start()
        outcome = "failed after"
        try:
            yield
            outcome = "done in"
        finally:
            done.set()
            watcher.join()
            self.say(f"{text}: {outcome} {time.monotonic() - began:.1f} s")

    def say(self, text: str) -> None:
        """Write one line."""
        self._stream.write(f"{self._clear()}kafka-warden: {text}\n")
        self._stream.flush()

    def _watch(self, text: str, began: float, done: threading.Event) -> None:
        # If the JVM is gone, the step itself fails.
        with suppress(Py4JError):
            tracker = self._context.statusTracker()
            while not done.wait(BAR_EVERY if self._bar else LINE_EVERY):
                completed, wanted = tasks(tracker)
                if self._bar:
                    self._stream.write(f"{self._clear()}{_bar(completed, wanted)} {text}")
                    self._stream.flush()
                else:
                    self.say(f"{text}: {completed} of {wanted} tasks, {time.monotonic() - began:.0f} s")

    def _clear(self) -> str:
        return "\r\033[K" if self._bar else ""


def tasks(tracker: StatusTracker) -> tuple[int, int]:
    """Count the completed tasks, and all tasks, of the active stages."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return (
        sum(stage.numCompletedTasks for stage in stages if stage),
        sum(stage.numTasks for stage in stages if stage),
    )


def _bar(completed: int, wanted: int) -> str:
    filled = WIDTH * completed // wanted if wanted else 0
    return f"[{'=' * filled}{' ' * (WIDTH - filled)}] {completed}/{wanted}"
