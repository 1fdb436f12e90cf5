"""What a sink wrote and lost: what `sink_up` and its family on the page say, and one log line per change."""

import threading
from collections import Counter

import structlog

from kafka_warden.errors import SinkError
from kafka_warden.model import SinkStatus

log = structlog.get_logger(__name__)


class Ledger:
    """The books of one sink. Any thread may write in them."""

    def __init__(self, sink: str) -> None:
        self.sink = sink
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._rows = 0
        self._dropped: Counter[str] = Counter()
        self._last_success: float | None = None

    def wrote(self, rows: int, now: float) -> None:
        """Note rows that are safe, at a Unix time."""
        with self._lock:
            self._rows += rows
            self._last_success = now

    def works(self) -> None:
        """Note that nothing stands in the way of writing."""
        with self._lock:
            before, self._reason = self._reason, None
        if before is not None:
            log.info("history is written again", sink=self.sink)

    def failed(self, problem: SinkError) -> None:
        """Note that nothing can be written now."""
        with self._lock:
            before, self._reason = self._reason, problem.reason
        if before != problem.reason:
            log.warning("history cannot be written", sink=self.sink, reason=problem.reason, error=str(problem))

    def lost(self, reason: str, rows: int) -> None:
        """Count rows that will never be written."""
        with self._lock:
            first = rows > 0 and not self._dropped[reason]
            self._dropped[reason] += rows
        if first:
            log.warning(
                "history loses rows; kafka_warden_sink_dropped_total counts them", sink=self.sink, reason=reason
            )

    def publish(self) -> SinkStatus:
        """Freeze the books."""
        with self._lock:
            dropped = {reason: rows for reason, rows in self._dropped.items() if rows}
            return SinkStatus(self._reason is None, self._rows, dropped, self._last_success)
