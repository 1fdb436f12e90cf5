"""Counts the rows that a sink wrote and lost, for `sink_up` and the other metrics of sinks; logs each change."""

import threading
from collections import Counter

import structlog

from kafka_warden.errors import SinkError
from kafka_warden.model import SinkStatus

log = structlog.get_logger(__name__)


class SinkStats:
    """Statistics of one sink. Thread-safe."""

    def __init__(self, sink: str) -> None:
        self.sink = sink
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._rows = 0
        self._dropped: Counter[str] = Counter()
        self._last_success: float | None = None

    def mark_written(self, rows: int, now: float) -> None:
        """Count rows that were written at a Unix time."""
        with self._lock:
            self._rows += rows
            self._last_success = now

    def mark_ok(self) -> None:
        """Note that the sink can write."""
        with self._lock:
            before, self._reason = self._reason, None
        if before is not None:
            log.info("history is being written again", sink=self.sink)

    def mark_failed(self, problem: SinkError) -> None:
        """Note that the sink cannot write now."""
        with self._lock:
            before, self._reason = self._reason, problem.reason
        if before != problem.reason:
            log.warning("history cannot be written", sink=self.sink, reason=problem.reason, error=str(problem))

    def mark_lost(self, reason: str, rows: int) -> None:
        """Count rows that are lost."""
        with self._lock:
            first = rows > 0 and not self._dropped[reason]
            self._dropped[reason] += rows
        if first:
            log.warning(
                "history loses rows; kafka_warden_sink_dropped_total counts them", sink=self.sink, reason=reason
            )

    def status(self) -> SinkStatus:
        """Return a snapshot."""
        with self._lock:
            dropped = {reason: rows for reason, rows in self._dropped.items() if rows}
            return SinkStatus(self._reason is None, self._rows, dropped, self._last_success)
