"""When to poll: APScheduler's interval, less often while polls take longer, and a watchdog on the monotonic clock.

APScheduler uses the wall clock: set back by an hour, it sleeps for an hour. After a suspension it sleeps what was left.
The watchdog starts a poll when none has started for two intervals.
"""

import datetime as dt
import math
import threading
from collections.abc import Callable
from typing import Any, Final

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from kafka_warden.clock import Clock

SETTLED: Final = 10
"""Polls in a row that keep the configured interval, after which it counts as kept."""

STUCK: Final = 3
"""Intervals without a poll that ends, or that can be evaluated, and at least a minute, after which the process should
be restarted."""

LEAST_STUCK: Final = 60.0


def most_silent(interval: float) -> float:
    """Return after how many seconds polls that start so far apart are too late."""
    return max(STUCK * interval, LEAST_STUCK)


class Pace:
    """The interval between the starts of two polls. A poll that takes longer than the interval delays the next one.

    Attributes:
        configured: `poll.interval`, in seconds.
    """

    def __init__(self, configured: float) -> None:
        self.configured = configured
        self._took = 0.0
        self._kept = SETTLED
        """Polls since the last one that took longer, up to `SETTLED`."""

    @property
    def interval(self) -> float:
        """Seconds between the starts of two polls."""
        return self.configured * max(1, math.ceil(self._took / self.configured))

    def running(self, seconds: float) -> None:
        """Note that the poll under way has taken so long already."""
        self._took = max(self._took, seconds)

    def ended(self, seconds: float) -> None:
        """Note how long a poll took; log when the interval is no longer kept, and when it is again."""
        self._took, before = seconds, self._kept
        self._kept = min(before + 1, SETTLED) if seconds <= self.configured else 0
        if before == SETTLED and not self._kept:
            log.warning(
                "a poll takes longer than poll.interval, so polls start less often; increase poll.interval",
                seconds=round(seconds, 1),
                interval=self.configured,
            )
        elif before == SETTLED - 1 and self._kept == SETTLED:
            log.info("polls take less than poll.interval again", interval=self.configured)


LATE: Final = 2
"""Intervals after the end of a poll without the start of the next one after which the watchdog starts it."""

SOON: Final = 1.0
"""Seconds. A broker that shut down in order is fenced before it closes its connections; its peers know a bit later."""

LONGEST_WATCH: Final = 5.0
"""Seconds between two checks of the watchdog at most: after a suspension the page must not be old for long."""


class Timer:
    """Calls `poll` every interval, one call at a time, and `expire` twice per interval."""

    def __init__(
        self, poll: Callable[[], None], expire: Callable[[], None], interval: float, clock: Clock | None = None
    ) -> None:
        self._poll = poll
        self._expire = expire
        self.interval = interval
        self._clock = clock or Clock()
        self._note_end()
        self._hastened_at = -math.inf
        self._stopping = threading.Event()
        self._running = threading.Lock()
        self._change: Callable[[], None] | None = None
        self._scheduler: Any = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(1, {"thread_name_prefix": "polls"})},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=dt.UTC,
        )
        self._watchdog = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the first poll at once."""
        self._scheduler.add_job(
            self._once, "interval", seconds=self.interval, id="poll", next_run_time=self._wall_time()
        )
        self._scheduler.start()
        self._watchdog.start()

    def stop(self) -> None:
        """Start no further poll."""
        self._stopping.set()
        self._scheduler.shutdown(wait=False)

    def join(self, timeout: float) -> None:
        """Wait for the poll that is running, and leave it alone after these seconds."""
        if self._running.acquire(timeout=timeout):
            self._running.release()

    def before_next(self, change: Callable[[], None]) -> None:
        """Call this before the next poll, on its thread. A newer change replaces one that has not been called."""
        self._change = change

    def reschedule(self, interval: float) -> None:
        """Poll with another interval from now on."""
        if interval != self.interval:
            self.interval = interval
            self._scheduler.reschedule_job("poll", trigger="interval", seconds=interval)

    def hasten(self) -> None:
        """Start the next poll `SOON`, once in an interval and unless one is under way. Safe in every thread."""
        job, soon = self._scheduler.get_job("poll"), self._wall_time() + dt.timedelta(seconds=SOON)
        now = self._clock.monotonic()
        if (
            job is not None
            and job.next_run_time > soon
            and now >= self._hastened_at + self.interval
            and not self._running.locked()
        ):
            self._hastened_at = now
            job.modify(next_run_time=soon)

    def late(self, interval: float) -> str | None:
        """Return how long no poll has ended, if that is too long for polls that start so many seconds apart."""
        silent = self._clock.awake() - self._ended_awake
        too_long = silent > most_silent(interval)
        return f"no poll has ended for {silent:.0f} s" if too_long else None

    def _once(self) -> None:
        with self._running:
            if self._stopping.is_set():
                return
            change, self._change = self._change, None
            if change is not None:
                change()
            self._poll()
            self._note_end()

    def _note_end(self) -> None:
        self._ended, self._ended_awake = self._clock.monotonic(), self._clock.awake()

    def _watch(self) -> None:
        while not self._stopping.wait(min(self.interval / 2, LONGEST_WATCH)):
            for task in (self._expire, self._start_late_poll):
                try:
                    task()
                except Exception:
                    log.exception("old numbers were not removed, or no poll started; this is a bug, please report it")

    def _start_late_poll(self) -> None:
        if self._clock.monotonic() - self._ended > LATE * self.interval and not self._running.locked():
            log.warning("no poll has started for two intervals; was the clock set back? Starting one now")
            self._scheduler.modify_job("poll", next_run_time=self._wall_time())

    def _wall_time(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._clock.time(), dt.UTC)


log = structlog.get_logger(__name__)
