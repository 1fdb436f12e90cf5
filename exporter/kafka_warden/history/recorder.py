"""From the poll to the sinks: each has a thread and a queue of its own: no poll ever waits for a disk or a broker.

What does not fit into a queue is left out and counted, and so is what a sink loses.
"""

import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import structlog

from kafka_warden.derive import Derived
from kafka_warden.history.ledger import Ledger
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.schema import count
from kafka_warden.model import Parameters, SinkStatus, Snapshot

log = structlog.get_logger(__name__)

MOST_ROWS: Final = 1 << 18
"""Partitions and replicas of the polls that wait for one sink; a single poll may have more. At some 250 bytes each this
bounds a queue to 64 MB."""

EARLY: Final = 0.9
"""Part of `history.interval` after which a poll is kept: polls do not begin on the dot."""

IDLE: Final = 1.0
"""Seconds after which a sink that has nothing to write may look after what it has written."""


class Sink(Protocol):
    """Where history goes. All calls come from one thread."""

    @property
    def ledger(self) -> Ledger:
        """Its books."""

    def write(self, poll: Poll) -> None:
        """Take the rows of a poll. What cannot be written is in the books, not raised."""

    def idle(self) -> None:
        """Use a moment in which nothing waits."""

    def close(self, until: float) -> None:
        """Write what was taken, and end; no later than a monotonic time."""


class Recorder:
    """Keeps the polls of one process."""

    def __init__(
        self, sinks: Sequence[Sink], parameters: Parameters, interval: float | None = None, most_rows: int = MOST_ROWS
    ) -> None:
        """Make a recorder.

        Args:
            sinks: where polls go.
            parameters: what the polls are judged with.
            interval: seconds between two polls that are kept; `None` for all.
            most_rows: partitions and replicas that may wait for one sink.
        """
        self._parameters = parameters
        self._interval = interval or 0.0
        self._run = uuid.uuid4().hex
        self._sequence = 0
        self._kept_at = float("-inf")
        self._workers = tuple(_Worker(sink, most_rows) for sink in sinks)

    def start(self) -> None:
        """Begin to write."""
        for worker in self._workers:
            worker.thread.start()

    def record(
        self,
        snapshot: Snapshot,
        derived: Derived,
        remembered: Remembered,
        restored: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a judged poll. Never waits, and never raises: the page does not depend on it.

        Args:
            snapshot: what was seen.
            derived: what was made of it.
            remembered: what it was judged with.
            restored: the document of the state file, where that is `RESTORED`.
        """
        poll = Poll(snapshot, derived, self._parameters, self._run, self._sequence, remembered, restored)
        self._sequence += 1
        soon = snapshot.clock - self._kept_at < EARLY * self._interval
        # Without the first poll of a memory nothing after it can be judged again.
        if soon and remembered is Remembered.KEPT:
            return
        self._kept_at = snapshot.clock
        for worker in self._workers:
            try:
                worker.offer(poll)
            except Exception:
                log.exception("history took no poll; this is a bug, please report it", sink=worker.sink.ledger.sink)

    @property
    def status(self) -> Mapping[str, SinkStatus]:
        """How each sink fares."""
        return {worker.sink.ledger.sink: worker.sink.ledger.publish() for worker in self._workers}

    def stop(self, within: float) -> None:
        """Write what waits, and end, all sinks side by side; give up after so many seconds."""
        until = time.monotonic() + within
        for worker in self._workers:
            worker.finish(until)
        for worker in self._workers:
            if worker.thread.is_alive():
                worker.thread.join(max(until - time.monotonic(), 0.0))
            if worker.thread.is_alive():
                log.warning("history was not written to its end", sink=worker.sink.ledger.sink, polls=worker.waiting)


class _Worker:
    """The queue and the thread of one sink."""

    def __init__(self, sink: Sink, most_rows: int) -> None:
        self.sink = sink
        self.thread = threading.Thread(target=self._work, name=f"history-{sink.ledger.sink}", daemon=True)
        self._most_rows = most_rows
        self._waiting: deque[Poll] = deque()
        self._rows = 0
        self._changed = threading.Condition()
        self._until: float | None = None

    @property
    def waiting(self) -> int:
        """Polls that wait."""
        return len(self._waiting)

    def offer(self, poll: Poll) -> None:
        """Put a poll into the queue, or count it as lost."""
        with self._changed:
            fits = not self._waiting or self._rows + _size(poll) <= self._most_rows
            if fits and self._until is None:
                self._waiting.append(poll)
                self._rows += _size(poll)
                self._changed.notify()
                return
        self.sink.ledger.lost("queue_full", count(poll))

    def finish(self, until: float) -> None:
        """Take no more, and end once the queue is empty."""
        with self._changed:
            self._until = until
            self._changed.notify()

    def _next(self) -> tuple[Poll | None, float | None]:
        """Wait for a poll; without one, tell until when to end if that is asked for."""
        with self._changed:
            if not self._waiting and self._until is None:
                self._changed.wait(IDLE)
            if not self._waiting:
                return None, self._until
            poll = self._waiting.popleft()
            self._rows -= _size(poll)
            return poll, None

    def _work(self) -> None:
        until = None
        while until is None:
            poll, until = self._next()
            try:
                if poll is not None:
                    self.sink.write(poll)
                elif until is None:
                    self.sink.idle()
                else:
                    self.sink.close(until)
            except Exception:
                log.exception("history failed; this is a bug, please report it", sink=self.sink.ledger.sink)
                if poll is not None:
                    self.sink.ledger.lost("error", _count(poll))


def _count(poll: Poll) -> int:
    """Count the rows of a poll that could not be written, also where that is why: partitions and replicas, then."""
    try:
        return count(poll)
    except Exception:
        log.exception("rows of history cannot be counted; this is a bug, please report it")
        return _size(poll)


def _size(poll: Poll) -> int:
    return len(poll.snapshot.partitions) + len(poll.snapshot.replicas)
