"""Hands polls to the sinks. Each sink has its own thread and queue, so a poll never waits for a disk or a broker.

Rows that do not fit into a queue are dropped and counted, as are rows that a sink loses: for `sink_up` and the other
metrics of sinks.
"""

import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import structlog

from kafka_warden.derive import Derived
from kafka_warden.errors import SinkError
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.schema import count
from kafka_warden.model import Parameters, SinkStatus, Snapshot

log = structlog.get_logger(__name__)

MOST_ROWS: Final = 1 << 18
"""Partitions and replicas of the polls in one queue; a single poll may have more. With about 250 bytes each, a queue
takes at most 64 MB."""

EARLY: Final = 0.9
"""Part of `history.interval` after which a poll is kept: the start of polls varies a little."""

IDLE: Final = 1.0
"""Seconds without a poll after which `Sink.idle` is called."""


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


class Sink(Protocol):
    """A destination of history. All calls come from one thread."""

    @property
    def stats(self) -> SinkStats:
        """Its statistics."""

    def write(self, poll: Poll) -> None:
        """Write the rows of a poll. Rows that cannot be written are counted in `stats`; no error is raised."""

    def idle(self) -> None:
        """Do background work; called while the queue is empty."""

    def close(self, until: float) -> None:
        """Write all rows and close, no later than a monotonic time."""


class Recorder:
    """Hands the polls of one process to the sinks."""

    def __init__(self, sinks: Sequence[Sink], interval: float | None = None, most_rows: int = MOST_ROWS) -> None:
        """Make a recorder; `interval` is in seconds between two kept polls, `most_rows` limits each queue."""
        self.configure(interval)
        self._run = uuid.uuid4().hex
        self._sequence = 0
        self._kept_at = float("-inf")
        self._workers = tuple(_Worker(sink, most_rows) for sink in sinks)

    def start(self) -> list[str]:
        """Start the threads; return their names."""
        for worker in self._workers:
            worker.thread.start()
        return [worker.thread.name for worker in self._workers]

    def record(
        self,
        snapshot: Snapshot,
        derived: Derived,
        parameters: Parameters,
        remembered: Remembered,
        restored: Mapping[str, Any] | None = None,
    ) -> None:
        """Queue a poll that was evaluated with these parameters. Never waits and never raises.

        `restored` is the content of the state file.
        """
        poll = Poll(snapshot, derived, parameters, self._run, self._sequence, remembered, restored)
        self._sequence += 1
        soon = snapshot.clock - self._kept_at < EARLY * self._interval
        # A replay needs the first poll of a memory.
        if soon and remembered is Remembered.KEPT:
            return
        self._kept_at = snapshot.clock
        for worker in self._workers:
            try:
                worker.offer(poll)
            except Exception:
                log.exception(
                    "history cannot queue a poll; this is a bug, please report it", sink=worker.sink.stats.sink
                )

    def configure(self, interval: float | None) -> None:
        """Use this interval from the next poll on."""
        self._interval = interval or 0.0

    @property
    def status(self) -> Mapping[str, SinkStatus]:
        """Status by sink."""
        return {worker.sink.stats.sink: worker.sink.stats.status() for worker in self._workers}

    def stop(self, within: float) -> None:
        """Write all queued polls and stop, all sinks in parallel; give up after `within` seconds."""
        until = time.monotonic() + within
        for worker in self._workers:
            worker.finish(until)
        for worker in self._workers:
            if worker.thread.is_alive():
                worker.thread.join(max(until - time.monotonic(), 0.0))
            if worker.thread.is_alive():
                log.warning(
                    "history was not written completely before the stop",
                    sink=worker.sink.stats.sink,
                    polls=len(worker.waiting),
                )


class _Worker:
    """The queue and the thread of one sink."""

    def __init__(self, sink: Sink, most_rows: int) -> None:
        self.sink = sink
        self.thread = threading.Thread(target=self._work, name=f"history-{sink.stats.sink}", daemon=True)
        self._most_rows = most_rows
        self.waiting: deque[Poll] = deque()
        self._rows = 0
        self._changed = threading.Condition()
        self._until: float | None = None

    def offer(self, poll: Poll) -> None:
        """Queue a poll, or count its rows as lost."""
        with self._changed:
            fits = not self.waiting or self._rows + _size(poll) <= self._most_rows
            if fits and self._until is None:
                self.waiting.append(poll)
                self._rows += _size(poll)
                self._changed.notify()
                return
        self.sink.stats.mark_lost("queue_full", count(poll))

    def finish(self, until: float) -> None:
        """Accept no more polls, and stop when the queue is empty."""
        with self._changed:
            self._until = until
            self._changed.notify()

    def _next(self) -> tuple[Poll | None, float | None]:
        """Wait for a poll. Return it, or the time by which to stop if that was requested."""
        with self._changed:
            if not self.waiting and self._until is None:
                self._changed.wait(IDLE)
            if not self.waiting:
                return None, self._until
            poll = self.waiting.popleft()
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
                log.exception("history failed; this is a bug, please report it", sink=self.sink.stats.sink)
                if poll is not None:
                    self.sink.stats.mark_lost("error", _count(poll))


def _count(poll: Poll) -> int:
    """Count the rows of a poll that could not be written; if that fails, its partitions and replicas."""
    try:
        return count(poll)
    except Exception:
        log.exception("rows of history cannot be counted; this is a bug, please report it")
        return _size(poll)


def _size(poll: Poll) -> int:
    return len(poll.snapshot.partitions) + len(poll.snapshot.replicas)
